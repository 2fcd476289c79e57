// Package capability decides which envelopes a participant may send. Section 7,
// and the grants of section 2.
//
// It is pure: no I/O, no goroutine and no clock; the time is an argument.
// [Parse] compiles a capability of a configuration or a grant, a [Set] is a
// list of them, and the [Ledger] folds configuration, grants and revocations
// into the [Rights] of each participant.
//
// # Grants
//
// A grant is stored unchanged and evaluated on use: it allows a request that its
// capabilities select and that its grantor may make too, by rights older than
// the grant, along at most [maxChain] grants to a configured capability. If a
// right in the chain is revoked, denied or no longer configured, grants derived
// from it have no effect. [Ledger.CheckGrant] rejects a grant that its grantor
// does not clearly hold; this gives an early error and decides nothing else.
//
// # Capabilities
//
// A capability is a string, which is a kind pattern, or an object
//
//	{"kind": …, "payload": …, "to": …, "context": …, "deny": true}
//
// of which only kind is required. It selects a request when all its parts do;
// an absent part selects everything. A request is allowed when any capability
// selects it and no deny rule does. [Pattern] has the language of the parts.
//
// # Observe
//
// The capability "observe" is a right to read and held only where it is
// written out: neither "*" nor a regexp gives it.
package capability
