package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A request with a larger body lets another one have one while it waits.
func TestCaller_LargeBody(t *testing.T) {
	s := &server{slots: make(chan struct{}, 1), large: make(chan struct{}, 1)}
	read := func() (*caller, bool) {
		c := &caller{server: s}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(strings.Repeat(" ", maxBody+1)))
		_, refused := c.body(httptest.NewRecorder(), r)
		return c, refused == nil
	}
	first, ok := read()
	if !ok {
		t.Fatal("the first one is rejected")
	}
	if second, ok := read(); ok {
		t.Error("two at a time")
	} else {
		second.finish() // returns what it has: nothing
	}
	if len(s.large) != 1 {
		t.Error("the rejected request returned the right of the other one")
	}
	first.release()
	third, ok := read()
	if !ok {
		t.Error("rejected while the first one waits")
	}
	first.finish()
	third.finish()
	if len(s.large) != 0 {
		t.Error("not returned")
	}
}
