package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

func TestEvents(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	c := newClient(t, g, "alice")
	var ids []protocol.ID
	var update *api.Update
	for e, err := range c.Events(deadline(t), "lab", api.EventQuery{FromStart: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Name {
		case api.EventEnvelope:
			env, err := e.Envelope()
			if err != nil || env.Seq != e.Seq {
				t.Fatalf("%+v, %v", e, err)
			}
			ids = append(ids, env.ID)
		case api.EventReasoningUpdate:
			if update, err = e.Update(); err != nil {
				t.Fatal(err)
			}
			strict(t, e.Data, &api.Update{})
		}
		if len(ids) == 8 && update != nil {
			break
		}
	}
	if got := fmt.Sprint(ids); got != "[q1 c1 t0 t1 r1 a1 x1 w1]" {
		t.Errorf("%s", got)
	}
	if update.ThreadID != "q1" || update.TurnNumber != 1 || update.Agent != "bob" || len(update.ToolDecisions) != 1 || update.ToolDecisions[0].Outcome != api.OutcomeSuccess {
		t.Errorf("%+v", update)
	}
}

// TestEvents_ResumeAfterRestart: an interrupted stream resumes at its position.
func TestEvents_ResumeAfterRestart(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	c := newClient(t, g, "alice")
	lost, n := 0, 0
	query := api.EventQuery{Kinds: []string{"chat"}, Main: true, From: []protocol.ParticipantID{"bob"}, OnRetry: func(error, time.Duration) { lost++ }}
	publish(t, g, "bob", envelope("m0", "chat", "", "", `{"message":"before"}`))
	for e, err := range c.Events(deadline(t), "lab", query) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Name == api.EventSystem && lost == 0: // the welcome: no event was received yet
			g.Restart()
			publish(t, g, "bob", envelope("m1", "chat", "", "", `{"message":"meanwhile"}`))
		case e.Name == api.EventEnvelope:
			env, err := e.Envelope()
			if err != nil {
				t.Fatal(err)
			}
			if n++; env.ID != protocol.ID(fmt.Sprintf("m%d", n)) {
				t.Fatalf("event %d is %s", n, env.ID)
			}
			if n == 1 {
				publish(t, g, "bob", envelope("m2", "chat", "", "", `{"message":"after"}`))
			}
		}
		if n == 2 {
			break
		}
	}
	if lost == 0 {
		t.Error("nobody was told that the stream was lost")
	}
}

func TestEvents_FinalRefusal(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for _, err := range newClient(t, g, "nobody").Events(deadline(t), "lab", api.EventQuery{}) {
		if !errors.Is(err, &protocol.Error{Code: protocol.CodeUnauthorized}) || strings.Contains(err.Error(), "nobody-token") {
			t.Errorf("%v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range newClient(t, g, "alice").Events(ended, "lab", api.EventQuery{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// TestEvents_LastEventID: after an interruption, the stream resumes after the
// last event, independently of the query.
func TestEvents_LastEventID(t *testing.T) {
	var calls atomic.Int32
	c := newTestServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if calls.Add(1) == 1 {
			_, _ = w.Write([]byte("retry: 1\n\nevent: envelope\nid: 7\ndata: {}\n\nevent: envelope\nid: 8\ndata: half"))
			return
		}
		if r.Header.Get("Last-Event-ID") != "7" || r.URL.Query().Get("since") != "7" || r.URL.Query().Get("observe") != "true" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		_, _ = w.Write([]byte("event: presence\ndata: {}\n\n"))
	})
	for e, err := range c.Events(deadline(t), "lab", api.EventQuery{After: 5, Observe: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == api.EventPresence {
			break
		}
		if e.Seq != 7 {
			t.Errorf("%+v", e)
		}
	}
}

// TestEvents_UpdatesOnce: after an interruption, a gateway repeats the updates
// of the last entry; Events yields each update once.
func TestEvents_UpdatesOnce(t *testing.T) {
	var calls atomic.Int32
	c := newTestServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch calls.Add(1) {
		case 1: // interrupted before the update of 7
			if r.Header.Get("Last-Event-ID") != "" || r.URL.Query().Get("since") != "5" {
				t.Errorf("first: %s %v", r.URL, r.Header)
			}
			_, _ = w.Write([]byte("retry: 1\n\nevent: envelope\nid: 7\ndata: {}\n\n"))
		case 2: // interrupted after it
			_, _ = w.Write([]byte("event: reasoning_update\nid: 7\ndata: {}\n\n"))
		default:
			_, _ = w.Write([]byte("event: reasoning_update\nid: 7\ndata: {}\n\nevent: envelope\nid: 8\ndata: {}\n\nevent: job_reasoning\nid: 8\ndata: {}\n\n"))
		}
	})
	var got []string
	for e, err := range c.Events(deadline(t), "lab", api.EventQuery{After: 5}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Name+" "+e.Seq.String()); e.Name == api.EventJobReasoning {
			break
		}
	}
	want := []string{"envelope 7", "reasoning_update 7", "envelope 8", "job_reasoning 8"}
	if !slices.Equal(got, want) {
		t.Errorf("heard %v", got)
	}
}

// transport handles requests in the goroutines of the test, so that they use
// the fake clock.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silentBody is a body without data that blocks until its request ends.
type silentBody struct{ ctx context.Context }

func (s silentBody) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (silentBody) Close() error { return nil }

// TestEvents_IdleStream: a gateway sends something every 15 seconds; a
// stream that stays idle is reopened.
func TestEvents_IdleStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		hc := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				return &http.Response{StatusCode: http.StatusOK, Body: silentBody{r.Context()}}, nil
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("data: {}\n\n"))}, nil
		})}
		c, err := api.New(api.Options{URL: "http://gateway", Token: "x", HTTPClient: hc})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, err := range c.Events(t.Context(), "lab", api.EventQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if took := time.Since(began); calls != 2 || took < time.Minute || took > 2*time.Minute {
			t.Errorf("%d calls in %s", calls, took)
		}
	})
}

// TestEvents_SlowConsumer: a loop that handles an event for minutes does not
// lose the stream, because the gateway is not idle.
func TestEvents_SlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		hc := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			calls++
			return &http.Response{StatusCode: http.StatusOK, Body: &eventBody{ctx: r.Context(), left: 3}}, nil
		})}
		c, err := api.New(api.Options{URL: "http://gateway", Token: "x", HTTPClient: hc})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range c.Events(t.Context(), "lab", api.EventQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
			<-time.After(5 * time.Minute)
		}
		if calls != 1 {
			t.Errorf("the stream was opened %d times", calls)
		}
	})
}

// eventBody is a body that returns one event per read, until its request ends.
type eventBody struct {
	ctx  context.Context
	left int
}

func (s *eventBody) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil || s.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	s.left--
	return copy(p, "data: {}\n\n"), nil
}

func (*eventBody) Close() error { return nil }

// TestEvents_Backoff: the delay between attempts increases while the gateway is
// unreachable.
func TestEvents_Backoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hc := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
		})}
		c, err := api.New(api.Options{URL: "http://gateway", Token: "x", HTTPClient: hc})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var waits []time.Duration
		for _, err := range c.Events(ctx, "lab", api.EventQuery{OnRetry: func(_ error, in time.Duration) { waits = append(waits, in) }}) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		if waits[0] != 2*time.Second || waits[1] != 4*time.Second || waits[len(waits)-1] != 30*time.Second || len(waits) < 100 {
			t.Errorf("%v", waits)
		}
	})
}
