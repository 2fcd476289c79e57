package httpapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/httpapi"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// analyses are analyses that end when a test lets them, or with their context.
type analyses struct {
	began chan struct{}
	end   chan error // what they return
	ended chan error
	since time.Time
}

func (x *analyses) wait(ctx context.Context, since time.Time) error {
	x.since = since
	x.began <- struct{}{}
	select {
	case err := <-x.end:
		return err
	case <-ctx.Done():
		x.ended <- context.Cause(ctx)
		return ctx.Err()
	}
}

func (x *analyses) Suggestions(ctx context.Context, _ string, _ ring.Visibility, since time.Time) (*api.Suggestions, int, error) {
	err := x.wait(ctx, since)
	return &api.Suggestions{}, 1 << 30, err
}

func (x *analyses) Backtest(ctx context.Context, _ string, _ ring.Visibility, since time.Time, _ []byte) (*api.Backtest, int, error) {
	err := x.wait(ctx, since)
	return &api.Backtest{}, 1, err
}

// newAnalyses returns an API with these analyses, whose participants are alice, with every
// capability, bob, who may grant and whose work is limited, and carol.
func newAnalyses(t *testing.T, x httpapi.Analysis) http.Handler {
	t.Helper()
	cfg := &authority.Config{Name: "lab", Participants: map[protocol.ParticipantID]authority.ParticipantConfig{"carol": {}}}
	table := access.TokenTable{Find: func(name string) (string, bool) { return name, name == "lab" }, Spaces: []access.SpaceTokens{{Name: "lab"}}}
	for id, text := range map[protocol.ParticipantID]string{"alice": `"*"`, "bob": `"capability.grant"`} {
		c, err := capability.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p := authority.ParticipantConfig{Capabilities: []*capability.Capability{c}}
		if id == "bob" {
			p.NewLimiter = func(authority.Limiter) authority.Limiter { return bucket{limit.New(limit.Limits{BytesPerSecond: 1})} }
		}
		cfg.Participants[id] = p
	}
	for id := range cfg.Participants {
		table.Spaces[0].Tokens = append(table.Spaces[0].Tokens, access.Token{Participant: id, Hash: access.Hash(string(id) + "-token")})
	}
	hub := space.NewHub(space.Services{Journal: journal.NewMemory(journal.MemoryOptions{}), Validate: schemas.Payload, NewToken: access.NewToken},
		func(name string) (*authority.Config, bool) { return cfg, name == "lab" })
	authenticator := access.NewTokenAuthenticator(table, access.TokenOptions{})
	t.Cleanup(authenticator.Close)
	return httpapi.New(httpapi.Options{
		Admission: &access.Admission{Hub: hub, Auth: authenticator, Logger: slog.New(slog.DiscardHandler)}, Analysis: x, Logger: slog.New(slog.DiscardHandler),
	})
}

func serveAnalyses(t *testing.T, x httpapi.Analysis) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(newAnalyses(t, x))
	t.Cleanup(s.Close)
	return s
}

// bucket has little to spend.
type bucket struct{ *limit.Bucket }

func (b bucket) Reserve(now time.Time, kind protocol.Kind, bytes int) (authority.Reservation, error) {
	r, err := b.Bucket.Reserve(now, kind, bytes)
	return &r, err
}

// What was read is charged as work.
func TestAnalysis_Charged(t *testing.T) {
	x := &analyses{began: make(chan struct{}, 2), end: make(chan error, 2)}
	x.end <- nil
	x.end <- nil
	s := serveAnalyses(t, x)
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		status, body, err := analyze(t.Context(), s, "bob", "", nil)
		if err != nil || status != want || want != http.StatusOK && !strings.Contains(body, "inspected_bytes_per_second") {
			t.Errorf("request %d: %d %s %v", i, status, body, err)
		}
	}
}

// So is the text of a configuration, which takes its time also if it is refused.
func TestAnalysis_TextIsCharged(t *testing.T) {
	for size, want := range map[int]int{10: http.StatusOK, 1 << 20: http.StatusTooManyRequests} {
		x := &analyses{began: make(chan struct{}, 2), end: make(chan error, 2)}
		x.end <- access.BadRequest("The configuration has 1 error.")
		x.end <- nil
		s := serveAnalyses(t, x)
		for i, want := range []int{http.StatusBadRequest, want} {
			status, body, err := analyze(t.Context(), s, "bob", "", strings.NewReader(strings.Repeat("x", size)))
			if err != nil || status != want {
				t.Errorf("request %d of %d bytes: %d %s %v", i, size, status, body, err)
			}
		}
	}
}

// analyze asks for suggestions, or for a backtest of a text, and returns the status and the body.
func analyze(ctx context.Context, s *httptest.Server, who, query string, text io.Reader) (int, string, error) {
	method, path := http.MethodGet, "/suggestions"
	if text != nil {
		method, path = http.MethodPost, "/backtest"
	}
	r, err := http.NewRequestWithContext(ctx, method, s.URL+"/api/spaces/lab"+path+query, text)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+who+"-token")
	resp, err := s.Client().Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// One analysis runs at a time, and it ends when its client hangs up.
func TestAnalysis_OneAtATime(t *testing.T) {
	for _, c := range []struct {
		name string
		text func() io.Reader
	}{
		{"suggestions", func() io.Reader { return nil }},
		{"backtest", func() io.Reader { return strings.NewReader("spaces: {}") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &analyses{began: make(chan struct{}), end: make(chan error), ended: make(chan error, 1)}
			s := serveAnalyses(t, x)
			ctx, hangUp := context.WithCancel(t.Context())
			first := make(chan error)
			go func() {
				_, _, err := analyze(ctx, s, "alice", "", c.text())
				first <- err
			}()
			<-x.began
			if status, body, err := analyze(t.Context(), s, "bob", "", c.text()); err != nil || status != http.StatusTooManyRequests || !strings.Contains(body, "too_many_requests") {
				t.Errorf("beside it: %d %s %v", status, body, err)
			}
			hangUp()
			if err := <-first; !errors.Is(err, context.Canceled) {
				t.Errorf("the first request: %v", err)
			}
			if err := <-x.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the first analysis: %v", err)
			}
			last := make(chan string)
			go func() {
				for { // the place is free after the handler of the first request has returned
					if status, body, _ := analyze(t.Context(), s, "alice", "", c.text()); status != http.StatusTooManyRequests {
						last <- body
						return
					}
				}
			}()
			<-x.began
			x.end <- nil
			if body := <-last; strings.Contains(body, "error") {
				t.Errorf("after it: %s", body)
			}
		})
	}
}

func TestAnalysis_Refused(t *testing.T) {
	large := strings.Repeat("#", 1<<20) + "\n"
	for _, c := range []struct {
		name, who, query, text string
		status                 int
		says                   string
	}{
		{"no rights", "carol", "", "", http.StatusForbidden, "capability_violation"},
		{"no rights to backtest", "carol", "", "spaces: {}", http.StatusForbidden, "capability_violation"},
		{"no time", "alice", "?since=soon", "", http.StatusBadRequest, "since cannot be"},
		{"too many days", "alice", "?since=999999999d", "", http.StatusBadRequest, "since cannot be"},
		{"days before none", "alice", "?since=-3d", "", http.StatusBadRequest, "since cannot be"},
		{"too large", "alice", "", large, http.StatusRequestEntityTooLarge, "1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text io.Reader
			if c.text != "" {
				text = strings.NewReader(c.text)
			}
			status, body, err := analyze(t.Context(), serveAnalyses(t, nil), c.who, c.query, text)
			if err != nil || status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%d %s %v", status, body, err)
			}
		})
	}
}

// What cannot be read is unavailable, and what is refused says why.
func TestAnalysis_Fails(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{journal.ErrUnavailable, http.StatusServiceUnavailable, "cannot be read now"},
		{access.BadRequest("no such space"), http.StatusBadRequest, "no such space"},
	} {
		x := &analyses{began: make(chan struct{}, 1), end: make(chan error, 1)}
		x.end <- c.err
		if status, body, err := analyze(t.Context(), serveAnalyses(t, x), "alice", "", nil); err != nil || status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%v: %d %s %v", c.err, status, body, err)
		}
	}
}

// The period is 30 days, or what a client asks for.
func TestAnalysis_Since(t *testing.T) {
	for query, want := range map[string]time.Duration{"": 30 * 24 * time.Hour, "?since=7d": 7 * 24 * time.Hour, "?since=90m": 90 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			x := &analyses{began: make(chan struct{}, 1), end: make(chan error, 1)}
			x.end <- nil
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/spaces/lab/suggestions"+query, http.NoBody)
			r.Header.Set("Authorization", "Bearer alice-token")
			w := httptest.NewRecorder()
			newAnalyses(t, x).ServeHTTP(w, r)
			if w.Code != http.StatusOK || time.Since(x.since) != want {
				t.Errorf("%q: %d %s, since %s", query, w.Code, w.Body, x.since)
			}
		})
	}
}
