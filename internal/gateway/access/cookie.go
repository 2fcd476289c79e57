package access

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/auth"
)

// SessionCookie is the cookie in which a browser keeps the token that its user
// has signed in with. Decision 0026.
const SessionCookie = "meup_session"

// maxCookieBytes is the size limit of browsers for one cookie, less its name
// and attributes.
const maxCookieBytes = 3800

// Token returns the token of a request: from the header or the subprotocol, as
// [auth.FromRequest] does, or else from the session cookie.
//
// A browser sends cookies with requests of any page. Therefore the cookie
// counts only if the browser's headers show that the gateway's own page made
// the request. It never counts for a page of another origin, even if the
// operator listed it: such a page must send its own token.
func Token(r *http.Request) (token string, fromCookie bool, err error) {
	token, _, err = auth.FromRequest(r)
	if err == nil || !errors.Is(err, auth.ErrNoToken) {
		return token, false, err
	}
	cookies := r.CookiesNamed(SessionCookie)
	// A server on another port of this host can add a cookie of this name. Two
	// such cookies cannot be distinguished.
	if len(cookies) != 1 || !fromOwnPage(r) {
		return "", false, err
	}
	decoded, decodeErr := base64.RawURLEncoding.Strict().DecodeString(cookies[0].Value)
	if decodeErr != nil || !auth.ValidToken(string(decoded)) {
		return "", false, err
	}
	return string(decoded), true, nil
}

// fromOwnPage reports whether a browser's request comes from the gateway's own
// page. Requests that change something, and upgrades, always have an Origin
// header. Others may have none; then Sec-Fetch-Site decides, which browsers
// omit if the page was loaded unencrypted from another machine. A request
// without both headers changes nothing, and a foreign page cannot read its
// response.
func fromOwnPage(r *http.Request) bool {
	upgrade := HasToken(r.Header["Upgrade"], "websocket")
	if !upgrade && !FetchedFromHere(r) {
		return false
	}
	if len(r.Header["Origin"]) == 0 {
		return !upgrade && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	}
	return OwnOrigin(r)
}

// FetchedFromHere reports whether Sec-Fetch-Site is absent or same-origin.
func FetchedFromHere(r *http.Request) bool {
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" {
			return false
		}
	}
	return true
}

// OwnOrigin reports whether the request has the gateway's own origin. Since a
// proxy may terminate TLS, a request without TLS matches either scheme.
func OwnOrigin(r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) != 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && r.TLS == nil
}

// SetSession sets the cookie to a token, which the caller has authenticated. If
// age is 0, the cookie ends with the browser. It reports whether the token fits
// into a cookie.
func SetSession(w http.ResponseWriter, r *http.Request, token string, age time.Duration) bool {
	value := base64.RawURLEncoding.EncodeToString([]byte(token))
	if len(value) > maxCookieBytes {
		return false
	}
	setCookie(w, r, value, int(age.Seconds()))
	return true
}

// EndSession deletes the cookie.
func EndSession(w http.ResponseWriter, r *http.Request) { setCookie(w, r, "", -1) }

// setCookie sets the cookie with a lifetime in seconds: 0 ends it with the
// browser, a negative one deletes it. An https origin shows that a proxy
// terminates TLS.
func setCookie(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	encrypted := r.TLS != nil || OwnOrigin(r) && strings.HasPrefix(r.Header.Get("Origin"), "https:")
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // where nothing is encrypted, a secure cookie would not come back
		Name: SessionCookie, Value: value, MaxAge: seconds,
		Path: "/", HttpOnly: true, Secure: encrypted, SameSite: http.SameSiteStrictMode,
	})
}
