// Package auth authenticates tokens: it maps a token to a participant of a
// space. Section 4 of docs/protocol.md.
//
// There are three types of tokens. Static tokens are in the configuration,
// which contains only their SHA-256. Invitations are in the log of their space
// and are looked up through [Invites]. JWTs come from an OpenID Connect issuer
// that the space trusts. Its keys are fetched when the first of its tokens
// arrives, so that the gateway starts even if an issuer is down.
//
// [FromRequest] extracts the token of an HTTP request, and [Authenticator]
// authenticates it. Package access decides which error a peer receives.
package access

import (
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Via is the type of token that an identity is based on.
type Via string

// The types of tokens.
const (
	ViaToken  Via = "token"
	ViaInvite Via = "invite"
	ViaJWT    Via = "jwt"
)

// Identity is the participant that a token authenticates, and its space.
type Identity struct {
	Participant protocol.ParticipantID
	Space       string    // the requested space
	Expires     time.Time // the time at which the identity ends; zero: never
	// InvitedAt is the position of the invitation in the space's log; 0 for other
	// sorts of tokens.
	InvitedAt protocol.Seq
	Via       Via
	// Session is the id of the sign-in that a browser's request came with; "": the
	// request had a token.
	Session string

	// For Recheck: the digest of a token or an invitation, or the settings
	// under which a JWT was accepted.
	hash Digest
	jwt  JWT
}

// Holder returns the key under which requests of the identity are charged. It
// is the same in every space that the token is valid for.
func (id Identity) Holder() string {
	if id.Via == ViaJWT {
		return id.jwt.Issuer + " " + string(id.Participant)
	}
	return string(id.hash[:])
}

// Errors about a token.
var (
	// ErrNoToken: the request has no token.
	ErrNoToken = errors.New("no token")
	// ErrMalformed: the credentials of the request are not a token.
	ErrMalformed = errors.New("malformed credentials")
	// ErrUnknownToken: the token is unknown, or is an invalid JWT.
	ErrUnknownToken = errors.New("unknown token")
	// ErrOtherSpace: the token is valid, but not in the requested space.
	ErrOtherSpace = errors.New("token is not good for this space")
	// ErrExpired: the token was valid before.
	ErrExpired = errors.New("token has expired")
	// ErrUnavailable: the issuer's keys cannot be fetched, or the invitations
	// cannot be read. The client should retry.
	ErrUnavailable = errors.New("the token cannot be checked now")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
