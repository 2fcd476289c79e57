package gateway_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const sessionConfig = `
origins: ["https://ui.example.org"]
login_failures: {burst: 5, refill: 1h}
spaces:
  lab:
    participants:
      alice: {token: alice-secret-token, capabilities: ["*"]}
      bob: {token: bob-secret-token, capabilities: [chat]}
  attic:
    participants:
      eve: {token: alice-secret-token, capabilities: ["*"]}
  "team-*":
    participants:
      bob: {token: bob-secret-token, capabilities: [chat]}
  team-secret:
    participants:
      carol: {token: carol-secret-token, capabilities: ["*"]}
`

// browser sends requests as a browser does, with the cookies that it received.
type browser struct {
	t    *testing.T
	g    *meuptest.Gateway
	log  *testkit.Log
	said *bytes.Buffer // all response bodies and headers
	jar  map[string]*http.Cookie
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{t: t, log: new(testkit.Log), said: &bytes.Buffer{}, jar: make(map[string]*http.Cookie)}
	page := fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>page")}, "assets/main-ABCDEF23.js": {Data: []byte("run()")},
	}
	b.g = meuptest.Start(t, sessionConfig, func(o *gateway.Options) {
		o.Page, o.Logger = page, slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	return b
}

// own returns the headers that the gateway's own page sends.
func (b *browser) own(more ...string) http.Header {
	h := http.Header{"Origin": {b.g.HTTP()}, "Sec-Fetch-Site": {"same-origin"}}
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

// do sends a request, keeps the cookies, and returns the response and its body.
func (b *browser) do(method, path, body string, header http.Header) (*http.Response, string) {
	b.t.Helper()
	ctx := testkit.Deadline(b.t) // an event stream that must not start
	req, err := http.NewRequestWithContext(ctx, method, b.g.HTTP()+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	for _, c := range b.jar {
		req.AddCookie(c)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.said.Write(content)
	for _, c := range resp.Cookies() {
		b.jar[c.Name] = c
		if c.MaxAge < 0 {
			delete(b.jar, c.Name)
		}
	}
	return resp, strings.TrimSpace(string(content))
}

// expect calls do, again while the log is not available, as that of a cluster may be for a moment,
// and checks the status and the body; an empty body is not checked.
func (b *browser) expect(status int, want, method, path, body string, header http.Header) *http.Response {
	b.t.Helper()
	var resp *http.Response
	var got string
	testkit.Eventually(b.t, "the log is available", func() bool {
		resp, got = b.do(method, path, body, header)
		return resp.StatusCode != http.StatusServiceUnavailable
	})
	if resp.StatusCode != status || want != "" && !strings.Contains(got, want) {
		b.t.Errorf("%s %s %s: %d %s, want %d %s", method, path, body, resp.StatusCode, got, status, want)
	}
	return resp
}

// dial connects to a space and returns the error, if any.
func (b *browser) dial(path string, header http.Header) error {
	for _, c := range b.jar {
		header.Add("Cookie", c.Name+"="+c.Value)
	}
	conn, resp, err := websocket.Dial(b.t.Context(), "ws://"+b.g.Addr()+path, &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{"meup.v0.1"}})
	if err != nil {
		return err
	}
	_ = resp
	_, frame, err := conn.Read(b.t.Context())
	b.said.Write(frame)
	_ = conn.CloseNow()
	return err
}

// quiet checks that no token was written anywhere.
func (b *browser) quiet(secrets ...string) {
	b.t.Helper()
	for _, secret := range append(secrets, "alice-secret-token", "bob-secret-token", "guessed-token") {
		for _, spelt := range []string{secret, base64.RawURLEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(b.log.String(), spelt) {
				b.t.Errorf("the log holds %q", spelt)
			}
			if strings.Contains(b.said.String(), spelt) {
				b.t.Errorf("an answer holds %q", spelt)
			}
		}
	}
}

const signIn = `{"token": "alice-secret-token"}`

func TestSession(t *testing.T) {
	b := newBrowser(t)
	b.expect(401, `"unauthorized"`, "GET", "/api/session", "", b.own())
	const alice = `{"spaces":[{"name":"attic","participant":"eve"},{"name":"lab","participant":"alice"}]}`
	resp := b.expect(200, alice, "POST", "/api/session", signIn, b.own())
	if resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control %q", resp.Header.Get("Cache-Control"))
	}
	cookie := b.jar["meup_session"]
	if cookie == nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Secure || cookie.MaxAge != 0 {
		t.Fatalf("cookie %v", cookie)
	}
	b.expect(200, alice, "GET", "/api/session", "", b.own())
	b.expect(200, `{"spaces":[{"name":"attic","seq":0},{"name":"lab","seq":0}]}`, "GET", "/api/spaces", "", b.own())
	b.expect(200, `"seq":1`, "POST", "/api/spaces/lab/envelopes", `{"kind": "chat", "payload": {"message": "hello"}}`, b.own())
	b.expect(200, `"hello"`, "GET", "/api/spaces/lab/envelopes", "", http.Header{"Sec-Fetch-Site": {"same-origin"}})
	if err := b.dial("/ws?space=lab", b.own()); err != nil {
		t.Errorf("connect: %v", err)
	}
	b.g.Restart()
	b.expect(200, alice, "GET", "/api/session", "", b.own())
	bearer := http.Header{"Authorization": {"Bearer " + cookie.Value}}
	b.expect(401, "", "GET", "/api/spaces", "", bearer)
	if resp := b.expect(204, "", "DELETE", "/api/session", "", b.own()); len(resp.Cookies()) != 1 {
		t.Errorf("signed out with %v", resp.Header)
	}
	b.expect(401, "", "GET", "/api/session", "", b.own())
	b.expect(405, "", "PUT", "/api/session", "", b.own())
	b.quiet()
}

func TestSessionOfOne(t *testing.T) {
	b := newBrowser(t)
	const bob = `"participant":"bob"`
	b.expect(200, `{"participant":"bob","spaces":[{"name":"lab","participant":"bob"}],"globs":["team-*"]}`, "POST", "/api/session", `{"token": "bob-secret-token"}`, b.own())
	b.expect(200, `{"name":"team-red","participant":"bob"}`, "POST", "/api/session", `{"token": "bob-secret-token", "space": "team-red"}`, b.own())
	b.expect(403, `"forbidden"`, "POST", "/api/session", `{"token": "bob-secret-token", "space": "attic"}`, b.own())
	b.expect(404, `"not_found"`, "POST", "/api/session", `{"token": "bob-secret-token", "space": "nowhere"}`, b.own())
	b.expect(200, bob, "POST", "/api/session", `{"token": "bob-secret-token", "remember": true}`, b.own())
	if age := b.jar["meup_session"].MaxAge; age != 30*24*60*60 {
		t.Errorf("remembered for %d s", age)
	}
	// A token in the request takes precedence.
	b.expect(200, `"eve"`, "GET", "/api/session", "", b.own("Authorization", "Bearer alice-secret-token"))
	b.expect(200, bob, "POST", "/api/session", `{"token": "bob-secret-token"}`, nil) // not a browser
	b.expect(200, bob, "POST", "/api/session", `{"token": "bob-secret-token"}`, http.Header{"Origin": {"https://" + b.g.Addr()}})
	if !b.jar["meup_session"].Secure {
		t.Error("behind a proxy with TLS, the cookie is not secure")
	}
	b.quiet()
}

// A glob does not reveal spaces that another pattern configures.
func TestSpaces_OfGlob(t *testing.T) {
	b := newBrowser(t)
	spaces := func(token, want string) {
		t.Helper()
		b.expect(200, want, "GET", "/api/spaces", "", http.Header{"Authorization": {"Bearer " + token}})
	}
	const message = `{"kind":"chat","payload":{"message":"x"}}`
	for space, token := range map[string]string{"team-red": "bob-secret-token", "team-secret": "carol-secret-token"} {
		b.expect(200, "", "POST", "/api/spaces/"+space+"/envelopes", message, http.Header{"Authorization": {"Bearer " + token}})
	}
	spaces("bob-secret-token", `{"spaces":[{"name":"lab","seq":0},{"name":"team-red","seq":1}]}`)
	spaces("carol-secret-token", `{"spaces":[{"name":"team-secret","seq":1}]}`)

	ctx := testkit.Deadline(t)
	ws, _, err := websocket.Dial(ctx, "ws://"+b.g.Addr()+"/ws?space=team-blue", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer bob-secret-token"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	if _, _, err := ws.Read(ctx); err != nil { // the welcome
		t.Fatal(err)
	}
	spaces("bob-secret-token", `{"name":"team-blue","seq":0},{"name":"team-red","seq":1}`)
	b.expect(200, `{"name":"team-blue","participant":"bob"}`, "POST", "/api/session", `{"token": "bob-secret-token"}`, b.own())
}

func TestSignInRefused(t *testing.T) {
	b := newBrowser(t)
	long := strings.Repeat("x", 30000)
	for body, status := range map[string]int{
		``: 400, `x`: 400, `[]`: 400, `{}`: 400, `{"token": ""}`: 400, `{"token": 7}`: 400, `{"token": "a b"}`: 400, `{"code": null}`: 400,
		`{"token": "guessed-token", "code": "x"}`: 400, `{"token": "guessed-token", "space": "a/b"}`: 400, `{"token": "guessed-token", "remember": 1}`: 400,
		`{"token": "guessed-token", "token": "guessed-token"}`: 400, `{"token": "` + long + `"}`: 413, `{"token": "` + long[:17000] + `"}`: 400,
	} {
		b.expect(status, "", "POST", "/api/session", body, b.own())
	}
	for _, status := range []int{401, 401, 401, 401, 401, 429} {
		resp := b.expect(status, "", "POST", "/api/session", `{"token": "guessed-token"}`, b.own())
		if status == 429 && resp.Header.Get("Retry-After") == "" {
			t.Error("no word of when to come back")
		}
	}
	b.expect(429, "", "POST", "/api/session", `{"code": "guessed-token"}`, b.own())
	if len(b.jar) > 0 {
		t.Errorf("cookies %v", b.jar)
	}
	b.expect(200, "", "POST", "/api/session", signIn, b.own()) // a valid token never waits for others
	b.quiet()
}

// Signing out ends the session for everybody who has the cookie: requests, and
// connections, also after a restart.
func TestSignOut_EndsTheSession(t *testing.T) {
	b := newBrowser(t)
	b.expect(200, "", "POST", "/api/session", signIn, b.own())
	stolen := http.Header{"Cookie": {"meup_session=" + b.jar["meup_session"].Value}, "Origin": {b.g.HTTP()}}
	conn, _, err := websocket.Dial(t.Context(), "ws://"+b.g.Addr()+"/ws?space=lab", &websocket.DialOptions{HTTPHeader: stolen})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	b.expect(204, "", "DELETE", "/api/session", "", b.own())
	for {
		_, _, err := conn.Read(testkit.Deadline(t))
		if err == nil {
			continue // the welcome
		}
		if websocket.CloseStatus(err) != websocket.StatusCode(protocol.CloseTokenExpired) {
			t.Errorf("the connection of the session ended with %v", err)
		}
		break
	}
	thief := *b
	thief.jar = nil
	thief.expect(401, "", "GET", "/api/spaces", "", stolen)
	b.expect(200, "", "POST", "/api/session", signIn, b.own()) // the next session is another one
	thief.expect(401, "", "GET", "/api/spaces", "", stolen)
	b.g.Restart()
	b.expect(200, "", "GET", "/api/spaces", "", b.own())
	thief.expect(401, "", "GET", "/api/spaces", "", stolen)
}

// Signing in again ends the session before, whose cookie the browser forgets.
func TestSignIn_EndsTheSessionBefore(t *testing.T) {
	b := newBrowser(t)
	b.expect(200, "", "POST", "/api/session", signIn, b.own())
	first := http.Header{"Cookie": {"meup_session=" + b.jar["meup_session"].Value}, "Origin": {b.g.HTTP()}}
	b.expect(200, "", "POST", "/api/session", `{"token": "bob-secret-token"}`, b.own())
	b.expect(200, `"bob"`, "GET", "/api/session", "", b.own())
	clear(b.jar)
	b.expect(401, "", "GET", "/api/spaces", "", first)
}

// A session is valid at all gateways of a log, and ends at all of them.
func TestSession_TwoGateways(t *testing.T) {
	on := onNATS(t, sessionConfig)
	here := &browser{t: t, said: &bytes.Buffer{}, jar: make(map[string]*http.Cookie), g: meuptest.Start(t, on)}
	there := &browser{t: t, said: &bytes.Buffer{}, jar: here.jar, g: meuptest.Start(t, on)}
	here.expect(200, "", "POST", "/api/session", signIn, here.own())
	there.expect(200, `"alice"`, "GET", "/api/session", "", there.own())
	stolen := http.Header{"Cookie": {"meup_session=" + here.jar["meup_session"].Value}, "Origin": {there.g.HTTP()}}
	conn, _, err := websocket.Dial(t.Context(), "ws://"+there.g.Addr()+"/ws?space=lab", &websocket.DialOptions{HTTPHeader: stolen})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	here.expect(204, "", "DELETE", "/api/session", "", here.own())
	for err == nil {
		_, _, err = conn.Read(testkit.Deadline(t))
	}
	if websocket.CloseStatus(err) != websocket.StatusCode(protocol.CloseTokenExpired) {
		t.Errorf("the connection of the session at the other gateway ended with %v", err)
	}
	there.expect(401, "", "GET", "/api/spaces", "", stolen)
}

// The gateway clears a cookie whose token has become invalid.
func TestSessionEnds(t *testing.T) {
	b := newBrowser(t)
	b.expect(200, "", "POST", "/api/session", signIn, b.own())
	b.g.Reload(strings.ReplaceAll(sessionConfig, "alice-secret-token", rand.Text()))
	b.expect(401, "", "GET", "/api/spaces", "", b.own())
	if b.jar["meup_session"] == nil {
		t.Error("the cookie is gone before the page has asked")
	}
	b.expect(401, "", "GET", "/api/session", "", b.own())
	if b.jar["meup_session"] != nil {
		t.Error("the cookie is kept")
	}
}

// Only the gateway's own page can use the cookie, regardless of the request and
// even if the operator lists its origin.
func TestForeignPages(t *testing.T) {
	b := newBrowser(t)
	b.expect(200, "", "POST", "/api/session", signIn, b.own())
	const chat = `{"kind": "chat", "payload": {"message": "forged"}}`
	for _, origin := range []string{"https://ui.example.org", "https://evil.example", "null", "http://127.0.0.1:1", "http://localhost" + b.g.Addr()[strings.LastIndex(b.g.Addr(), ":"):]} {
		for _, site := range []string{"cross-site", "same-site", "same-origin", ""} {
			h := http.Header{"Origin": {origin}}
			if site != "" {
				h.Set("Sec-Fetch-Site", site)
			}
			for _, c := range []struct{ method, path, body string }{
				{"POST", "/api/spaces/lab/envelopes", chat}, {"GET", "/api/spaces/lab/envelopes", ""}, {"GET", "/api/session", ""}, {"GET", "/api/spaces", ""},
				{"GET", "/api/spaces/lab/events", ""}, {"POST", "/api/session", `{"token": "bob-secret-token"}`}, {"DELETE", "/api/session", ""},
			} {
				if resp, body := b.do(c.method, c.path, c.body, h.Clone()); resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
					t.Errorf("%s (%s): %s %s: %d %s", origin, site, c.method, c.path, resp.StatusCode, body)
				}
			}
			if err := b.dial("/ws?space=lab", h.Clone()); err == nil {
				t.Errorf("%s (%s) connects", origin, site)
			}
		}
	}
	// A missing header grants nothing.
	b.expect(401, "", "POST", "/api/spaces/lab/envelopes", chat, nil)
	b.expect(401, "", "POST", "/api/spaces/lab/envelopes", chat, http.Header{"Sec-Fetch-Site": {"same-origin"}})
	b.expect(401, "", "GET", "/api/spaces/lab/envelopes", "", http.Header{"Sec-Fetch-Site": {"cross-site"}})
	b.expect(403, "", "DELETE", "/api/session", "", http.Header{"Sec-Fetch-Site": {"same-site"}})
	if err := b.dial("/ws?space=lab", http.Header{}); err == nil {
		t.Error("connects without an origin")
	}
	// The operator's listed page works with its own token.
	resp := b.expect(200, "", "GET", "/api/spaces", "", http.Header{"Origin": {"https://ui.example.org"}, "Authorization": {"Bearer bob-secret-token"}})
	if resp.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("pages of other origins may send cookies")
	}
	if b.jar["meup_session"] == nil {
		t.Error("a foreign page has signed alice out")
	}
	_, log := b.do("GET", "/api/spaces/lab/envelopes", "", b.own())
	if !strings.Contains(log, `"envelopes":[]`) {
		t.Errorf("forged: %s", log)
	}
	b.quiet()
}

func TestLoginCode(t *testing.T) {
	b := newBrowser(t)
	code := b.g.Gateway().NewLoginCode("alice-secret-token")
	body, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	b.expect(403, "", "POST", "/api/session", string(body), http.Header{"Origin": {"https://ui.example.org"}}) // does not use it up
	b.expect(200, `"alice"`, "POST", "/api/session", string(body), b.own())
	b.expect(200, `"alice"`, "GET", "/api/session", "", b.own())
	b.expect(401, `sign in with a token`, "POST", "/api/session", string(body), b.own())
	b.quiet(code)
}

// The page does not shadow the API.
func TestPage_DoesNotShadowAPI(t *testing.T) {
	b := newBrowser(t)
	resp := b.expect(200, "page", "GET", "/", "", nil)
	if !strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("headers %v", resp.Header)
	}
	b.expect(200, "run()", "GET", "/assets/main-ABCDEF23.js", "", nil)
	b.expect(200, "", "HEAD", "/", "", nil)
	b.expect(404, `"not_found"`, "GET", "/assets/main-OTHER234.js", "", nil)
	b.expect(404, `"not_found"`, "GET", "/assets", "", nil)
	b.expect(404, `"not_found"`, "GET", "/assets/", "", nil)
	b.expect(404, `"not_found"`, "GET", "/index.html", "", nil)
	if resp := b.expect(405, "", "POST", "/", "", nil); resp.Header.Get("Allow") != "GET" {
		t.Errorf("Allow %q", resp.Header.Get("Allow"))
	}
	b.quiet()
}

// A client of MEW upgrades on any path, even on one that serves other content.
func TestUpgrade_AnyPath(t *testing.T) {
	b := newBrowser(t)
	for _, path := range []string{
		"/", "/assets/main-ABCDEF23.js", "/anything", "/ws", "/healthz", "/readyz", "/metrics", "/version",
		"/api/spaces", "/api/session", "/api/spaces/lab/envelopes", "/api/chat/history",
	} {
		t.Run(path, func(t *testing.T) {
			conn, _, err := websocket.Dial(t.Context(), "ws://"+b.g.Addr()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseNow()
			join := `{"type": "join", "space": "lab", "participantId": "bob", "token": "bob-secret-token"}`
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(join)); err != nil {
				t.Fatal(err)
			}
			if _, frame, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(frame), "system/welcome") {
				t.Errorf("join: %s, %v", frame, err)
			}
		})
	}
	b.quiet()
}

// Over TLS the cookie is never sent in clear, and a page loaded in clear has
// another origin.
func TestSessionOverTLS(t *testing.T) {
	b := newBrowser(t)
	s := httptest.NewTLSServer(b.g.Gateway())
	defer s.Close()
	for origin, status := range map[string]int{s.URL: http.StatusOK, strings.Replace(s.URL, "https:", "http:", 1): http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/session", strings.NewReader(signIn))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", origin)
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("from %s: %s", origin, resp.Status)
		}
		if status == http.StatusOK && (len(resp.Cookies()) != 1 || !resp.Cookies()[0].Secure || !resp.Cookies()[0].HttpOnly) {
			t.Errorf("cookies %v", resp.Header["Set-Cookie"])
		}
	}
}
