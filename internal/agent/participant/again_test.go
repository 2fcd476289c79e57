package participant

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/api"
)

func TestAgain(t *testing.T) {
	busy := &api.StatusError{Status: http.StatusServiceUnavailable, RetryAfter: time.Second}
	away := &url.Error{Op: "Get", URL: "http://gateway/", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		answers []error
		took    time.Duration
		fails   bool
	}{
		"answers":        {[]error{nil}, 0, false},
		"is busy":        {[]error{busy, busy, nil}, 2 * time.Second, false},
		"is away":        {append(slices.Repeat([]error{away}, 50), nil), 5 * time.Second, false},
		"refuses":        {[]error{&api.StatusError{Status: http.StatusForbidden}}, 0, true},
		"is busy always": {slices.Repeat([]error{busy}, 20), 10 * time.Second, true},
		"another fault":  {[]error{errors.New("no JSON")}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begun, n := time.Now(), 0
				_, err := Again(ctx, func() (int, error) {
					n++
					return n, c.answers[n-1]
				})
				if took := time.Since(begun); took != c.took || (err != nil) != c.fails {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}
