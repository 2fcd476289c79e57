// Package blockrender formats the reasoning of a turn for terminals, in the two
// forms that the specification of reasoning summaries defines, and summarizes
// other envelopes.
//
// [Block] is displayed below an answer automatically; [Query] answers a request
// for the reasoning of a turn. All output is safe for a terminal; its only
// escape sequences come from the [Style].
package blockrender
