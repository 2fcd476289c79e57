// Package turns reads turns out of the log of a space: who asked what, what
// the agents called for it and why, and what came of it. It does not matter
// who wrote the agents; nothing but the log is looked at.
//
// # Threads and turns
//
// A top-level chat that answers nothing begins a thread, and gives it its id.
// "Nothing" is no correlation, or one to what no thread holds. Whatever
// correlates to something in a thread belongs to it, and whatever stands in a
// context belongs where that context does. In an array of correlations the
// first one that is known counts, those in threads before others. What the
// gateway says itself belongs to no thread.
//
// The first chat of a thread begins turn 1, whoever says it. Every later
// top-level chat begins the next turn unless an agent says it. In a thread, an
// agent is who has opened a reasoning context for it, or called a tool for
// somebody else's chat of it. Who comes new to a thread
// is an agent too if it was seen opening contexts elsewhere in the space: its
// "I am busy" is no question. Who has begun a turn of a thread goes on asking
// in it until it opens a context there, so that an agent can ask another one.
// Anything else belongs to the turn of what it correlates to.
//
// Turns are numbered over all chats, seen or not, so that the key (session,
// thread, turn) is the same for everybody, on every gateway, and after a
// restart. Who may not see all of them sees gaps.
//
// # Reasoning
//
// What an agent reasoned in a turn is what it wrote into the contexts of the
// turn: those whose reasoning.start correlates to something in the turn, and
// those within them by path. A context into which somebody wrote before
// anybody opened it counts as opened by that first writer. What others write
// into an agent's context is not its reasoning, unless they have opened a
// context in the turn themselves.
//
// Every mcp.request for tools/call, and every mcp.proposal of one, is a
// decision, in a context or, without one, in answer to a chat of somebody
// else's; who decides so is an agent too. The request that fulfils a proposal is
// part of that proposal's decision. A proposal that nobody has decided about when
// its context is closed has expired, unless somebody fulfils it after all.
// Its rationale is the agent's own thought that it correlates to, else the
// last thought of the agent before it in the same context that names this tool
// or none, else [DefaultRationale]. The narrative is the text of the thoughts
// that are nobody's rationale, a line each, in order; observations, hypotheses
// and questions are part of it, and the rationale of a call that names them. A
// thought that names a tool is held back from it until its context is closed,
// since the call may still come. A model's raw thinking ("raw": true) is
// neither.
//
// Calls of one batch share a parallel_group: that of their thoughts if these
// give one, else one worked out from calls that overlap within a context. A
// number that another batch of the turn has already becomes the lowest free
// one (an agent that was started anew begins to count anew).
//
// A step is over when every call of an agent in a context has ended, and,
// where thoughts have announced a group, when no announced call is missing or
// the agent has gone on without it.
//
// # Who sees what
//
// A turn is read from what its viewer may see, and from nothing else. A
// request whose response went to others is pending for this viewer, and a
// turn whose chat was addressed to others is not there.
//
// # Memory
//
// The whole of the log is not held. Of every turn the index keeps the
// sequence numbers of what belongs to it, in a few bytes each; the contents of
// turns of late are held in a cache, and of all others read from the log when
// asked for. Index, cache and the table of ids are bounded ([Options]); what
// falls out of the index is the thread that was quiet for longest. The bounds
// work on the order of the log alone, so gateways that have read the same log
// with the same options remember the same.
package turns
