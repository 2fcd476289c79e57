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

// maxCookieBytes is what browsers keep of one cookie, less its name and
// attributes.
const maxCookieBytes = 3800

// Token takes the token out of a request: of the header or the subprotocol, as
// [auth.FromRequest] does, and where there is neither, of the session cookie.
//
// A browser sends cookies along whoever makes it ask. So the cookie counts only
// where the browser says that the gateway's own page asks. It never counts for
// a page of another origin, one that the operator listed among them: such a
// page brings its own token.
func Token(r *http.Request) (token string, fromCookie bool, err error) {
	token, _, err = auth.FromRequest(r)
	if err == nil || !errors.Is(err, auth.ErrNoToken) {
		return token, false, err
	}
	cookies := r.CookiesNamed(SessionCookie)
	// Whoever serves another port of this host can add a cookie of this name.
	// Which of two is ours cannot be told.
	if len(cookies) != 1 || !fromOwnPage(r) {
		return "", false, err
	}
	decoded, decodeErr := base64.RawURLEncoding.Strict().DecodeString(cookies[0].Value)
	if decodeErr != nil || !auth.ValidToken(string(decoded)) {
		return "", false, err
	}
	return string(decoded), true, nil
}

// fromOwnPage reports whether a browser says of a request that it comes from the
// gateway's own page. Requests that change something, and upgrades, always
// carry an origin. Others may not; then Sec-Fetch-Site decides, which browsers
// leave out where the page came unencrypted from another machine. What is asked
// for without either changes nothing, and the page that asked cannot read it.
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

// FetchedFromHere reports whether the browser does not say that a page of
// another origin makes it ask.
func FetchedFromHere(r *http.Request) bool {
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" {
			return false
		}
	}
	return true
}

// OwnOrigin reports whether the request carries the gateway's own origin. A
// proxy may have taken the encryption off, so without it here the page may be
// of either scheme.
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

// SetSession gives the browser the cookie of a token, which the caller has
// found good. Without an age it ends with the browser. It reports whether the
// token fits into a cookie.
func SetSession(w http.ResponseWriter, r *http.Request, token string, age time.Duration) bool {
	value := base64.RawURLEncoding.EncodeToString([]byte(token))
	if len(value) > maxCookieBytes {
		return false
	}
	setCookie(w, r, value, int(age.Seconds()))
	return true
}

// EndSession takes the cookie away from the browser.
func EndSession(w http.ResponseWriter, r *http.Request) { setCookie(w, r, "", -1) }

// setCookie sets the cookie for so many seconds: 0 until the browser is closed,
// less than that takes it away. The page's origin tells of an encryption that a
// proxy has taken off.
func setCookie(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	encrypted := r.TLS != nil || OwnOrigin(r) && strings.HasPrefix(r.Header.Get("Origin"), "https:")
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // where nothing is encrypted, a secure cookie would not come back
		Name: SessionCookie, Value: value, MaxAge: seconds,
		Path: "/", HttpOnly: true, Secure: encrypted, SameSite: http.SameSiteStrictMode,
	})
}
