package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestNew_InvalidOptions(t *testing.T) {
	for name, o := range map[string]api.Options{
		"no URL":            {Token: "secret-token"},
		"a socket":          {URL: "ws://host/ws", Token: "secret-token"},
		"a password":        {URL: "http://me:secret-token@host", Token: "x"},
		"no token":          {URL: "http://host"},
		"a line in a token": {URL: "http://host", Token: "secret-token\nX: y"},
	} {
		if c, err := api.New(o); err == nil || c != nil || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

func TestSession(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	s, err := newClient(t, g, "bob").Session(testkit.Deadline(t))
	if err != nil || s.Participant != "bob" || len(s.Spaces) != 1 || s.In("lab") != "bob" || s.In("other") != "" || s.Globs != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := newClient(t, g, "nobody").Session(testkit.Deadline(t)); !errors.Is(err, &protocol.Error{Code: protocol.CodeUnauthorized}) || strings.Contains(err.Error(), "nobody-token") {
		t.Errorf("%v", err)
	}
}

func TestSessionIn(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	s, err := newClient(t, g, "bob").SessionIn(testkit.Deadline(t), "lab")
	if err != nil || s.In("lab") != "bob" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := newClient(t, g, "bob").SessionIn(testkit.Deadline(t), "nope"); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("%v", err)
	}
}

func TestAwait(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	c := newClient(t, g, "alice")
	if err := c.Await(testkit.Deadline(t), "lab", api.EnvelopeQuery{}); err != nil {
		t.Errorf("from the beginning: %v", err)
	}
	all, err := c.Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan error, 1)
	ctx := testkit.Deadline(t)
	go func() {
		woken <- c.Await(ctx, "lab", api.EnvelopeQuery{Since: all.Next, Log: all.Log, Kinds: []string{"chat"}, From: []protocol.ParticipantID{"bob"}})
	}()
	publish(t, g, "alice", envelope("m1", "chat", "", "", `{"message":"of another participant"}`))
	publish(t, g, "bob", envelope("m2", "reasoning.start", "", "", `{"message":"of another kind"}`))
	select {
	case err := <-woken:
		t.Fatalf("woken too early: %v", err)
	default:
	}
	publish(t, g, "bob", envelope("m3", "chat", "", "", `{"message":"`+strings.Repeat("x", 20_000)+`"}`))
	if err := <-woken; err != nil {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Await(canceled, "lab", api.EnvelopeQuery{Since: all.Next + 100}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if err := c.Await(testkit.Deadline(t), "lab", api.EnvelopeQuery{Since: all.Next, Log: "other"}); err != nil {
		t.Errorf("in another log: %v", err)
	}
}

func TestEnvelopes(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	c := newClient(t, g, "alice")
	all, err := c.Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{})
	if err != nil || len(all.Envelopes) != 8 || all.HasMore {
		t.Fatalf("%+v, %v", all, err)
	}
	first := all.Envelopes[0]
	if first.ID != "q1" || first.From != "alice" || first.Seq == 0 || first.TS.IsZero() || string(first.Payload) != `{"message":"what time is it?"}` {
		t.Errorf("%+v", first)
	}
	var ids []protocol.ID
	for q := (api.EnvelopeQuery{Limit: 3, Descending: true}); ; {
		page, err := c.Envelopes(testkit.Deadline(t), "lab", q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Envelopes {
			ids = append(ids, e.ID)
		}
		if !page.HasMore {
			break
		}
		q.Before = page.Next
	}
	if got := fmt.Sprint(ids); got != "[w1 x1 a1 r1 t1 t0 c1 q1]" {
		t.Errorf("backwards: %s", got)
	}
	some, err := c.Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{Since: first.Seq, Contexts: []string{"c1"}, Kinds: []string{"reasoning/*"}, From: []protocol.ParticipantID{"bob"}})
	if err != nil || len(some.Envelopes) != 3 {
		t.Errorf("filtered: %+v, %v", some, err)
	}
	main, err := c.Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{Contexts: []string{""}, Kinds: []string{"chat"}})
	if err != nil || len(main.Envelopes) != 2 {
		t.Errorf("main: %+v, %v", main, err)
	}
}

func TestParticipantsAndContexts(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	c := newClient(t, g, "alice")
	tree, err := c.Contexts(testkit.Deadline(t), "lab", "")
	if err != nil || len(tree) != 1 || tree[0].Path != "c1" || tree[0].State != api.ContextConcluded || tree[0].Opener != "bob" || tree[0].Counts.Requests != 1 {
		t.Errorf("%+v, %v", tree, err)
	}
	one, err := c.Contexts(testkit.Deadline(t), "lab", "c1")
	if err != nil || len(one) != 1 || one[0].Path != "c1" || one[0].Ended == nil {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := c.Contexts(testkit.Deadline(t), "lab", "c1/none"); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("%v", err)
	}
	if names, err := c.Spaces(testkit.Deadline(t)); err != nil || len(names) != 1 || names[0] != "lab" {
		t.Errorf("%v, %v", names, err)
	}
	if list, err := c.Participants(testkit.Deadline(t), "lab"); err != nil || list == nil {
		t.Errorf("%v, %v", list, err)
	}
}

func TestSend(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	c := newClient(t, g, "alice")
	e := envelope("", "chat", "", "", `{"message":"hello","n":1.00}`)
	e.From, e.To, e.Extra = "somebody else", []protocol.ParticipantID{"bob"}, []byte(`"x":[1, 2]`)
	e.Correlation = protocol.Correlation{IDs: []protocol.ID{"p", "q"}, Array: true}
	sent, err := c.Send(testkit.Deadline(t), "lab", e)
	id, seq := sent.ID, sent.Seq
	if err != nil || id == "" || seq == 0 {
		t.Fatalf("%s %d %v", id, seq, err)
	}
	page, err := c.Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{})
	if err != nil || len(page.Envelopes) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	got := page.Envelopes[0]
	if got.ID != id || got.From != "alice" || !got.AddressedTo("bob") || string(got.Payload) != `{"message":"hello","n":1.00}` ||
		string(got.Extra) != `"x":[1, 2]` || !got.Correlation.Array || !got.Correlation.Names("q") {
		t.Errorf("%+v %s %s", got, got.Payload, got.Extra)
	}
	e.ID = id
	if again, err := c.Send(testkit.Deadline(t), "lab", e); err != nil || again != sent {
		t.Errorf("sent again: %+v, %v", again, err)
	}
}

// TestSend_Invitation: the receipt contains the token, which gives access to
// the space; the receipt of a retry contains none.
func TestSend_Invitation(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	c := newClient(t, g, "alice")
	e := envelope("i1", "space.invite", "", "", `{"participant_id":"dora","initial_capabilities":["chat"],"ttl_seconds":600}`)
	sent, err := c.Send(testkit.Deadline(t), "lab", e)
	if err != nil || sent.Token == "" || sent.ExpiresAt == "" {
		t.Fatalf("%+v, %v", sent, err)
	}
	dora, err := api.New(api.Options{URL: g.HTTP(), Token: sent.Token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dora.Close)
	if _, err := dora.Send(testkit.Deadline(t), "lab", envelope("", "chat", "", "", `{"message":"hello"}`)); err != nil {
		t.Error(err)
	}
	if again, err := c.Send(testkit.Deadline(t), "lab", e); err != nil || again != (api.Receipt{ID: sent.ID, Seq: sent.Seq}) {
		t.Errorf("sent again: %+v, %v", again, err)
	}
}

func TestRefusals(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	wrong := envelope("", "reasoning.conclusion", "", "", `[]`)
	if _, err := newClient(t, g, "alice").Send(testkit.Deadline(t), "lab", wrong); !errors.Is(err, &protocol.Error{Code: protocol.CodeInvalidEnvelope}) {
		t.Errorf("form: %v", err)
	}
	_, err := newClient(t, g, "planner").Send(testkit.Deadline(t), "lab", envelope("", "mcp.request", "", "", `{"method":"tools/list"}`))
	var status *api.StatusError
	var refusal *protocol.Error
	if !errors.As(err, &status) || status.Status != 403 || !errors.As(err, &refusal) || refusal.AttemptedKind == "" || len(refusal.YourCapabilities) == 0 {
		t.Errorf("right: %v", err)
	}
	if _, err := newClient(t, g, "nobody").Spaces(testkit.Deadline(t)); !errors.Is(err, &protocol.Error{Code: protocol.CodeUnauthorized}) || strings.Contains(err.Error(), "nobody-token") {
		t.Errorf("token: %v", err)
	}
	if _, err := newClient(t, g, "alice").Threads(testkit.Deadline(t), "nowhere", 0, 0); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("space: %v", err)
	}
}

// newTestServer starts a server that responds as no gateway would.
func newTestServer(t *testing.T, h http.HandlerFunc) *api.Client {
	t.Helper()
	s := httptest.NewServer(h)
	c, err := api.New(api.Options{URL: s.URL, Token: "secret-token"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return c
}

func TestRedirect_NoToken(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	c := newTestServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	_, err := c.Spaces(testkit.Deadline(t))
	var status *api.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusFound || status.Refusal != nil {
		t.Errorf("%v", err)
	}
}

func TestInvalidResponses(t *testing.T) {
	c := newTestServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/spaces":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("<html>try later</html>"))
		case "/api/spaces/lab/envelopes":
			_, _ = w.Write([]byte("{}\n"))
		default:
			_, _ = w.Write([]byte("[1,"))
		}
	})
	_, err := c.Spaces(testkit.Deadline(t))
	var status *api.StatusError
	if !errors.As(err, &status) || status.RetryAfter != 7*time.Second || !status.Temporary() || strings.Contains(err.Error(), "html") {
		t.Errorf("%v", err)
	}
	if _, err := c.Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{}); err == nil || !strings.Contains(err.Error(), "next page") {
		t.Errorf("%v", err)
	}
	if _, err := c.Threads(testkit.Deadline(t), "lab", 0, 0); err == nil {
		t.Error("half an answer is none")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Spaces(ended); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "secret-token") {
		t.Errorf("%v", err)
	}
}

// writeEndless writes a body without an end.
func writeEndless(w http.ResponseWriter, first string) {
	_, _ = w.Write([]byte(first))
	block := []byte(strings.Repeat("x", 1<<20))
	for range 70 {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func TestBounds(t *testing.T) {
	c := newTestServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/spaces":
			w.WriteHeader(http.StatusBadRequest)
			writeEndless(w, `{"error":"bad_request","message":"`)
		default:
			writeEndless(w, `{"threads":"`)
		}
	})
	if _, err := c.Threads(testkit.Deadline(t), "lab", 0, 0); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("answer: %v", err)
	}
	var status *api.StatusError
	if _, err := c.Spaces(testkit.Deadline(t)); !errors.As(err, &status) || status.Refusal != nil {
		t.Errorf("refusal: %v", err)
	}
}

// TestRetryAfter_Bound: no header can delay a client indefinitely.
func TestRetryAfter_Bound(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "3600": time.Hour, "3601": time.Hour, "9223372037": time.Hour, "99999999999999999999999": time.Hour,
		"-1": 0, "-99999999999999999999999": 0, "0": 0, "soon": 0, "": 0,
	} {
		c := newTestServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := c.Participants(testkit.Deadline(t), "lab")
		var status *api.StatusError
		if !errors.As(err, &status) || status.RetryAfter != want {
			t.Errorf("%q: %v", header, err)
		}
	}
}

func TestSend_OutcomeUnknown(t *testing.T) {
	var ids []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct{ ID string }
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		ids = append(ids, e.ID)
		if len(ids) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"error":"outcome_unknown","message":"x","id":%q}`, e.ID)
			return
		}
		fmt.Fprintf(w, `{"id":%q,"seq":7}`, e.ID)
	}))
	defer s.Close()
	c, err := api.New(api.Options{URL: s.URL, Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent, err := c.Send(testkit.Deadline(t), "lab", envelope("", "chat", "", "", `{"message":"x"}`))
	if id := string(sent.ID); err != nil || sent.Seq != 7 || len(ids) != 2 || ids[0] != id || ids[1] != id {
		t.Errorf("%+v, %v; sent %v", sent, err, ids)
	}
}
