// Package space routes the envelopes of a space: a space is a log, and every
// connection is a cursor over it.
//
// Two straight lines go through the package. Admission, on the goroutine of
// whoever sends: [Space.Publish] holds an envelope against identity, schema,
// limits, capabilities and safety, one check after the other, and appends what
// passes to the journal. Delivery, on the journal's goroutine: what has become
// durable is put into the space's ring and the members are woken; each
// [Member] walks from its own cursor to the head on its own goroutine and takes
// what it may see. A member that fell behind the ring reads the journal until
// it has caught up, so nothing is queued for anybody and nothing admitted is
// ever dropped.
//
// Who may do what (grants, invitations, kicks, pauses) is itself a fold over
// the log: see [State].
package space
