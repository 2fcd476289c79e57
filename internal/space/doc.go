// Package space routes the envelopes of a space: a space is a log, and every
// connection is a cursor over it.
//
// Package admission checks envelopes on the sender's goroutine and appends them to
// the journal. This package delivers them, on the journal's goroutine: durable
// entries go into the space's ring and the members are woken. Each [Member] walks from its own cursor to
// the head, on the goroutine that calls it, and filters by visibility. A member that needs
// evicted entries reads the journal until it has caught up, so there are no
// queues per member and no admitted envelope is dropped.
//
// The state of a space (grants, invitations, kicks, pauses, guests, claims, modes of
// reviewers, extended budgets) is itself a fold over the log: see [authority.State].
package space
