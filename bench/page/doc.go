// Package page measures the web page in a real browser against a real gateway:
// how much a first visit loads, how soon there is something to read, what a
// burst and an hour of traffic do to it. Beside it stands a bare page that puts
// the text of what comes into the document and does nothing else.
//
//	go test -run '^$' -bench . -benchtime 3x ./bench/page                          # best of three
//	go test -run '^$' -bench . -benchtime 3x ./bench/page -args -write README.md   # and put the table there
//
// Figures of one machine mean little on another; the distance to the bare page
// does travel.
package page
