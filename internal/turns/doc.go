// Package turns derives turns from the log of a space: who asked, which tools
// the agents called and why, and how each call ended. Only the log is read, so
// turns do not depend on who wrote the agents.
//
// # Parts
//
//	builder   the reducer of one turn: contexts, thoughts, calls, proposals
//	index     the threads and turns of a space, and which entries they have
//	Tracker   both for one space, with a cache of contents. No goroutines
//	Events    the ends of steps, for event streams
//
// The gateway feeds a Tracker in package turnstore. The package depends on no part
// of the gateway, so clients can apply the envelopes that they receive:
// [Tracker.TurnOf] gives the turn that an envelope has changed, [Tracker.Turn] its
// content, in which turns, calls and contexts are identified by envelopes.
//
// # Threads and turns
//
// A top-level chat that answers nothing begins a thread and gives it its id.
// "Nothing" is no correlation, or a correlation to an envelope in no thread.
// An envelope that correlates to one in a thread belongs to that thread, and an
// envelope in a context belongs where its context does. In an array of
// correlations the first known one counts, those in threads before others. An id
// of no known envelope may be the name of a context. A chat or a new context
// without a correlation belongs to the question that package answers finds.
// Envelopes of the gateway itself belong to no thread.
//
// The first chat of a thread begins turn 1. Every later top-level chat begins
// the next turn unless an agent sent it. In a thread, an agent is a participant
// that opened a reasoning context for it, or called a tool for another
// participant's chat in it. A participant new to a thread is an agent too if it
// opened contexts elsewhere in the space: its "I am busy" is no question. A
// participant that began a turn keeps asking until it opens a context in that
// thread, so that an agent can ask another agent. Any other envelope belongs to
// the turn of the envelope that it correlates to.
//
// Turns are numbered over all chats, visible or not, so that the key (session,
// thread, turn) is the same for every viewer, on every gateway, and after a
// restart. A viewer that may not see all of them sees gaps.
//
// Reasoning that answers no chat is a job. Its id is the first segment of its
// contexts. It is indexed like a thread of one turn, and is not listed.
//
// # Reasoning
//
// The reasoning of an agent in a turn is the content that it wrote into the
// contexts of the turn: those whose reasoning.start correlates to an envelope of
// the turn, and those nested in them. The first writer into a context that was
// never opened counts as its opener. Others' writing in an agent's context is
// not its reasoning, unless they opened a context in the turn themselves.
//
// Every mcp.request for tools/call, and every mcp.proposal of one, is a
// decision, in a context or, without one, in answer to another participant's
// chat, which makes its sender an agent too. The request that fulfills a
// proposal is part of that proposal's decision. A proposal that is undecided
// when its context is closed, or at its expires_at by the clock of the reader, has
// expired, unless it is decided after all. The
// rationale of a decision is the agent's own thought that it correlates to, else
// the agent's last thought before it in the same context that names this tool or
// none, else [DefaultRationale]. The narrative is the text of the thoughts that
// are no rationale, a line each, in order; observations, hypotheses and
// questions are part of it, and the rationale of a call that names them. A
// thought that names a tool is held back from it until its context is closed,
// since the call may still follow. A model's raw thinking ("raw": true) is
// neither.
//
// Calls of one batch share a parallel_group: the one in their thoughts, or else
// one derived from calls that overlap within a context. A number that another
// batch of the turn has already becomes the lowest free one (a restarted agent
// counts from 0 again).
//
// A step is over when every call of an agent in a context has ended and, where
// thoughts announced a group, no announced call is missing or the agent has
// continued without it.
//
// # Visibility and masking
//
// A turn is computed from the envelopes that its viewer may see, and from no
// others. A request whose response went to others is pending for this viewer,
// and a turn whose chat was addressed to others is absent.
//
// Texts are masked when they are shown, never when the log is applied, so a
// request pays for the texts in its own answer only. Each text is masked once
// per set of rules: the masked form is kept beside the original until the
// contents leave the cache or [Tracker.Remask] is called.
//
// # Memory
//
// For every turn the index keeps the sequence numbers of its envelopes, a few
// bytes each. Contents of recently used turns are cached; others are read from
// the log on demand. Index, cache and the table of ids are bounded ([Options]);
// the index drops the thread that was quiet for longest. The bounds of the index
// depend on the order of the log alone, so gateways that applied the same log
// with the same options hold the same turns.
package turns
