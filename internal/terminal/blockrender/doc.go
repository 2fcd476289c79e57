// Package blockrender writes for terminals what agents reasoned in a turn, in the
// two forms that the specification of reasoning summaries gives, and what other
// envelopes say, in short.
//
// [Block] is what stands below an answer without being asked for, [Query] what
// answers a question for the reasoning of a turn. Everything in both is safe
// for a terminal; the only escape sequences are those of the [Style].
package blockrender
