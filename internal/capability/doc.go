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
// capabilities select and that its granter may make too, by rights older than
// the grant, along at most [MaxChain] grants to a configured capability. If a
// right in the chain is revoked, denied or no longer configured, grants derived
// from it have no effect. [Ledger.CheckGrant] rejects a grant that its granter
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
// selects it and no deny rule does.
//
// # Field patterns
//
//	"text"        a string with exactly this text, however it was escaped
//	"a/*/b"       a glob: * is any text within a segment, ** across segments
//	"*"           any string, number, boolean or null
//	"**"          any value
//	"!pattern"    the text does not match
//	"/regexp/"    RE2, unanchored; so "/tmp/" is a regexp and "/tmp/**" a path
//	12.5          a number of the same value: 1e6 is 1000000
//	true, null    the same word
//	[p, q]        one of
//	{"key": p}    an object in which every key finds a value that p matches
//
// A key is a name, a glob ("x-*", where * is any text), "**" (the object
// itself and anything below it, elements of arrays included), or a path:
// "$.a.b", "$['a']", "$[0]", "$[*]", "$.*" and "$..name". The $ of a path is
// the object that contains the key. A name that begins with $ or contains a star
// is written as a path: "$['$ref']".
//
// # Two readings
//
// An allowing rule must match for certain, and a deny rule must only be able to
// match. The same pattern therefore has two readings:
//
//	                      allowing rule             deny rule
//	absent field          no pattern matches        a negation matches
//	key                   as written                in any case ("PATH" is "path")
//	text on an array      any element               any element
//	!text on an array     every element, strings    any element
//	[p, q] on an array    every element             any element
//	other on an array     no                        any element
//	!text on a number …   no                        yes
//	empty array           like an absent field, except for "**"
//	text over 64 KiB      no regexp matches         every regexp matches
//	all steps used        nothing matches           everything matches
//
// A pattern in a deny rule matches at least the requests that it matches in an
// allowing rule. Absence is only detected for names and indexes, never through a
// glob or "**". ["!a", "!b"] is one of two negations and matches every text. To
// deny a field only where it is present, name it twice:
// {"path": "!/tmp/**", "$.path": "**"}.
//
// # To and context
//
// Both are patterns of text, or arrays of them. A broadcast has no to, an
// envelope of the main conversation no context. A context pattern that matches
// a path matches everything below it, by whole segments; "" is the main
// conversation.
//
// # Observe
//
// The capability "observe" is a right to read and held only where it is
// written out: neither "*" nor a regexp gives it.
package capability
