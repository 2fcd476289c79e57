// Package space routes the envelopes of a space: a space is a log, and every
// connection is a cursor over it.
//
// The package has two paths. Admission runs on the sender's goroutine:
// [Space.Publish] checks an envelope against identity, schema, limits,
// capabilities and safety, one after the other, and appends it to the journal.
// Delivery runs on the journal's goroutine: durable entries go into the space's
// ring and the members are woken. Each [Member] walks from its own cursor to
// the head on its own goroutine and filters by visibility. A member that needs
// evicted entries reads the journal until it has caught up, so there are no
// queues per member and no admitted envelope is dropped.
//
// The state of a space (grants, invitations, kicks, pauses) is itself a fold over
// the log: see [State].
package space
