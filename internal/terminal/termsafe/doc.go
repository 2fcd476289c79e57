// Package termsafe makes untrusted text safe for a terminal: [Text], [Line] and
// [Words] remove characters that control a terminal or are invisible, [Exact]
// escapes them.
package termsafe
