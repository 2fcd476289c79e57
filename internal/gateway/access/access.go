// Package access controls admission to spaces, for WebSocket and HTTP alike.
//
// [TokenFromRequest] extracts the token of a request, a [TokenAuthenticator]
// authenticates it, and [Admission] authorizes it for the space that the request
// names and decides which error the peer receives. Section 4 of docs/protocol.md.
package access

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// Authenticator maps tokens to identities.
type Authenticator interface {
	Authenticate(ctx context.Context, space, token string, now time.Time) (Identity, error)
	// Recheck returns an error if the identity would not be authenticated now.
	Recheck(id Identity, now time.Time) error
}

// Attempts bounds failed logins by address.
type Attempts interface {
	Allowed(now time.Time, addr netip.Addr) (ok bool, retryAfter time.Duration)
	Failed(now time.Time, addr netip.Addr)
}

// Admission decides which identity may enter which space.
type Admission struct {
	Hub      *space.Hub
	Auth     Authenticator
	Attempts Attempts // nil: unlimited
	// Spaces lists the names and globs of the spaces that a token is valid for.
	// The errors are those of Authenticate.
	Spaces func(ctx context.Context, token string, now time.Time) ([]string, error)
	// Codes are the login codes for browsers; nil: none.
	Codes *LoginCodes
	// Sessions are the sign-ins of browsers; nil: none.
	Sessions *Sessions
	// Ready returns why no participant can be admitted now; nil: always ready.
	Ready func() error
	// LoginFailed is called for every rejected token; may be nil.
	LoginFailed func()
	Logger      *slog.Logger
}

// AuthorizeRequest authorizes a request for a space by its token, or by the token
// in its session cookie.
func (d *Admission) AuthorizeRequest(r *http.Request, name string) (*space.Space, Identity, error) {
	c, err := d.Credentials(r)
	if err != nil {
		return nil, Identity{}, err
	}
	sp, identity, err := d.Authorize(r.Context(), Address(r), name, c.Token)
	if c.Session != "" {
		identity.Session = c.Session
		if identity.Expires.IsZero() || c.Expires.Before(identity.Expires) {
			identity.Expires = c.Expires
		}
	}
	return sp, identity, err
}

// Authorize authorizes the bearer of a token for a space.
func (d *Admission) Authorize(ctx context.Context, addr netip.Addr, name, token string) (*space.Space, Identity, error) {
	identity, refused := d.identify(ctx, addr, name, token)
	if refused == nil {
		refused = Admit(ctx)
	}
	if refused != nil {
		return nil, identity, refused
	}
	if d.Ready != nil {
		if err := d.Ready(); err != nil {
			return nil, identity, LogUnavailable(err)
		}
	}
	sp, err := d.Hub.SpaceFor(ctx, name, identity.Participant)
	var coded *protocol.Error
	switch {
	case errors.As(err, &coded):
		return nil, identity, coded
	case errors.Is(err, space.ErrNoSpace):
		return nil, identity, noSpace(name)
	case err != nil:
		return nil, identity, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again in a moment.")
	}
	if sp.Kicked(identity.Participant) {
		return nil, identity, protocol.Errorf(protocol.CodeKicked, "You were removed from this space and have to be invited again.")
	}
	if identity.Via == ViaJWT && sp.Invited(identity.Participant) {
		return nil, identity, protocol.Errorf(protocol.CodeForbidden, "The name in your token belongs to a participant that was invited into this space.")
	}
	return sp, identity, nil
}

// WithIdentity sets the join options that follow from an identity.
func (d *Admission) WithIdentity(id Identity, o space.JoinOptions) space.JoinOptions {
	o.ID, o.Expires, o.VisibleAfter = id.Participant, id.Expires, id.InvitedAt
	o.Recheck = func() error {
		if id.Session != "" {
			if ended, err := d.Sessions.Ended(context.Background(), id.Session); err == nil && ended {
				return errSignedOut
			}
		}
		return d.Auth.Recheck(id, time.Now())
	}
	return o
}

var errSignedOut = errors.New("the user has signed out")

func (d *Admission) identify(ctx context.Context, addr netip.Addr, name, token string) (Identity, error) {
	now := time.Now()
	identity, err := d.Auth.Authenticate(ctx, name, token, now)
	switch {
	case err == nil:
		return identity, nil
	case errors.Is(err, ErrOtherSpace):
		if !d.Hub.Configured(name) {
			return identity, noSpace(name)
		}
		return identity, protocol.Errorf(protocol.CodeForbidden, "The token is not good for this space.")
	case errors.Is(err, ErrUnavailable):
		return identity, protocol.Errorf(protocol.CodeUnavailable, "The token cannot be checked now; try again in a moment.")
	}
	// A valid token never waits because of failed logins at its address.
	if refused := d.failed(now, addr); refused != nil {
		return identity, refused
	}
	d.Logger.Info("refused a token", "address", addr, "space", name, "reason", err)
	if errors.Is(err, ErrExpired) {
		return identity, unauthorized("The token has expired.")
	}
	return identity, unauthorized("The gateway does not know this token.")
}

// SpacesOf lists the spaces that a token is valid for. It bounds failed logins
// as Authorize does.
func (d *Admission) SpacesOf(ctx context.Context, addr netip.Addr, token string) ([]string, error) {
	now := time.Now()
	list, err := d.Spaces(ctx, token, now)
	if errors.Is(err, ErrUnavailable) {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "The token cannot be checked now; try again in a moment.")
	}
	if err != nil || len(list) == 0 {
		if refused := d.failed(now, addr); refused != nil {
			return nil, refused
		}
		return nil, unauthorized("The gateway does not know this token.")
	}
	if refused := Admit(ctx); refused != nil {
		return nil, refused
	}
	return list, nil
}

// failed records a failed login. The error is too_many_requests if the address
// has had too many before, and then nothing is recorded.
func (d *Admission) failed(now time.Time, addr netip.Addr) error {
	if d.Attempts != nil {
		if ok, wait := d.Attempts.Allowed(now, addr); !ok {
			err := protocol.Errorf(protocol.CodeTooMany, "Too many failed attempts from your address; wait before the next one.")
			err.RetryAfterMS = max(wait.Milliseconds(), 1)
			return err
		}
		d.Attempts.Failed(now, addr)
	}
	if d.LoginFailed != nil {
		d.LoginFailed()
	}
	return nil
}

// Busy returns the error for a request that would exceed a bound of the gateway.
func Busy() error {
	err := protocol.Errorf(protocol.CodeTooMany, "The gateway is busy; try again in a moment.")
	err.RetryAfterMS = 1000
	return err
}

// LogUnavailable returns the error for a request that needs the log while it cannot be
// read or written.
func LogUnavailable(reason error) error {
	err := protocol.Errorf(protocol.CodeUnavailable, "The log is not available now; try again in a moment.")
	err.RetryAfterMS = 1000
	return errors.Join(err, reason)
}

func unauthorized(message string) error {
	return protocol.Errorf(protocol.CodeUnauthorized, "%s", message)
}

func noSpace(name string) error {
	return protocol.Errorf(protocol.CodeNotFound, "There is no space %q here.", name)
}

// Address returns the remote address of a request; the zero Addr if the server
// has none.
func Address(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

// originMatches compares an origin to one that the operator listed. A star
// matches one label of the host, or all origins.
func originMatches(allowed, origin string) bool {
	before, after, wild := strings.Cut(allowed, "*")
	if !wild || allowed == "*" {
		return allowed == "*" || allowed == origin
	}
	rest, ok := strings.CutPrefix(origin, before)
	label, ok2 := strings.CutSuffix(rest, after)
	return ok && ok2 && label != "" && !strings.ContainsAny(label, "./:@")
}

// OriginAllowed reports whether a request comes from no page, from the
// gateway's own, or from a page of a listed origin.
func OriginAllowed(r *http.Request, allowed []string) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.ContainsFunc(allowed, func(a string) bool { return originMatches(a, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// CheckHost rejects a request over a loopback address whose Host is a foreign
// name. Otherwise a page could have its own name resolved to 127.0.0.1, and
// read the endpoints that need no token. Hosts of listed origins are allowed.
// Error: forbidden.
func CheckHost(r *http.Request, origins []string) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || r.Host == "" {
		return nil // not over a network, or not from a browser
	}
	ap, err := netip.ParseAddrPort(local.String())
	if err != nil || !ap.Addr().Unmap().IsLoopback() || isLoopbackHost(r.Host) {
		return nil
	}
	for _, allowed := range origins {
		if originMatches(allowed, "https://"+r.Host) || originMatches(allowed, "http://"+r.Host) {
			return nil
		}
	}
	return protocol.Errorf(protocol.CodeForbidden, "Here the gateway answers to localhost only; its operator can list https://%s among the origins.", r.Host)
}

func isLoopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// SetRetryAfter sets the header Retry-After, in seconds, if the error has a
// delay.
func SetRetryAfter(h http.Header, err *protocol.Error) {
	switch err.Code.HTTPStatus() {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.FormatInt(max((err.RetryAfterMS+999)/1000, 1), 10))
	}
}

// WriteError responds with an error: the body of sections 4 and 5.
func WriteError(w http.ResponseWriter, err error) {
	coded := protocol.AsError(err)
	body, marshalErr := json.Marshal(coded)
	if marshalErr != nil {
		body = []byte(`{"error":"internal","message":"The answer could not be written."}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if coded.Code == protocol.CodeUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", `Bearer realm="meup"`)
	}
	SetRetryAfter(h, coded)
	w.WriteHeader(coded.Code.HTTPStatus())
	_, _ = w.Write(append(body, '\n')) // the peer may be gone
}
