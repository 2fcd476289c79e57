package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

const (
	maxSignInBytes = 24 << 10            // fits the longest token
	signInTimeout  = 10 * time.Second    // for the body to arrive
	sessionFor     = 7 * 24 * time.Hour  // unless the browser is closed before
	rememberFor    = 30 * 24 * time.Hour // if the user asks for it
	maxNamed       = 1000                // spaces in one response; GET /api/spaces lists all
)

// session describes the spaces that a token is valid for.
type session struct {
	api.Session
	expires time.Time // earliest expiry of the token; zero: never
}

// signInRequest is the body of POST /api/session: a token or a code.
type signInRequest struct {
	token, code, space string
	remember           bool
}

// signIn sets the cookie of a token, or of the token of a login code.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if refused := ownPageOnly(r); refused != nil {
		access.WriteError(w, refused)
		return
	}
	body, refused := access.ReadBody(w, r, maxSignInBytes, signInTimeout)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	in, refused := parseSignIn(body)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	if in.code != "" {
		in.token, refused = s.options.Admission.Redeem(access.Address(r), in.code, time.Now())
		if refused != nil {
			access.WriteError(w, refused)
			return
		}
	}
	found, refused := s.sessionOf(r.Context(), access.Bearer{Address: access.Address(r), Token: in.token}, in.space)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	ends, age := lifetimeOf(found, in.remember, time.Now())
	if err := s.options.Admission.Sessions.Start(w, r, in.token, ends, age); err != nil {
		access.WriteError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// lifetimeOf returns when a session ends, and the maximum age of its cookie: 0, which
// ends it with the browser, unless the user chose to stay signed in; never longer than
// the token is valid.
func lifetimeOf(s *session, remember bool, now time.Time) (ends time.Time, age time.Duration) {
	age = sessionFor
	if remember {
		age = rememberFor
	}
	if left := s.expires.Sub(now); !s.expires.IsZero() && left < age {
		age = max(left, time.Second)
	}
	ends = now.Add(age)
	if !remember {
		age = 0
	}
	return ends, age
}

// whoAmI describes the token of the request, which must be valid for the space
// that the request names. It clears a cookie whose session has
// ended or whose token is not valid any more.
func (s *Server) whoAmI(w http.ResponseWriter, r *http.Request) {
	c, err := s.options.Admission.Credentials(r)
	var found *session
	switch {
	case err == nil:
		found, err = s.sessionOf(r.Context(), access.Bearer{Address: access.Address(r), Token: c.Token}, r.URL.Query().Get("space"))
	case protocol.AsError(err).Code == protocol.CodeUnauthorized:
		err = protocol.Errorf(protocol.CodeUnauthorized, "Not signed in. POST a token to /api/session.")
	}
	if err != nil {
		if c.Cookie && protocol.AsError(err).Code == protocol.CodeUnauthorized {
			access.ClearSession(w, r)
		}
		access.WriteError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// signOut ends the session and clears the cookie.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if refused := ownPageOnly(r); refused != nil {
		access.WriteError(w, refused)
		return
	}
	if err := s.options.Admission.Sessions.End(r); err != nil {
		access.WriteError(w, err)
		return
	}
	access.ClearSession(w, r)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// ownPageOnly rejects pages of other origins, including the ones that the
// operator listed: a page that signs a user in decides on the user's identity.
// Programs, which send no origin, are allowed.
func ownPageOnly(r *http.Request) *protocol.Error {
	named := len(r.Header["Origin"]) > 0
	if named && !access.OwnOrigin(r) || !access.FetchedFromHere(r) {
		return protocol.Errorf(protocol.CodeForbidden, "Only the gateway's own page may sign in or out.")
	}
	return nil
}

// parseSignIn parses the body of a sign-in. Its errors repeat nothing of the
// body.
func parseSignIn(body []byte) (signInRequest, error) {
	const form = `Send {"token": "…"} or {"code": "…"}, optionally with space and remember.`
	doc, err := protocol.ParseJSON(body, 4)
	if err != nil {
		return signInRequest{}, access.BadRequest("The body is not a JSON object. " + form)
	}
	var in signInRequest
	for key, value := range doc.Root().Members {
		switch name := key.Text(); {
		case name == "token" && value.Type() == protocol.TypeString:
			in.token = value.Text()
		case name == "code" && value.Type() == protocol.TypeString:
			in.code = value.Text()
		case name == "space" && value.Type() == protocol.TypeString:
			in.space = value.Text()
		case name == "remember" && value.Type() == protocol.TypeBool:
			in.remember = value.Bool()
		case name == "token", name == "code", name == "space", name == "remember":
			return signInRequest{}, access.BadRequest("The field " + name + " has the wrong type. " + form)
		}
	}
	switch {
	case (in.token == "") == (in.code == ""):
		return signInRequest{}, access.BadRequest(form)
	case in.token != "" && !access.ValidToken(in.token):
		return signInRequest{}, access.BadRequest("The token is too long or has characters other than visible ASCII.")
	case in.space != "" && !protocol.ValidSpaceName(in.space):
		return signInRequest{}, access.BadRequest("The field space must be the name of a space.")
	}
	return in, nil
}

// sessionOf determines the spaces that a token is valid for. If space is set,
// the token must be valid there.
func (s *Server) sessionOf(ctx context.Context, b access.Bearer, space string) (*session, error) {
	found := &session{Session: api.Session{Spaces: []api.SessionSpace{}}}
	var there access.Identity
	if space != "" {
		var refused error
		_, there, refused = s.options.Admission.Authorize(ctx, b.Address, space, b.Token)
		if refused != nil {
			return nil, refused
		}
	}
	patterns, refused := s.options.Admission.SpacesOf(ctx, b.Address, b.Token)
	if refused != nil {
		return nil, refused
	}
	existing, refused := s.existing(ctx)
	if refused != nil {
		return nil, refused
	}
	if space != "" { // a space of a glob exists now, and may have no log yet
		existing = append(existing, space)
	}
	for _, p := range patterns {
		if strings.Contains(p, "*") {
			found.Globs = append(found.Globs, p)
		}
	}
	now := time.Now()
	for _, name := range expand(patterns, existing) {
		if len(found.Spaces) == maxNamed {
			break
		}
		identity, err := s.options.Admission.Auth.Authenticate(ctx, name, b.Token, now)
		if err != nil {
			continue // revoked meanwhile, or another pattern configures the space
		}
		found.add(name, identity)
	}
	if space != "" && !slices.ContainsFunc(found.Spaces, func(in api.SessionSpace) bool { return in.Name == space }) {
		found.add(space, there) // beyond maxNamed
	}
	return found, nil
}

func (s *session) add(space string, identity access.Identity) {
	s.Spaces = append(s.Spaces, api.SessionSpace{Name: space, Participant: identity.Participant})
	switch {
	case len(s.Spaces) == 1:
		s.Participant = identity.Participant
	case s.Participant != identity.Participant:
		s.Participant = ""
	}
	if !identity.Expires.IsZero() && (s.expires.IsZero() || identity.Expires.Before(s.expires)) {
		s.expires = identity.Expires
	}
}
