// Package reduce computes one turn from its envelopes: the question, the
// reasoning of each agent with its decisions for tools, and the answers. Package
// turns decides which envelopes belong to a turn.
//
//	Item      the part of an envelope that a turn keeps
//	Builder   reduces items, in the order of the log
//	View      the turn as it is shown, its texts masked by a Display
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
// when its context is closed, or at its expires_at by the time of the Display, has
// expired, unless it is decided after all. The
// rationale of a decision is the agent's own thought that it correlates to, else
// the agent's last thought before it in the same context that names this tool or
// none, else [DefaultRationale]. The narrative is the text of the thoughts that
// are no rationale, a line each, in order; observations, hypotheses and
// questions are part of it, and the rationale of a call that names them. A
// thought that names a tool is held back from it until its context is closed,
// since the call may still follow; from the narrative of an event, so is the last
// thought of a context. A model's raw thinking ("raw": true) is
// neither.
//
// Details are what an agent gives in addition to its texts: references, the metadata of
// a start, the fields of notes and of a conclusion. Each viewer gets the details
// of the envelopes that it may see.
//
// Calls of one batch share a parallel_group: the one in their thoughts, or else
// one derived from calls that a participant made in a context before any of them
// was answered, without a step of its reasoning between them. A number that another
// batch of the turn has already becomes the lowest free one (a restarted agent
// counts from 0 again).
//
// A step is over when every call of an agent in a context has ended and, where
// thoughts announced a group, no announced call is missing or the agent has
// continued without it.
package reduce
