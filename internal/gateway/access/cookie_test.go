package access_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

const cookieToken = "meup_secret-of-alice"

// newSessions returns an Admission that has only sessions, which a memory log keeps.
func newSessions() *access.Admission {
	secret := &access.Secret{Journal: journal.NewMemory(journal.MemoryOptions{})}
	return &access.Admission{Sessions: &access.Sessions{Secret: secret}}
}

// cookieOf signs in with a token, and returns the cookie as a browser sends it back.
func cookieOf(t testing.TB, s *access.Sessions, token string) string {
	t.Helper()
	w := httptest.NewRecorder()
	if err := s.Start(w, asked(t, "POST", false), token, time.Now().Add(time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	c := w.Result().Cookies()[0]
	return c.Name + "=" + c.Value
}

// asked returns a request with these headers to http://gw.example.org:8080, "…"
// being written as Name: value.
func asked(t testing.TB, method string, encrypted bool, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/api/spaces", http.NoBody)
	r.Host = "gw.example.org:8080"
	if encrypted {
		r.TLS = &tls.ConnectionState{}
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// The cookie counts for the gateway's own page only, for all headers that a page
// can make a browser send.
func TestTokenFromCookie(t *testing.T) {
	const (
		own     = "Origin: http://gw.example.org:8080"
		listed  = "Origin: https://ui.example.org"
		sibling = "Origin: http://gw.example.org:3000" // same site, other origin
		upgrade = "Upgrade: websocket"
	)
	d := newSessions()
	valid := cookieOf(t, d.Sessions, cookieToken)
	cookie, another := "Cookie: "+valid, cookieOf(t, d.Sessions, "another")
	for name, c := range map[string]struct {
		method    string
		encrypted bool
		headers   []string
		want      bool
	}{
		"own page reads":                          {"GET", false, []string{cookie, "Sec-Fetch-Site: same-origin"}, true},
		"own page reads, from an older browser":   {"GET", false, []string{cookie}, true},
		"own page looks":                          {"HEAD", false, []string{cookie}, true},
		"own page sends":                          {"POST", false, []string{cookie, own, "Sec-Fetch-Site: same-origin"}, true},
		"own page deletes":                        {"DELETE", false, []string{cookie, own}, true},
		"own page connects":                       {"GET", false, []string{cookie, own, upgrade}, true},
		"own page connects, with metadata":        {"GET", false, []string{cookie, own, upgrade, "Sec-Fetch-Site: same-origin"}, true},
		"behind a proxy that ends the encryption": {"POST", false, []string{cookie, "Origin: https://gw.example.org:8080"}, true},
		"encrypted":                               {"POST", true, []string{cookie, "Origin: https://gw.example.org:8080"}, true},

		"sends without an origin":              {"POST", false, []string{cookie}, false},
		"sends with metadata alone":            {"POST", false, []string{cookie, "Sec-Fetch-Site: same-origin"}, false},
		"connects without an origin":           {"GET", false, []string{cookie, upgrade}, false},
		"another site reads":                   {"GET", false, []string{cookie, "Sec-Fetch-Site: cross-site"}, false},
		"another site sends":                   {"POST", false, []string{cookie, "Origin: https://evil.example"}, false},
		"another site connects":                {"GET", false, []string{cookie, "Origin: https://evil.example", upgrade}, false},
		"a listed origin reads":                {"GET", false, []string{cookie, listed}, false},
		"a listed origin sends":                {"POST", false, []string{cookie, listed}, false},
		"a listed origin connects":             {"GET", false, []string{cookie, listed, upgrade}, false},
		"another port reads":                   {"GET", false, []string{cookie, "Sec-Fetch-Site: same-site"}, false},
		"another port sends":                   {"POST", false, []string{cookie, sibling}, false},
		"another port connects":                {"GET", false, []string{cookie, sibling, upgrade}, false},
		"a sandboxed page sends":               {"POST", false, []string{cookie, "Origin: null"}, false},
		"an address that somebody typed":       {"GET", false, []string{cookie, "Sec-Fetch-Site: none"}, false},
		"two origins":                          {"POST", false, []string{cookie, own, listed}, false},
		"two words of where from":              {"GET", false, []string{cookie, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"}, false},
		"own host, but not encrypted":          {"POST", true, []string{cookie, own}, false},
		"own host in another place":            {"POST", false, []string{cookie, "Origin: https://evil.example/gw.example.org:8080"}, false},
		"own host as a name":                   {"POST", false, []string{cookie, "Origin: http://gw.example.org:8080@evil.example"}, false},
		"another scheme":                       {"POST", false, []string{cookie, "Origin: ftp://gw.example.org:8080"}, false},
		"an extension":                         {"POST", false, []string{cookie, "Origin: chrome-extension://gw.example.org:8080"}, false},
		"two cookies":                          {"GET", false, []string{cookie, "Cookie: " + another}, false},
		"two cookies in one header":            {"GET", false, []string{cookie + "; " + another}, false},
		"a token in base64":                    {"GET", false, []string{"Cookie: " + access.SessionCookie + "=" + base64.RawURLEncoding.EncodeToString([]byte(cookieToken))}, false},
		"a cookie that is no base64":           {"GET", false, []string{"Cookie: " + access.SessionCookie + "=" + "not/base64"}, false},
		"a cookie of another log":              {"GET", false, []string{"Cookie: " + cookieOf(t, newSessions().Sessions, cookieToken)}, false},
		"a cookie that was changed":            {"GET", false, []string{cookie[:len(cookie)-4] + "AAAA"}, false},
		"an empty cookie":                      {"GET", false, []string{"Cookie: " + access.SessionCookie + "="}, false},
		"another cookie":                       {"GET", false, []string{"Cookie: other" + valid}, false},
		"no cookie":                            {"GET", false, nil, false},
		"a fault in the header beside it":      {"GET", false, []string{cookie, "Authorization: Basic eA"}, false},
		"a fault in the subprotocol beside it": {"GET", false, []string{cookie, own, upgrade, "Sec-WebSocket-Protocol: meup.v0.1, bearer.%"}, false},
	} {
		got, err := d.Credentials(asked(t, c.method, c.encrypted, c.headers...))
		switch {
		case c.want && (err != nil || got.Token != cookieToken || !got.Cookie || got.Session == ""):
			t.Errorf("%s: %+v, %v", name, got, err)
		case !c.want && (err == nil || got.Token != "" || got.Session != ""):
			t.Errorf("%s: %+v", name, got)
		}
		if err != nil && strings.Contains(err.Error(), cookieToken) {
			t.Errorf("%s: the error repeats the token: %v", name, err)
		}
	}
}

// A token in the request takes precedence over the cookie.
func TestToken_RequestBeforeCookie(t *testing.T) {
	d := newSessions()
	cookie := "Cookie: " + cookieOf(t, d.Sessions, cookieToken)
	for _, own := range []string{
		"Authorization: Bearer mine", "Sec-WebSocket-Protocol: meup.v0.1, bearer." + base64.RawURLEncoding.EncodeToString([]byte("mine")),
	} {
		got, err := d.Credentials(asked(t, "GET", false, cookie, own))
		if got != (access.Credentials{Token: "mine"}) || err != nil {
			t.Errorf("%s: %+v, %v", own, got, err)
		}
	}
}

func TestSessions_Start(t *testing.T) {
	const own = "Origin: http://gw.example.org:8080"
	d := newSessions()
	for _, c := range []struct {
		encrypted bool
		origin    string
		age       time.Duration
		secure    bool
	}{
		{false, own, 0, false},
		{false, "Origin: https://gw.example.org:8080", time.Hour, true}, // a proxy terminates TLS
		{false, "Origin: https://evil.example", 0, false},
		{true, "Origin: https://gw.example.org:8080", 0, true},
		{true, "", 0, true},
	} {
		w, r := httptest.NewRecorder(), asked(t, "POST", c.encrypted, c.origin)
		ends := time.Now().Add(time.Hour).Truncate(time.Second)
		if err := d.Sessions.Start(w, r, cookieToken, ends, c.age); err != nil {
			t.Fatal(err)
		}
		got := w.Result().Cookies()[0]
		if got.Name != "meup_session" || got.Path != "/" || got.Domain != "" || !got.HttpOnly ||
			got.SameSite != http.SameSiteStrictMode || got.Secure != c.secure || got.MaxAge != int(c.age.Seconds()) {
			t.Errorf("%+v: %s", c, got)
		}
		again := asked(t, "GET", c.encrypted, "Cookie: "+got.Name+"="+got.Value)
		if found, err := d.Credentials(again); found.Token != cookieToken || !found.Expires.Equal(ends) || err != nil {
			t.Errorf("%+v: comes back as %+v, %v", c, found, err)
		}
		if plain, err := base64.RawURLEncoding.DecodeString(got.Value); err != nil || bytes.Contains(plain, []byte(cookieToken)) {
			t.Errorf("the cookie shows the token: %q, %v", plain, err)
		}
	}
	w := httptest.NewRecorder()
	access.ClearSession(w, asked(t, "DELETE", false, own))
	if got := w.Result().Cookies()[0]; got.MaxAge >= 0 || got.Value != "" || got.Path != "/" || got.Name != access.SessionCookie {
		t.Errorf("taken back: %s", got)
	}
	w = httptest.NewRecorder()
	if err := d.Sessions.Start(w, asked(t, "POST", false, own), strings.Repeat("x", 4000), time.Now(), 0); err == nil || len(w.Result().Cookies()) > 0 {
		t.Error("a cookie that no browser keeps was set")
	}
}

// A session ends at its time, or when its user signs out, and no other one with it.
func TestSessions_End(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSessions()
		one, other := "Cookie: "+cookieOf(t, d.Sessions, cookieToken), "Cookie: "+cookieOf(t, d.Sessions, cookieToken)
		valid := func(cookie string) bool {
			t.Helper()
			c, err := d.Credentials(asked(t, "GET", false, cookie))
			if err != nil && protocol.AsError(err).Code != protocol.CodeUnauthorized {
				t.Error(err)
			}
			return c.Token != ""
		}
		for range 2 { // the second time it has ended
			if err := d.Sessions.End(asked(t, "DELETE", false, one)); err != nil {
				t.Fatal(err)
			}
			if valid(one) || !valid(other) {
				t.Errorf("after signing out: the session is valid: %v, another one: %v", valid(one), valid(other))
			}
		}
		again := &access.Admission{Sessions: &access.Sessions{Secret: &access.Secret{Journal: d.Sessions.Secret.Journal}}}
		if c, err := again.Credentials(asked(t, "GET", false, one)); err == nil {
			t.Errorf("at another gateway of the log, the session that ended is valid: %+v", c)
		}
		if c, err := again.Credentials(asked(t, "GET", false, other)); c.Token != cookieToken {
			t.Errorf("at another gateway of the log: %+v, %v", c, err)
		}
		time.Sleep(time.Hour)
		if valid(other) {
			t.Error("the session is valid at its end")
		}
	})
}

// The log has the end of a session only as long as the session would have lasted.
func TestSessions_EndedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSessions()
		log := d.Sessions.Secret.Journal
		entries := func() (n int) {
			t.Helper()
			for _, err := range log.Range(t.Context(), journal.GatewayLog, journal.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		out := func() {
			t.Helper()
			if err := d.Sessions.End(asked(t, "DELETE", false, "Cookie: "+cookieOf(t, d.Sessions, cookieToken))); err != nil {
				t.Fatal(err)
			}
		}
		out()
		time.Sleep(time.Hour)
		out()
		if n := entries(); n != 3 {
			t.Errorf("the log has %d entries, want the secret and both ends", n)
		}
		time.Sleep(2*time.Hour + time.Second)
		out()
		if n := entries(); n != 2 {
			t.Errorf("the log has %d entries, want the secret and the last end", n)
		}
	})
}

// Signing in replaces a session, and does not count as signing out.
func TestSessions_SignInReplaces(t *testing.T) {
	d := newSessions()
	once := limit.AttemptLimits{Failures: 1, Refill: time.Hour}
	d.Sessions.SignOuts, d.Sessions.SignIns = limit.NewAttempts(once), limit.NewAttempts(once)
	again := func(cookie string) *protocol.Error {
		r := asked(t, "POST", false, "Cookie: "+cookie)
		return protocol.AsError(d.Sessions.Start(httptest.NewRecorder(), r, cookieToken, time.Now().Add(time.Hour), 0))
	}
	first, second := cookieOf(t, d.Sessions, cookieToken), cookieOf(t, d.Sessions, cookieToken)
	if err := again(first); err != nil {
		t.Fatal(err)
	}
	if c, err := d.Credentials(asked(t, "GET", false, "Cookie: "+first)); err == nil {
		t.Errorf("the session that was replaced is valid: %+v", c)
	}
	if err := again(second); err == nil || err.Code != protocol.CodeTooMany {
		t.Errorf("another sign-in at once: %v, want too_many_requests", err)
	}
	if err := d.Sessions.End(asked(t, "DELETE", false, "Cookie: "+second)); err != nil {
		t.Errorf("signing out after sign-ins: %v", err)
	}
}

// The entries that an address makes by signing out are bounded.
func TestSessions_SignOutsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSessions()
		d.Sessions.SignOuts = limit.NewAttempts(limit.AttemptLimits{Failures: 1, Refill: time.Minute})
		out := func() *protocol.Error {
			r := asked(t, "DELETE", false, "Cookie: "+cookieOf(t, d.Sessions, cookieToken))
			r.RemoteAddr = "192.0.2.1:1"
			return protocol.AsError(d.Sessions.End(r))
		}
		if err := out(); err != nil {
			t.Fatal(err)
		}
		if err := out(); err == nil || err.Code != protocol.CodeTooMany || err.RetryAfterMS <= 0 {
			t.Errorf("the second one at once: %v, want too_many_requests", err)
		}
		time.Sleep(time.Minute)
		if err := out(); err != nil {
			t.Error(err)
		}
	})
}

// unreadable is a journal that cannot be read.
type unreadable struct{ journal.Journal }

func (unreadable) Lookup(context.Context, string, protocol.ID) (*journal.Entry, error) {
	return nil, journal.ErrUnavailable
}

// Without the log, a session is neither valid nor unknown.
func TestSessions_LogUnavailable(t *testing.T) {
	d := newSessions()
	cookie := "Cookie: " + cookieOf(t, d.Sessions, cookieToken)
	d.Sessions.Secret.Journal = unreadable{d.Sessions.Secret.Journal}
	c, err := d.Credentials(asked(t, "GET", false, cookie))
	if c.Token != "" || err == nil || protocol.AsError(err).Code != protocol.CodeUnavailable {
		t.Errorf("request: %+v, %v, want unavailable", c, err)
	}
	if err := d.Sessions.End(asked(t, "DELETE", false, cookie)); err == nil || protocol.AsError(err).Code != protocol.CodeUnavailable {
		t.Errorf("signing out: %v, want unavailable", err)
	}
}

// FuzzToken checks that any request yields a token or an error that repeats
// nothing of it, and that no page of another origin can use the cookie.
func FuzzToken(f *testing.F) {
	d := newSessions()
	f.Add("POST", cookieOf(f, d.Sessions, cookieToken), "http://gw.example.org:8080", "same-origin", "")
	f.Add("GET", cookieOf(f, d.Sessions, "x")+"; a=b", "", "", "websocket")
	f.Add("GET", "meup_session=%%%", "null", "none", "WebSocket, x")
	f.Fuzz(func(t *testing.T, method, cookie, origin, site, upgrade string) {
		r := asked(t, "GET", false)
		r.Method = method
		for name, value := range map[string]string{"Cookie": cookie, "Origin": origin, "Sec-Fetch-Site": site, "Upgrade": upgrade} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		c, err := d.Credentials(r)
		if err != nil {
			return
		}
		foreign := origin != "" && !strings.EqualFold(origin, "http://gw.example.org:8080") && !strings.EqualFold(origin, "https://gw.example.org:8080")
		if c.Token == "" || foreign {
			t.Errorf("%s with %q from %q: %+v", method, cookie, origin, c)
		}
	})
}
