// Package turns derives turns from the log of a space: who asked, which tools
// the agents called and why, and how each call ended. Only the log is read, so
// turns do not depend on who wrote the agents.
//
// # Parts
//
//	reduce    the reducer of one turn: contexts, thoughts, calls, proposals
//	index     the threads and turns of a space, and which entries they have; in Rows
//	Tracker   both for one space, with a cache of contents. No goroutines
//	Events    the ends of steps, for event streams
//
// The gateway feeds a Tracker in package derived. Package turns depends on no part
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
// without a correlation belongs to the question that package exchange finds.
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
// contexts. It is indexed and shown like a thread of one turn, in a list of its
// own.
//
// A thread or a job is in the session that its first envelope names (session_id in
// the payload), or in one of its own.
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
// bytes each. It consists of rows ([Rows]); the ones used last are in memory, and the
// ones that have changed stay there until [Tracker.Save]. Contents of recently used
// turns are cached; others are read from the log on demand. What is in memory is
// bounded ([Options]), and changes no answer. [Open] goes on where Save was called,
// and [Tracker.Trim] drops what the log has dropped. Before that, [Fold] makes a base of
// it, which [LoadBase] gives to an index that begins after it.
package turns
