package access

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// SessionCookie is the cookie of a browser whose user has signed in. Decision 0026.
const SessionCookie = "meup_session"

const (
	// maxCookieBytes is the size limit of browsers for one cookie, less its name
	// and attributes.
	maxCookieBytes = 3800

	sessionIDBytes                = 16
	kindSignedOut   protocol.Kind = "system/signed_out"
	signedOutPrefix               = "signed-out-"
	// clockSlack is how much longer than the session the log has its end: the clock of a
	// gateway may be behind.
	clockSlack = time.Hour
)

// Sessions makes the cookies of browsers and reads them. A cookie is the random id of
// a session, its end and the token that its user has signed in with, encrypted under
// the secret of the log: all gateways of a log accept it, and nothing but a gateway
// reads the token. The log has the sessions that were ended. The methods may be called
// concurrently.
type Sessions struct {
	Secret *Secret
	// SignOuts bounds the sessions that an address ends by signing out, and SignIns those
	// that it replaces by signing in again; nil: unlimited.
	SignOuts, SignIns Attempts
}

// Credentials authenticate the sender of a request.
type Credentials struct {
	Token string
	// Cookie is set if the gateway's own page sent a session cookie, valid or not,
	// and no token.
	Cookie bool
	// Session is the id of the session of the cookie, and Expires is its end.
	Session string
	Expires time.Time
}

// Start sets the cookie of a new session for a token, which the caller has
// authenticated, and ends the session of the request's cookie, if it has one. The session
// ends at a time. A cookie that ends with the browser has no age. Errors contain a
// *protocol.Error.
func (s *Sessions) Start(w http.ResponseWriter, r *http.Request, token string, ends time.Time, age time.Duration) error {
	id := make([]byte, sessionIDBytes)
	rand.Read(id)
	plain := binary.BigEndian.AppendUint64(id, uint64(max(ends.Unix(), 0)))
	aead, err := s.aead(r.Context())
	if err != nil {
		return LogUnavailable(err)
	}
	value := base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, append(plain, token...), nil)) //nolint:gosec // the nonce is random
	if len(value) > maxCookieBytes {
		return BadRequest("The token is too long for a browser's cookie; use a shorter one.")
	}
	if err := s.end(r, s.SignIns); err != nil { // the browser forgets its cookie
		return err
	}
	setCookie(w, r, value, int(age.Seconds()))
	return nil
}

// End ends the session of the request's cookie, if it has one, at all gateways. Errors
// contain a *protocol.Error; then the session goes on.
func (s *Sessions) End(r *http.Request) error { return s.end(r, s.SignOuts) }

func (s *Sessions) end(r *http.Request, bound Attempts) error {
	c, err := s.decrypt(r, time.Now())
	if err != nil || c.Session == "" {
		return err
	}
	if bound != nil {
		now, addr := time.Now(), Address(r)
		if ok, wait := bound.Allowed(now, addr); !ok {
			err := protocol.Errorf(protocol.CodeTooMany, "Too many sessions were ended from your address; try again in a moment.")
			err.RetryAfterMS = max(wait.Milliseconds(), 1)
			return err
		}
		bound.Failed(now, addr)
	}
	e, err := protocol.FromGateway(protocol.ID(signedOutPrefix+c.Session), kindSignedOut, c.Expires.Add(clockSlack), struct{}{})
	if err != nil {
		return LogUnavailable(err)
	}
	if err := record(r.Context(), s.Secret.Journal, journal.Draft{Envelope: e}); err != nil {
		return LogUnavailable(err)
	}
	return nil
}

// Ended reports whether a session was ended.
func (s *Sessions) Ended(ctx context.Context, id string) (bool, error) {
	_, err := s.Secret.Journal.Lookup(ctx, journal.GatewayLog, protocol.ID(signedOutPrefix+id))
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// decrypt returns the session of the request's cookie, and zero Credentials if there is
// none, or one that has ended. Error: unavailable.
func (s *Sessions) decrypt(r *http.Request, now time.Time) (Credentials, error) {
	cookies := r.CookiesNamed(SessionCookie)
	// A server on another port of this host can add a cookie of this name. Two
	// such cookies cannot be distinguished.
	if len(cookies) != 1 {
		return Credentials{}, nil
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cookies[0].Value)
	if err != nil {
		return Credentials{}, nil //nolint:nilerr // no cookie of a gateway
	}
	aead, err := s.aead(r.Context())
	if err != nil {
		return Credentials{}, LogUnavailable(err)
	}
	plain, err := aead.Open(nil, nil, sealed, nil)
	if err != nil || len(plain) < sessionIDBytes+8 {
		return Credentials{}, nil //nolint:nilerr // of another gateway, or forged
	}
	id, rest := hex.EncodeToString(plain[:sessionIDBytes]), plain[sessionIDBytes:]
	c := Credentials{Token: string(rest[8:]), Session: id, Expires: time.Unix(int64(binary.BigEndian.Uint64(rest)), 0)}
	if !now.Before(c.Expires) {
		return Credentials{}, nil
	}
	switch ended, err := s.Ended(r.Context(), id); {
	case err != nil:
		return Credentials{}, LogUnavailable(err)
	case ended:
		return Credentials{}, nil
	}
	return c, nil
}

// aead returns the encryption of cookies, whose nonces are random.
func (s *Sessions) aead(ctx context.Context) (cipher.AEAD, error) {
	key, err := s.Secret.Key(ctx, SessionCookie)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Credentials returns the token of a request: from the header or the subprotocol, as
// [TokenFromRequest] does, or else from the session cookie. Errors contain a *protocol.Error.
//
// A browser sends cookies with requests of any page. Therefore the cookie
// counts only if the browser's headers show that the gateway's own page made
// the request. It never counts for a page of another origin, even if the
// operator listed it: such a page must send its own token.
func (d *Admission) Credentials(r *http.Request) (Credentials, error) {
	token, _, err := TokenFromRequest(r)
	if err == nil {
		return Credentials{Token: token}, nil
	}
	missing := unauthorized("Send a token: Authorization: Bearer TOKEN.")
	if !errors.Is(err, ErrNoToken) || d.Sessions == nil || len(r.CookiesNamed(SessionCookie)) == 0 || !fromOwnPage(r) {
		return Credentials{}, missing
	}
	c, err := d.Sessions.decrypt(r, time.Now())
	c.Cookie = true
	if err == nil && c.Session == "" {
		err = missing
	}
	return c, err
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

// ClearSession deletes the cookie.
func ClearSession(w http.ResponseWriter, r *http.Request) { setCookie(w, r, "", -1) }

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
