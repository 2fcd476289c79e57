package access_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// newAdmission returns an Admission for the spaces lab and other, each with a participant
// alice, whose tokens are "lab-alice" and "other-alice".
func newAdmission(t *testing.T) *access.Admission {
	t.Helper()
	everything, err := capability.ParseJSON([]byte(`"*"`))
	if err != nil {
		t.Fatal(err)
	}
	config := func(name string) (*authority.Config, bool) {
		cfg := &authority.Config{Name: name, Participants: map[protocol.ParticipantID]authority.ParticipantConfig{
			"alice": {Capabilities: []*capability.Capability{everything}}, "bob": {},
		}}
		return cfg, name == "lab" || name == "other"
	}
	var made atomic.Int64
	hub := space.NewHub(space.Services{
		Journal: journal.NewMemory(journal.MemoryOptions{}), Validate: schemas.Payload, NewToken: access.NewToken,
		NewID: func() protocol.ID { return protocol.ID(fmt.Sprint("made-", made.Add(1))) },
	}, config)
	table := access.TokenTable{Find: func(name string) (string, bool) { return name, name == "lab" || name == "other" }}
	for _, name := range []string{"lab", "other"} {
		table.Spaces = append(table.Spaces, access.SpaceTokens{Name: name, Tokens: []access.Token{
			{Participant: "alice", Hash: access.Hash(name + "-alice")}, {Participant: "bob", Hash: access.Hash(name + "-bob")},
		}})
	}
	authenticator := access.NewTokenAuthenticator(table, access.TokenOptions{})
	t.Cleanup(authenticator.Close)
	return &access.Admission{Hub: hub, Auth: authenticator, Logger: slog.New(slog.DiscardHandler)}
}

var here = netip.MustParseAddr("192.0.2.1")

func TestAdmission(t *testing.T) {
	d := newAdmission(t)
	for _, c := range []struct {
		space, token string
		want         protocol.Code // "": admitted
	}{
		{"lab", "lab-alice", ""},
		{"other", "other-alice", ""},
		{"lab", "other-alice", protocol.CodeForbidden},
		{"nowhere", "lab-alice", protocol.CodeNotFound},
		{"lab", "guessed", protocol.CodeUnauthorized},
		{"lab", "", protocol.CodeUnauthorized},
		{"nowhere", "guessed", protocol.CodeUnauthorized}, // guessing reveals nothing about spaces
	} {
		room, identity, refused := d.Authorize(t.Context(), here, c.space, c.token)
		switch {
		case refused != nil && protocol.AsError(refused).Code != c.want, refused == nil && c.want != "":
			t.Errorf("%s with %q: %v, want %q", c.space, c.token, refused, c.want)
		case refused == nil && (room.Name() != c.space || identity.Participant != "alice"):
			t.Errorf("%s with %q: let in as %s to %s", c.space, c.token, identity.Participant, room.Name())
		}
	}
}

func TestAdmission_LogUnavailable(t *testing.T) {
	d := newAdmission(t)
	d.Ready = func() error { return errors.New("the log is away") }
	if _, _, refused := d.Authorize(t.Context(), here, "lab", "lab-alice"); refused == nil || protocol.AsError(refused).Code != protocol.CodeUnavailable {
		t.Errorf("a good token: %v", refused)
	}
	if _, _, refused := d.Authorize(t.Context(), here, "lab", "guessed"); refused == nil || protocol.AsError(refused).Code != protocol.CodeUnauthorized {
		t.Errorf("a bad one: %v", refused)
	}
}

func TestAdmission_AfterKick(t *testing.T) {
	d := newAdmission(t)
	room, _, err := d.Authorize(t.Context(), here, "lab", "lab-alice")
	if err != nil {
		t.Fatal(err)
	}
	sender, err := room.Sender(t.Context(), ring.Viewer{ID: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := protocol.Decode([]byte(`{"kind": "space.kick", "payload": {"participant_id": "bob"}}`), protocol.DialectMEUP01, 5)
	if r := sender.Publish(t.Context(), []admission.Decoded{{In: in, Err: err}})[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	if _, _, refused := d.Authorize(t.Context(), here, "lab", "lab-bob"); refused == nil || protocol.AsError(refused).Code != protocol.CodeKicked {
		t.Errorf("the one who was kicked: %v", refused)
	}
	if _, _, refused := d.Authorize(t.Context(), here, "other", "other-bob"); refused != nil {
		t.Errorf("in another space: %v", refused)
	}
}

// Guessing is bounded by address; a valid token never waits because of other
// clients at its address.
func TestAdmission_Guessing(t *testing.T) {
	d := newAdmission(t)
	d.Attempts = limit.NewAttempts(limit.AttemptLimits{Failures: 2, Refill: time.Hour})
	failures := 0
	d.LoginFailed = func() { failures++ }
	guess := func(addr netip.Addr) protocol.Code {
		_, _, refused := d.Authorize(t.Context(), addr, "lab", "guessed")
		if refused == nil {
			t.Fatal("let in")
		}
		if protocol.AsError(refused).Code == protocol.CodeTooMany && protocol.AsError(refused).RetryAfterMS <= 0 {
			t.Error("no word of when to come back")
		}
		return protocol.AsError(refused).Code
	}
	for i, want := range []protocol.Code{protocol.CodeUnauthorized, protocol.CodeUnauthorized, protocol.CodeTooMany, protocol.CodeTooMany} {
		if got := guess(here); got != want {
			t.Errorf("guess %d: %s, want %s", i, got, want)
		}
	}
	d.Spaces = func(context.Context, string, time.Time) ([]string, error) { return nil, access.ErrUnknownToken }
	if _, refused := d.SpacesOf(t.Context(), here, "guessed"); refused == nil || protocol.AsError(refused).Code != protocol.CodeTooMany {
		t.Errorf("by the list of spaces: %v", refused)
	}
	if got := guess(netip.MustParseAddr("192.0.2.2")); got != protocol.CodeUnauthorized {
		t.Errorf("from elsewhere: %s", got)
	}
	if _, _, refused := d.Authorize(t.Context(), here, "lab", "lab-alice"); refused != nil {
		t.Errorf("a good token: %v", refused)
	}
	if failures != 3 {
		t.Errorf("%d failures counted", failures)
	}
}

func TestAuthorizeRequest(t *testing.T) {
	d := newAdmission(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ws?space=lab", http.NoBody)
	if _, _, refused := d.AuthorizeRequest(r, "lab"); refused == nil || protocol.AsError(refused).Code != protocol.CodeUnauthorized {
		t.Errorf("without a token: %v", refused)
	}
	r.Header.Set("Authorization", "Bearer lab-alice")
	if _, identity, refused := d.AuthorizeRequest(r, "lab"); refused != nil || identity.Participant != "alice" {
		t.Errorf("with one: %v, %v", identity, refused)
	}
}

func TestOriginAllowed(t *testing.T) {
	listed := []string{"https://ui.example.org", "https://*.example.net"}
	for _, c := range []struct {
		origin, host string
		allowed      []string
		want         bool
	}{
		{"", "gw.example.org", nil, true}, // not a browser
		{"https://gw.example.org", "gw.example.org", nil, true},
		{"http://GW.example.org:8080", "gw.example.org:8080", nil, true},
		{"https://gw.example.org", "gw.example.org:8080", nil, false},
		{"https://evil.example", "gw.example.org", listed, false},
		{"https://ui.example.org", "gw.example.org", listed, true},
		{"https://ui.example.org.evil.example", "gw.example.org", listed, false},
		{"http://ui.example.org", "gw.example.org", listed, false},
		{"https://a.example.net", "gw.example.org", listed, true},
		{"https://example.net", "gw.example.org", listed, false},
		{"https://evil.example/.example.net", "gw.example.org", listed, false},
		{"null", "gw.example.org", listed, false},
		{"https://anything.example", "gw.example.org", []string{"*"}, true},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ws", http.NoBody)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if got := access.OriginAllowed(r, c.allowed); got != c.want {
			t.Errorf("origin %q to %s with %v: %v", c.origin, c.host, c.allowed, got)
		}
	}
}

func TestWriteError(t *testing.T) {
	for _, c := range []struct {
		err        *protocol.Error
		status     int
		retryAfter string
	}{
		{&protocol.Error{Code: protocol.CodeBadRequest}, 400, ""},
		{&protocol.Error{Code: protocol.CodeUnauthorized}, 401, ""},
		{&protocol.Error{Code: protocol.CodeTooMany}, 429, "1"},
		{&protocol.Error{Code: protocol.CodeTooMany, RetryAfterMS: 1}, 429, "1"},
		{&protocol.Error{Code: protocol.CodeRateLimited, RetryAfterMS: 2001}, 429, "3"},
		{&protocol.Error{Code: protocol.CodeUnavailable}, 503, "1"},
		{&protocol.Error{Code: protocol.CodeShuttingDown}, 503, "1"},
	} {
		w := httptest.NewRecorder()
		access.WriteError(w, c.err)
		var body protocol.Error
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Code != c.err.Code {
			t.Errorf("%s: body %s: %v", c.err.Code, w.Body, err)
		}
		if w.Code != c.status || w.Header().Get("Retry-After") != c.retryAfter {
			t.Errorf("%s: status %d, Retry-After %q", c.err.Code, w.Code, w.Header().Get("Retry-After"))
		}
		if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (c.status == 401) {
			t.Errorf("%s: challenge %q", c.err.Code, challenge)
		}
	}
}

func TestAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8::1]:2": "2001:db8::1", "@": "invalid IP",
	} {
		if got := access.Address(&http.Request{RemoteAddr: addr}); got.String() != want {
			t.Errorf("%s: %s", addr, got)
		}
	}
}
