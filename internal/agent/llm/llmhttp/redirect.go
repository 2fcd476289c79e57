package llmhttp

import (
	"errors"
	"fmt"
	"net/http"
)

const maxRedirects = 5

// stayHome follows a redirect only where the same question may go: to the same
// host, not from https to http, and not as a GET. Neither the key nor the
// conversation goes anywhere else. next, if there is one, decides after that.
func stayHome(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
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
