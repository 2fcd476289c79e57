// Package pattern compiles, matches and compares the patterns of capabilities. It is
// pure, and its work is bounded. Section 7.
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
//	text on an array      every element, strings    any element
//	"*" on an array       every element             any element
//	[p, q] on an array    every element             any element
//	other on an array     no                        any element
//	!text on a number …   no                        yes
//	empty array           like an absent field, except for "**"
//	text over 64 KiB      no regexp matches         every regexp matches
//	text with a ..        no glob matches           as written
//	text of a command     no glob matches           as written
//	all steps used        nothing matches           everything matches
//
// A text with a .. has it as a segment of a path. A text of a command is one with ; & | < > $ ` ( )
// or a line break, in a call whose arguments have a command. A negated glob does not match them
// either; "*" and "**" are no globs: they match every text.
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
package capability
