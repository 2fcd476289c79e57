package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/schemas"
)

// received is one callback as received.
type received struct {
	body   []byte
	header http.Header
}

// postReceiver responds to callbacks with the statuses in order; it repeats the
// last.
type postReceiver struct {
	*httptest.Server
	mu       sync.Mutex
	got      []received
	statuses []int
	answer   func(w http.ResponseWriter)
}

func receivePosts(t *testing.T, statuses ...int) *postReceiver {
	t.Helper()
	r := &postReceiver{statuses: statuses}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *postReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.got = append(r.got, received{body, req.Header.Clone()})
	status := r.statuses[min(len(r.got), len(r.statuses))-1]
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(w)
	}
	w.WriteHeader(status)
}

func (r *postReceiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

// newLocalPoster returns a Poster that may post to local receivers, and the
// delays between their attempts.
func newLocalPoster(t *testing.T, secret string) (*Poster, *[]time.Duration, *bytes.Buffer) {
	t.Helper()
	g, err := NewGuard([]string{"127.0.0.1"}, &changingResolver{})
	if err != nil {
		t.Fatal(err)
	}
	waited, log := new([]time.Duration), new(bytes.Buffer)
	c := NewPoster(PosterOptions{
		Guard: g, Secret: []byte(secret), Now: func() time.Time { return time.Unix(1_700_000_000, 0) },
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Sleep:  func(ctx context.Context, d time.Duration) error { *waited = append(*waited, d); return ctx.Err() },
	})
	t.Cleanup(c.Close)
	return c, waited, log
}

func someResult() *wire.Callback {
	return &wire.Callback{
		AgentIntentResponse: wire.AgentIntentResponse{Status: "ok", IntentID: "agent-1", Finish: true, FinalText: "done", Trace: []wire.TraceItem{}},
		JobID:               "job-1", CorrelationID: "c-1",
	}
}

func TestPost_Signature(t *testing.T) {
	r := receivePosts(t, 204)
	c, _, log := newLocalPoster(t, "callback-secret")
	if err := c.Post(t.Context(), r.URL+"/cb?token=in-the-address", someResult()); err != nil {
		t.Fatal(err)
	}
	got := r.all()[0]
	var result wire.Callback
	if err := json.Unmarshal(got.body, &result); err != nil || result.JobID != "job-1" || result.CorrelationID != "c-1" || result.FinalText != "done" {
		t.Errorf("%s: %v", got.body, err)
	}
	if err := schemas.Document("reasoner/agent_intent.callback", got.body); err != nil {
		t.Errorf("%s: %v", got.body, err)
	}
	timestamp, signature := got.header.Get("X-Meup-Timestamp"), got.header.Get("X-Meup-Signature")
	if timestamp != "1700000000" || !strings.HasPrefix(signature, "sha256=") || got.header.Get("Content-Type") != "application/json" ||
		!wire.Signed([]byte("callback-secret"), timestamp, got.body, signature) {
		t.Errorf("%v", got.header)
	}
	for name, ok := range map[string]bool{
		"body":      wire.Signed([]byte("callback-secret"), timestamp, append([]byte(" "), got.body...), signature),
		"secret":    wire.Signed([]byte("another"), timestamp, got.body, signature),
		"timestamp": wire.Signed([]byte("callback-secret"), "1700000001", got.body, signature),
	} {
		if ok {
			t.Errorf("the signature holds for another %s", name)
		}
	}
	// Computed independently, so that the format does not change by accident.
	if got := wire.Sign([]byte("k"), "1", []byte("{}")); got != "sha256=3dd49b2593d0f9a349e9e71c4bde3e2b862c2be4003fe9b4ba81332029310158" {
		t.Error(got)
	}
	if strings.Contains(log.String(), "callback-secret") || strings.Contains(log.String(), "in-the-address") {
		t.Errorf("the log tells a secret: %s", log)
	}
	unsigned, _, _ := newLocalPoster(t, "")
	if err := unsigned.Post(t.Context(), r.URL, someResult()); err != nil || r.all()[1].header.Get("X-Meup-Signature") != "" {
		t.Errorf("%v %v", err, r.all()[1].header)
	}
}

func TestPost_Retries(t *testing.T) {
	for _, test := range []struct {
		name     string
		statuses []int
		attempts int
		err      string
	}{
		{"busy, then well", []int{500, 429, 200}, 3, ""},
		{"busy for ever", []int{503}, 5, "status 503"},
		{"refused", []int{400}, 1, "status 400"},
		{"gone", []int{410}, 1, "status 410"},
		{"redirected", []int{307}, 1, "status 307"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := receivePosts(t, test.statuses...)
			r.answer = func(w http.ResponseWriter) { w.Header().Set("Location", "http://169.254.169.254/") }
			c, waited, _ := newLocalPoster(t, "")
			observed := []bool{}
			c.o.Observe = func(delivered bool) { observed = append(observed, delivered) }
			err := c.Post(t.Context(), r.URL+"/?secret=1", someResult())
			if len(observed) != 1 || observed[0] != (test.err == "") {
				t.Errorf("observed %v", observed)
			}
			if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%v", err)
			}
			if len(r.all()) != test.attempts || len(*waited) != test.attempts-1 {
				t.Errorf("%d attempts, waited %v", len(r.all()), *waited)
			}
			for i, d := range *waited {
				if most := minDelay << i; d < most/2 || d > most {
					t.Errorf("waited %v", *waited)
				}
			}
		})
	}
}

func TestPost_RetryAfter(t *testing.T) {
	r := receivePosts(t, 429, 200)
	r.answer = func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7") }
	c, waited, _ := newLocalPoster(t, "")
	if err := c.Post(t.Context(), r.URL, someResult()); err != nil || len(*waited) != 1 || (*waited)[0] != 7*time.Second {
		t.Errorf("%v, waited %v", err, *waited)
	}
	if d := retryDelay(1, &statusError{after: time.Hour}); d != maxDelay {
		t.Errorf("%v", d)
	}
}

func TestPost_RefusedConnection(t *testing.T) {
	r := receivePosts(t, 200)
	r.Close()
	c, waited, _ := newLocalPoster(t, "")
	err := c.Post(t.Context(), r.URL+"/?secret=1", someResult())
	if err == nil || len(*waited) != maxAttempts-1 || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, waited %v", err, *waited)
	}
}

// TestPost_ForbiddenAddress: an address that the guard rejects on
// dialing is not retried.
func TestPost_ForbiddenAddress(t *testing.T) {
	r := receivePosts(t, 200)
	c, waited, _ := newLocalPoster(t, "")
	address := strings.Replace(r.URL, "127.0.0.1", "127.0.0.2", 1)
	if err := c.Post(t.Context(), address, someResult()); !errors.Is(err, errForbiddenAddress) || len(*waited) != 0 || len(r.all()) != 0 {
		t.Errorf("%v, waited %v", err, *waited)
	}
}
