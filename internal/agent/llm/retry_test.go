package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// busy refuses with each of the statuses, then answers. It returns the client
// and the waits between its attempts.
func busy(t *testing.T, header http.Header, statuses ...int) (*Client, *[]time.Duration) {
	t.Helper()
	var n int
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n < len(statuses) {
			for k, v := range header {
				w.Header()[k] = v
			}
			w.WriteHeader(statuses[n])
			n++
			io.WriteString(w, `{"message":"busy"}`)
			return
		}
		n++
		sse(w, "data: 1\n\n")
	})
	waits := &[]time.Duration{}
	c.Retry = Retry{
		Rand: func() float64 { return 0.5 },
		Now:  func() time.Time { return now },
		Sleep: func(_ context.Context, d time.Duration) error {
			*waits = append(*waits, d)
			return nil
		},
	}
	return c, waits
}

func TestRetry(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		header   http.Header
		statuses []int
		set      func(*Retry)
		waits    []time.Duration
		status   int // of the error; 0 for none
	}{
		"no need":          {statuses: nil},
		"429":              {statuses: []int{429}, waits: []time.Duration{375 * ms}},
		"5xx":              {statuses: []int{500, 502, 529}, waits: []time.Duration{375 * ms, 750 * ms, 1500 * ms}},
		"four attempts":    {statuses: []int{503, 503, 503, 503}, waits: []time.Duration{375 * ms, 750 * ms, 1500 * ms}, status: 503},
		"then a 4xx":       {statuses: []int{503, 400}, waits: []time.Duration{375 * ms}, status: 400},
		"one attempt":      {statuses: []int{503}, set: func(r *Retry) { r.Attempts = 1 }, status: 503},
		"own bounds":       {statuses: []int{503, 503, 503}, set: func(r *Retry) { r.Min, r.Max = 4*ms, 8*ms }, waits: []time.Duration{3 * ms, 6 * ms, 6 * ms}},
		"Max below Min":    {statuses: []int{503, 503}, set: func(r *Retry) { r.Min, r.Max = 8*ms, 4*ms }, waits: []time.Duration{6 * ms, 6 * ms}},
		"never too long":   {statuses: []int{503, 503, 503, 503, 503, 503, 503, 503}, set: func(r *Retry) { r.Attempts, r.Min = 9, 8*time.Second }, waits: []time.Duration{6e9, 12e9, 15e9, 15e9, 15e9, 15e9, 15e9, 15e9}},
		"in seconds":       {header: http.Header{"Retry-After": {"7"}}, statuses: []int{429}, waits: []time.Duration{7 * time.Second}},
		"in parts of them": {header: http.Header{"Retry-After": {" 0.25"}}, statuses: []int{503}, waits: []time.Duration{250 * ms}},
		"as a date":        {header: http.Header{"Retry-After": {now.Add(9 * time.Second).Format(http.TimeFormat)}}, statuses: []int{429}, waits: []time.Duration{9 * time.Second}},
		"a date gone by":   {header: http.Header{"Retry-After": {now.Add(-time.Hour).Format(http.TimeFormat)}}, statuses: []int{429}, waits: []time.Duration{375 * ms}},
		"in milliseconds":  {header: http.Header{"Retry-After-Ms": {"120"}, "Retry-After": {"7"}}, statuses: []int{429}, waits: []time.Duration{120 * ms}},
		"nonsense":         {header: http.Header{"Retry-After-Ms": {"-1"}, "Retry-After": {"soon"}}, statuses: []int{429}, waits: []time.Duration{375 * ms}},
		"not a number":     {header: http.Header{"Retry-After": {"NaN"}}, statuses: []int{429}, waits: []time.Duration{375 * ms}},
		"longer than we wait": {
			header: http.Header{"Retry-After": {"61"}}, statuses: []int{429}, status: 429,
		},
		"as long as we wait": {
			header: http.Header{"Retry-After": {"60"}}, statuses: []int{429}, waits: []time.Duration{time.Minute},
		},
		"for ever": {header: http.Header{"Retry-After": {"1e300"}}, statuses: []int{429}, status: 429},
	} {
		t.Run(name, func(t *testing.T) {
			c, waits := busy(t, tc.header, tc.statuses...)
			if tc.set != nil {
				tc.set(&c.Retry)
			}
			s, err := c.stream(t.Context(), "/", nil)
			if err == nil {
				s.close()
			}
			var e *Error
			if errors.As(err, &e) != (tc.status != 0) || e != nil && e.Status != tc.status {
				t.Errorf("error %v, want status %d", err, tc.status)
			}
			if !reflect.DeepEqual(*waits, tc.waits) && len(*waits)+len(tc.waits) > 0 {
				t.Errorf("waited %v, want %v", *waits, tc.waits)
			}
		})
	}
}

func TestRefusal_RetryAfter(t *testing.T) {
	c, _ := busy(t, http.Header{"Retry-After": {"3600"}}, 429)
	_, err := c.stream(t.Context(), "/", nil)
	var e *Error
	if !errors.As(err, &e) || e.RetryAfter != time.Hour || !e.Temporary() {
		t.Errorf("%+v", e)
	}
}

func TestRetry_LogWithoutBodies(t *testing.T) {
	c, _ := busy(t, nil, 503)
	var logs bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&logs, nil))
	s, err := c.stream(t.Context(), "/", "the question")
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	for _, want := range []string{"provider=acme", "status=503", "attempt=1", "wait=375ms"} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("no %s in %s", want, &logs)
		}
	}
	for _, never := range []string{"busy\"}", "question", key} {
		if strings.Contains(logs.String(), never) {
			t.Errorf("%s in %s", never, &logs)
		}
	}
}

func TestRetry_Cancel(t *testing.T) {
	c, _ := busy(t, nil, 503)
	ctx, cancel := context.WithCancel(t.Context())
	c.Retry.Sleep = nil
	c.Retry.Min = time.Hour
	c.Retry.Max = time.Hour
	c.Retry.Rand = func() float64 { cancel(); return 0 }
	if _, err := c.stream(ctx, "/", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRetry_DefaultSleep(t *testing.T) {
	if err := (Retry{}).sleep(t.Context(), time.Microsecond); err != nil {
		t.Error(err)
	}
	r := Retry{}
	for range 100 {
		if d, again := r.nextWait(1, &Error{Status: http.StatusServiceUnavailable}); !again || d < defaultMin/2 || d >= defaultMin {
			t.Fatalf("%v, %v", d, again)
		}
	}
}
