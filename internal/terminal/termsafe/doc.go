// Package termsafe makes what participants write fit for a terminal: [Text],
// [Line] and [Words] leave out what a terminal would obey and what cannot be
// seen, [Exact] spells it out.
package termsafe
