package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/httpapi"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// discreetConfig has tokens that occur nowhere else, and one participant for
// each reason to be rejected.
const discreetConfig = `
data: ":memory:"
listen: 127.0.0.1:0
login_failures: {burst: 1000, refill: 1h}
limits: {message_bytes: 2KiB, rate: 10000, burst: 10000}
violations: {max: 1000}
spaces:
  lab:
    participants:
      alice: {token: secret-of-alice, capabilities: ["*"]}
      bob: {token: secret-of-bob, capabilities: [chat, "mcp.response"]}
      quick: {token: secret-of-quick, capabilities: ["*"], limits: {rate: 0.001, burst: 2}}
      gone: {token: secret-of-gone, capabilities: ["*"]}
  office:
    participants:
      olga: {token: secret-of-olga, capabilities: ["*"]}
`

// privacy is a log writer that collects secrets which no log, error or metric
// may contain.
type privacy struct {
	t       *testing.T
	secrets []string

	mu     sync.Mutex
	log    bytes.Buffer
	errors bytes.Buffer // the texts of all errors
}

// Write appends a line of the gateway's log.
func (p *privacy) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(line)
}

func (p *privacy) refusal(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors.Write(text)
	p.errors.WriteByte('\n')
}

// body returns a message text that occurs nowhere else.
func (p *privacy) body() string {
	text := fmt.Sprintf("whisper-%d-of-the-sender", len(p.secrets))
	p.secrets = append(p.secrets, text)
	return text
}

func (p *privacy) token(token string) {
	p.secrets = append(p.secrets, token, base64.RawURLEncoding.EncodeToString([]byte(token)))
}

func (p *privacy) holds(where, text string) {
	p.t.Helper()
	for _, secret := range p.secrets {
		if i := strings.Index(text, secret); i >= 0 {
			p.t.Errorf("%q is in the %s: …%s…", secret, where, text[max(0, i-200):min(len(text), i+200)])
		}
	}
}

// discreet is a gateway whose log is captured at all levels.
type discreet struct {
	*privacy
	gw   *gateway.Gateway
	addr string
	http *http.Client
}

func startDiscreet(t *testing.T) *discreet {
	t.Helper()
	p := &privacy{t: t}
	for _, who := range []string{"alice", "bob", "quick", "gone", "olga", "nobody", "new"} {
		p.token("secret-of-" + who)
	}
	logger := slog.New(slog.NewJSONHandler(p, &slog.HandlerOptions{Level: slog.LevelDebug - 100}))
	gw, err := gateway.New(t.Context(), gateway.Options{Config: parseConfig(t, discreetConfig), Logger: logger, Version: httpapi.Version{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- gw.Serve(l) }() // ends with Close
	<-gw.Opened()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := errors.Join(gw.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return &discreet{privacy: p, gw: gw, addr: l.Addr().String(), http: client}
}

func parseConfig(t *testing.T, yaml string) *config.Config {
	t.Helper()
	cfg, faults := config.Parse("test.yaml", []byte(yaml), os.LookupEnv, os.ReadFile)
	if config.HasErrors(faults) {
		t.Fatalf("configuration: %v", faults)
	}
	return cfg
}

// dial connects, and records the error if the gateway rejects the connection.
func (d *discreet) dial(query string, o *websocket.DialOptions) (*websocket.Conn, int) {
	d.t.Helper()
	ctx := testkit.Deadline(d.t)
	ws, resp, err := websocket.Dial(ctx, "ws://"+d.addr+"/ws"+query, o)
	if err == nil {
		d.t.Cleanup(func() { _ = ws.CloseNow() })
		return ws, 0
	}
	if resp == nil {
		d.t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	d.refusal(body)
	for name, values := range resp.Header {
		d.refusal(fmt.Append(nil, name, values))
	}
	return nil, resp.StatusCode
}

func (d *discreet) join(who string) *websocket.Conn {
	d.t.Helper()
	ws, status := d.dial("?space=lab", bearer("secret-of-"+who))
	if ws == nil {
		d.t.Fatalf("%s: %d", who, status)
	}
	d.until(ws, protocol.KindSystemWelcome, "")
	return ws
}

func bearer(token string) *websocket.DialOptions {
	return &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}}
}

// until reads up to a frame of that kind that contains text, and records errors
// on the way.
func (d *discreet) until(ws *websocket.Conn, kind protocol.Kind, text string) []byte {
	d.t.Helper()
	ctx := testkit.Deadline(d.t)
	for {
		_, frame, err := ws.Read(ctx)
		if err != nil {
			d.t.Fatalf("%s with %q: %v", kind, text, err)
		}
		var e received
		if err := json.Unmarshal(frame, &e); err != nil {
			d.t.Fatal(err)
		}
		e.Kind, _ = protocol.ParseKind(string(e.Kind))
		if e.Kind == protocol.KindSystemError {
			d.refusal(frame)
		}
		if e.Kind == kind && bytes.Contains(frame, []byte(text)) {
			return frame
		}
	}
}

// ends reads up to the close frame and records its reason.
func (d *discreet) ends(ws *websocket.Conn) {
	d.t.Helper()
	ctx := testkit.Deadline(d.t)
	for {
		_, frame, err := ws.Read(ctx)
		if err == nil {
			if bytes.Contains(frame, []byte("error")) {
				d.refusal(frame)
			}
			continue
		}
		if ctx.Err() != nil {
			d.t.Fatal("the connection does not end")
		}
		d.refusal([]byte(err.Error()))
		return
	}
}

// refused sends a frame and waits for the error with that code.
func (d *discreet) refused(ws *websocket.Conn, code protocol.Code, frame string) {
	d.t.Helper()
	say(d.t, ws, frame)
	d.until(ws, protocol.KindSystemError, `"`+string(code)+`"`)
}

// post sends over HTTP and records the response.
func (d *discreet) post(path, token, body string) int {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://"+d.addr+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := d.http.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	d.refusal(answer)
	return resp.StatusCode
}

// TestSecrets_NotDisclosed uses every feature that handles tokens and
// bodies, and checks that they appear in no log, error or metric and in no
// frame for another participant.
func TestSecrets_NotDisclosed(t *testing.T) {
	t.Parallel()
	d := startDiscreet(t)
	d.refusedJoins()
	alice, bob := d.join("alice"), d.join("bob")
	text := d.body()
	say(t, alice, fmt.Sprintf(`{"id": "c1", "kind": "chat", "payload": {"message": %q}}`, text))
	d.until(bob, protocol.KindChat, text)
	d.refusedEnvelopes(alice, bob)
	d.invites(alice)
	d.rateLimit()
	d.kicks(alice)
	d.overHTTP()
	d.reloads(bob)

	metrics := d.get("/metrics")
	if !strings.Contains(metrics, `meup_refused_total{code="capability_violation"}`) {
		t.Error("the metrics are not those of this gateway")
	}
	d.holds("metrics", metrics)
	for _, path := range []string{"/healthz", "/readyz", "/version"} {
		d.holds(path, d.get(path))
	}
	ctx := testkit.Deadline(t)
	drained := make(chan error, 1)
	go func() { drained <- d.gw.Drain(ctx) }() // waited for below
	d.ends(alice)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, said := range []string{"refused a token", "participant joined", "participant left"} {
		if !strings.Contains(d.log.String(), said) {
			t.Errorf("the log has nothing of %q, so it says little:\n%s", said, &d.log)
		}
	}
	d.holds("log", d.log.String())
	d.holds("refusals", d.errors.String())
}

func (d *discreet) refusedJoins() {
	offered := func(token string) *websocket.DialOptions {
		return &websocket.DialOptions{Subprotocols: []string{"meup.v0.1", "bearer." + base64.RawURLEncoding.EncodeToString([]byte(token))}}
	}
	for name, c := range map[string]struct {
		query  string
		with   *websocket.DialOptions
		status int
	}{
		"nobody's":        {"?space=lab", bearer("secret-of-nobody"), 401},
		"by subprotocol":  {"?space=lab", offered("secret-of-nobody"), 401},
		"in the query":    {"?space=lab&token=secret-of-alice&access_token=secret-of-alice", nil, 401},
		"of other scheme": {"?space=lab", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Basic secret-of-alice"}}}, 401},
		"of other space":  {"?space=office", bearer("secret-of-alice"), 403},
		"to no space":     {"?space=nowhere", bearer("secret-of-alice"), 404},
	} {
		if _, status := d.dial(c.query, c.with); status != c.status {
			d.t.Errorf("%s: status %d, want %d", name, status, c.status)
		}
	}
	for _, join := range []string{
		`{"type": "join", "space": "lab", "participantId": "alice", "token": "secret-of-nobody"}`,
		`{"type": "join", "space": "lab", "participantId": "alice", "token": "secret-of-bob"}`,
		`{"type": "join", "space": "lab", "token": ["secret-of-alice"]}`,
		`{"type": "join", "space": "lab", "token": "secret-of-alice`,
	} {
		ws, _ := d.dial("", nil)
		say(d.t, ws, join)
		d.ends(ws)
	}
	ws, _ := d.dial("", nil)
	say(d.t, ws, `{"type": "join", "space": "lab", "participantId": "alice", "token": "secret-of-alice"}`)
	d.until(ws, protocol.KindSystemWelcome, "")
	ws, _ = d.dial("?space=lab", offered("secret-of-bob"))
	d.until(ws, protocol.KindSystemWelcome, "")
}

func (d *discreet) refusedEnvelopes(alice, bob *websocket.Conn) {
	d.refused(bob, protocol.CodeCapabilityViolation, fmt.Sprintf(`{"id": "r1", "kind": "mcp.request", "payload": {"method": "tools/call", "params": {"name": "x", "arguments": {"q": %q}}}}`, d.body()))
	d.refused(alice, protocol.CodeInvalidPayload, fmt.Sprintf(`{"id": "r2", "kind": "chat", "payload": {"message": [%q]}}`, d.body()))
	d.refused(alice, protocol.CodeInvalidPayload, fmt.Sprintf(`{"id": "r3", "kind": "reasoning.start", "payload": {"message": "x", "metadata": %q}}`, d.body()))
	d.refused(alice, protocol.CodeInvalidJSON, fmt.Sprintf(`{"id": "r4", "kind": "chat", "payload": {"message": %q]}`, d.body()))
	d.refused(alice, protocol.CodeInvalidJSON, fmt.Sprintf(`{"id": "r5", "kind": "chat", "payload": {"message": "%s\x"}}`, d.body()))
	d.refused(alice, protocol.CodeInvalidEnvelope, fmt.Sprintf(`{"id": "r6", "kind": "chat", "payload": %q}`, d.body()))
	d.refused(alice, protocol.CodeIdentityMismatch, fmt.Sprintf(`{"id": "r7", "from": "bob", "kind": "chat", "payload": {"message": %q}}`, d.body()))
	d.refused(alice, protocol.CodeReservedKind, fmt.Sprintf(`{"id": "r8", "kind": "system.welcome", "payload": {"message": %q}}`, d.body()))
	d.refused(alice, protocol.CodeUnknownParticipant, fmt.Sprintf(`{"id": "r9", "to": ["x"], "kind": "chat", "payload": {"message": %q}}`, d.body()))
	d.refused(alice, protocol.CodeInvalidContext, fmt.Sprintf(`{"id": "r10", "context": "a//b", "kind": "chat", "payload": {"message": %q}}`, d.body()))
	d.refused(bob, protocol.CodeDuplicateID, fmt.Sprintf(`{"id": "c1", "kind": "chat", "payload": {"message": %q}}`, d.body()))
	d.refused(alice, protocol.CodeUnsupportedProtocol, fmt.Sprintf(`{"protocol": "x/v1", "id": "r11", "kind": "chat", "payload": {"message": %q}}`, d.body()))

	large := d.join("alice")
	say(d.t, large, fmt.Sprintf(`{"id": "r12", "kind": "chat", "payload": {"message": %q}}`, strings.Repeat(d.body(), 100)))
	d.ends(large)
}

// invites makes an invitation, whose token only the inviter may see.
func (d *discreet) invites(alice *websocket.Conn) {
	d.t.Helper()
	reason := d.body()
	say(d.t, alice, fmt.Sprintf(`{"id": "i1", "kind": "space.invite", "payload": {"participant_id": "guest", "initial_capabilities": ["chat"], "reason": %q}}`, reason))
	var ack struct {
		Payload struct{ Token string }
	}
	if err := json.Unmarshal(d.until(alice, protocol.KindSpaceInviteAck, ""), &ack); err != nil || ack.Payload.Token == "" {
		d.t.Fatalf("no token: %v", err)
	}
	d.token(ack.Payload.Token)
	if _, status := d.dial("?space=office", bearer(ack.Payload.Token)); status != http.StatusForbidden {
		d.t.Errorf("the invitation elsewhere: %d", status)
	}
	guest, status := d.dial("?space=lab", bearer(ack.Payload.Token))
	if guest == nil {
		d.t.Fatalf("the guest: %d", status)
	}
	d.until(guest, protocol.KindSystemWelcome, "")
	d.refused(guest, protocol.CodeCapabilityViolation, fmt.Sprintf(`{"id": "i2", "kind": "x.y", "payload": {"message": %q}}`, d.body()))
}

func (d *discreet) rateLimit() {
	quick := d.join("quick")
	for i := range 2 {
		say(d.t, quick, fmt.Sprintf(`{"id": "q%d", "kind": "chat", "payload": {"message": %q}}`, i, d.body()))
	}
	d.refused(quick, protocol.CodeRateLimited, fmt.Sprintf(`{"id": "q3", "kind": "chat", "payload": {"message": %q}}`, d.body()))
}

func (d *discreet) kicks(alice *websocket.Conn) {
	gone := d.join("gone")
	say(d.t, alice, fmt.Sprintf(`{"id": "k1", "kind": "space.kick", "payload": {"participant_id": "gone", "reason": %q}}`, d.body()))
	d.ends(gone)
	if _, status := d.dial("?space=lab", bearer("secret-of-gone")); status != http.StatusForbidden {
		d.t.Errorf("the one who was kicked: %d", status)
	}
}

func (d *discreet) overHTTP() {
	const path = "/api/spaces/lab/envelopes"
	chat := func(id string) string {
		return fmt.Sprintf(`{"id": %q, "kind": "chat", "payload": {"message": %q}}`, id, d.body())
	}
	for _, c := range []struct {
		path, token, body string
		status            int
	}{
		{path, "secret-of-bob", chat("h1"), 200},
		{path, "secret-of-bob", "[" + chat("h2") + `, {"id": "h3", "kind": "x.y", "payload": {"m": "` + d.body() + `"}}]`, 207},
		{path, "secret-of-bob", `{"id": "h4", "kind": "x.y", "payload": {"m": "` + d.body() + `"}}`, 403},
		{path, "secret-of-bob", `{"id": "h5", "kind": "chat", "payload": {"message": "` + d.body(), 400},
		{path, "secret-of-bob", `"` + d.body() + `"`, 400},
		{path, "secret-of-bob", `{"id": "h6", "kind": "chat", "payload": {"message": "` + strings.Repeat(d.body(), 100) + `"}}`, 413},
		{path, "secret-of-nobody", chat("h7"), 401},
		{path, "", chat("h8"), 401},
		{"/api/spaces/office/envelopes", "secret-of-bob", chat("h9"), 403},
		{"/api/spaces/nowhere/envelopes", "secret-of-bob", chat("h10"), 404},
		{path + "?token=secret-of-bob", "", chat("h11"), 401},
	} {
		if status := d.post(c.path, c.token, c.body); status != c.status {
			d.t.Errorf("POST %s %.80s: %d, want %d", c.path, c.body, status, c.status)
		}
	}
}

// reloads applies a configuration in which bob has another token.
func (d *discreet) reloads(bob *websocket.Conn) {
	d.gw.Reload(parseConfig(d.t, strings.ReplaceAll(discreetConfig, "secret-of-bob", "secret-of-new")))
	d.ends(bob)
	if _, status := d.dial("?space=lab", bearer("secret-of-bob")); status != http.StatusUnauthorized {
		d.t.Errorf("the old token: %d", status)
	}
	ws, status := d.dial("?space=lab", bearer("secret-of-new"))
	if ws == nil {
		d.t.Fatalf("the new token: %d", status)
	}
}

func (d *discreet) get(path string) string {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, "http://"+d.addr+path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	resp, err := d.http.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
	}
	return string(body)
}
