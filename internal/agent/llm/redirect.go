package llm

import (
	"errors"
	"fmt"
	"net/http"
)

const maxRedirects = 5

// sameHostRedirect returns a redirect policy that follows a redirect only to the same
// host, not from https to http, and with the same method, so that the key and
// the conversation are sent to no other host. If next is not nil, it decides
// after these checks.
func sameHostRedirect(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		switch {
		case req.URL.Host != first.URL.Host:
			return fmt.Errorf("redirected to another host, %s", req.URL.Host)
		case req.URL.Scheme != first.URL.Scheme && req.URL.Scheme != "https":
			return errors.New("redirected from https to http")
		case req.Method != first.Method:
			return fmt.Errorf("redirected from %s to %s", first.Method, req.Method)
		case len(via) >= maxRedirects:
			return errors.New("redirected too often")
		case next != nil:
			return next(req, via)
		}
		return nil
	}
}
