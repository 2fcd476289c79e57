// Package page measures the web page in a real browser with a real gateway: the
// size of a first visit, the time to the first content, and the effects of a
// burst and of an hour of traffic. For comparison it measures a bare page that
// only appends the text of each envelope to the document.
//
//	go test -run '^$' -bench . -benchtime 3x ./bench/page                          # best of three
//	go test -run '^$' -bench . -benchtime 3x ./bench/page -args -write README.md   # and put the table there
//
// Figures of one machine mean little on another; the ratio to the bare page is
// comparable.
package page
