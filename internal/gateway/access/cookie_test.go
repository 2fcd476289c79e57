package access_test

import (
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
)

const cookieToken = "meup_secret-of-alice"

func cookieOf(token string) string {
	return access.SessionCookie + "=" + base64.RawURLEncoding.EncodeToString([]byte(token))
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
	cookie := "Cookie: " + cookieOf(cookieToken)
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
		"two cookies":                          {"GET", false, []string{cookie, "Cookie: " + cookieOf("another")}, false},
		"two cookies in one header":            {"GET", false, []string{cookie + "; " + cookieOf("another")}, false},
		"a cookie in clear":                    {"GET", false, []string{"Cookie: " + access.SessionCookie + "=" + "not/base64"}, false},
		"a cookie that is no token":            {"GET", false, []string{"Cookie: " + cookieOf("two words")}, false},
		"an empty cookie":                      {"GET", false, []string{"Cookie: " + access.SessionCookie + "="}, false},
		"another cookie":                       {"GET", false, []string{"Cookie: other" + cookieOf(cookieToken)}, false},
		"no cookie":                            {"GET", false, nil, false},
		"a fault in the header beside it":      {"GET", false, []string{cookie, "Authorization: Basic eA"}, false},
		"a fault in the subprotocol beside it": {"GET", false, []string{cookie, own, upgrade, "Sec-WebSocket-Protocol: meup.v0.1, bearer.%"}, false},
	} {
		token, fromCookie, err := access.Token(asked(t, c.method, c.encrypted, c.headers...))
		switch {
		case c.want && (err != nil || token != cookieToken || !fromCookie):
			t.Errorf("%s: %q, %v, %v", name, token, fromCookie, err)
		case !c.want && (err == nil || token != ""):
			t.Errorf("%s: %q", name, token)
		}
		if err != nil && strings.Contains(err.Error(), cookieToken) {
			t.Errorf("%s: the error repeats the token: %v", name, err)
		}
	}
}

// A token in the request takes precedence over the cookie.
func TestToken_RequestBeforeCookie(t *testing.T) {
	cookie := "Cookie: " + cookieOf(cookieToken)
	for _, own := range []string{
		"Authorization: Bearer mine", "Sec-WebSocket-Protocol: meup.v0.1, bearer." + base64.RawURLEncoding.EncodeToString([]byte("mine")),
	} {
		token, fromCookie, err := access.Token(asked(t, "GET", false, cookie, own))
		if token != "mine" || fromCookie || err != nil {
			t.Errorf("%s: %q, %v, %v", own, token, fromCookie, err)
		}
	}
}

func TestSetSession(t *testing.T) {
	const own = "Origin: http://gw.example.org:8080"
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
		if !access.SetSession(w, r, cookieToken, c.age) {
			t.Fatal("not set")
		}
		got := w.Result().Cookies()[0]
		if got.Name != "meup_session" || got.Path != "/" || got.Domain != "" || !got.HttpOnly ||
			got.SameSite != http.SameSiteStrictMode || got.Secure != c.secure || got.MaxAge != int(c.age.Seconds()) {
			t.Errorf("%+v: %s", c, got)
		}
		again := asked(t, "GET", c.encrypted, "Cookie: "+got.Name+"="+got.Value)
		if token, _, err := access.Token(again); token != cookieToken || err != nil {
			t.Errorf("%+v: comes back as %q, %v", c, token, err)
		}
	}
	w := httptest.NewRecorder()
	access.EndSession(w, asked(t, "DELETE", false, own))
	if got := w.Result().Cookies()[0]; got.MaxAge >= 0 || got.Value != "" || got.Path != "/" || got.Name != access.SessionCookie {
		t.Errorf("taken back: %s", got)
	}
	w = httptest.NewRecorder()
	if access.SetSession(w, asked(t, "POST", false, own), strings.Repeat("x", 4000), 0) || len(w.Result().Cookies()) > 0 {
		t.Error("a cookie that no browser keeps was set")
	}
}

// FuzzToken checks that any request yields a token or an error that repeats
// nothing of it, and that no page of another origin can use the cookie.
func FuzzToken(f *testing.F) {
	f.Add("POST", cookieOf(cookieToken), "http://gw.example.org:8080", "same-origin", "")
	f.Add("GET", cookieOf("x")+"; a=b", "", "", "websocket")
	f.Add("GET", "meup_session=%%%", "null", "none", "WebSocket, x")
	f.Fuzz(func(t *testing.T, method, cookie, origin, site, upgrade string) {
		r := asked(t, "GET", false)
		r.Method = method
		for name, value := range map[string]string{"Cookie": cookie, "Origin": origin, "Sec-Fetch-Site": site, "Upgrade": upgrade} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		token, _, err := access.Token(r)
		if err != nil {
			return
		}
		foreign := origin != "" && !strings.EqualFold(origin, "http://gw.example.org:8080") && !strings.EqualFold(origin, "https://gw.example.org:8080")
		if token == "" || foreign {
			t.Errorf("%s with %q from %q: %q", method, cookie, origin, token)
		}
	})
}
