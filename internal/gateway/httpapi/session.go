package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/auth"
	"github.com/meup-protocol/meup/protocol"
)

const (
	maxSignInBytes = 24 << 10            // the longest token has room in it
	signInTimeout  = 10 * time.Second    // for the body to arrive
	rememberFor    = 30 * 24 * time.Hour // where the user asks for it
	maxNamed       = 1000                // spaces of one answer; GET /api/spaces lists all
)

// session is what a token is good for.
type session struct {
	// Participant is who the token makes of its bearer, if that is the same
	// everywhere.
	Participant protocol.ParticipantID `json:"participant,omitempty"`
	Spaces      []sessionSpace         `json:"spaces"`
	Globs       []string               `json:"globs,omitempty"` // spaces that are made as they are joined

	expires time.Time // when the first of it ends; zero: never
}

// sessionSpace is one space, and who one is there.
type sessionSpace struct {
	Name        string                 `json:"name"`
	Participant protocol.ParticipantID `json:"participant"`
}

// signInRequest is the body of POST /api/session: a token or a code.
type signInRequest struct {
	token, code, space string
	remember           bool
}

// signIn gives the browser the cookie of a token, or of the token that a login
// code stands for.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if refused := ownPageOnly(r); refused != nil {
		access.WriteError(w, refused)
		return
	}
	in, refused := readSignIn(w, r)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	if in.code != "" {
		if in.token, refused = s.options.Door.Redeem(access.Address(r), in.code, time.Now()); refused != nil {
			access.WriteError(w, refused)
			return
		}
	}
	found, refused := s.sessionOf(r, in.token, in.space)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	if !access.SetSession(w, r, in.token, ageOf(found, in.remember, time.Now())) {
		access.WriteError(w, access.BadRequest("The token is too long for a browser's cookie; use a shorter one."))
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// ageOf is how long a browser is to keep the cookie: until it is closed unless
// the user wants otherwise, and never longer than the token lasts.
func ageOf(s *session, remember bool, now time.Time) time.Duration {
	if !remember {
		return 0
	}
	if left := s.expires.Sub(now); !s.expires.IsZero() && left < rememberFor {
		return max(left, time.Second)
	}
	return rememberFor
}

// whoAmI says what the token of the request is good for. A cookie whose token
// is good for nothing any more is taken back.
func (s *Server) whoAmI(w http.ResponseWriter, r *http.Request) {
	token, fromCookie, err := access.Token(r)
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeUnauthorized, "Nobody is signed in; POST a token to /api/session."))
		return
	}
	found, refused := s.sessionOf(r, token, "")
	if refused != nil {
		if fromCookie && refused.Code == protocol.CodeUnauthorized {
			access.EndSession(w, r)
		}
		access.WriteError(w, refused)
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// signOut takes the cookie back.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if refused := ownPageOnly(r); refused != nil {
		access.WriteError(w, refused)
		return
	}
	access.EndSession(w, r)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// ownPageOnly refuses pages of other origins, those that the operator listed
// among them: whoever signs somebody in decides who they are. Programs, which
// name no origin, may.
func ownPageOnly(r *http.Request) *protocol.Error {
	named := len(r.Header["Origin"]) > 0
	if named && !access.OwnOrigin(r) || !access.FetchedFromHere(r) {
		return protocol.Errorf(protocol.CodeForbidden, "Only the gateway's own page may sign somebody in or out.")
	}
	return nil
}

func readSignIn(w http.ResponseWriter, r *http.Request) (signInRequest, *protocol.Error) {
	body, refused := access.ReadBody(w, r, maxSignInBytes, signInTimeout)
	if refused != nil {
		return signInRequest{}, refused
	}
	return parseSignIn(body)
}

// parseSignIn reads the body of a sign-in. What it says of a faulty one repeats
// nothing of it.
func parseSignIn(body []byte) (signInRequest, *protocol.Error) {
	const form = `Send {"token": "…"} or {"code": "…"}; space and remember may stand beside them.`
	doc, err := protocol.ParseJSON(body, 4)
	if err != nil {
		return signInRequest{}, access.BadRequest("The body is no JSON object. " + form)
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
	case in.token != "" && !auth.ValidToken(in.token):
		return signInRequest{}, access.BadRequest("The token is too long or has characters beyond visible ASCII.")
	case in.space != "" && !protocol.ValidSpaceName(in.space):
		return signInRequest{}, access.BadRequest("The field space must name a space.")
	}
	return in, nil
}

// sessionOf finds out what a token is good for. With a space, it has to be good
// there.
func (s *Server) sessionOf(r *http.Request, token, space string) (*session, *protocol.Error) {
	ctx, addr, found := r.Context(), access.Address(r), &session{Spaces: []sessionSpace{}}
	if space != "" {
		if _, _, refused := s.options.Door.Enter(ctx, addr, space, token); refused != nil {
			return nil, refused
		}
	}
	patterns, refused := s.options.Door.SpacesOf(ctx, addr, token, s.options.Spaces)
	if refused != nil {
		return nil, refused
	}
	existing, err := s.options.Journal.Spaces(ctx)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "The log cannot be read now; try again.")
	}
	if space != "" { // one of a glob is there now, and has no log yet
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
		identity, err := s.options.Door.Auth.Authenticate(ctx, name, token, now)
		if err != nil {
			continue // taken back meanwhile, or the space is another entry's
		}
		found.add(name, identity)
	}
	return found, nil
}

func (s *session) add(space string, identity auth.Identity) {
	s.Spaces = append(s.Spaces, sessionSpace{space, identity.Participant})
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
