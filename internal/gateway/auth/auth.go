// Package auth answers who is on the other side: a token becomes a participant
// of a space. Section 4 of docs/protocol.md.
//
// There are three sorts of tokens. Static ones stand in the configuration,
// which keeps their SHA-256 only. Invitations are kept by the space itself, in
// its log, and asked for through [Invites]. JWTs are those of an OpenID Connect
// issuer that the space trusts; its keys are fetched when the first of its
// tokens arrives, so that an issuer which is down does not stop the gateway.
//
// [FromRequest] takes the token out of an HTTP request, and [Authenticator]
// judges it. What a peer is told of the outcome is up to package access.
package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Via is the sort of token that an identity rests on.
type Via string

// The sorts of tokens.
const (
	ViaToken  Via = "token"
	ViaInvite Via = "invite"
	ViaJWT    Via = "jwt"
)

// Identity is who presented a token, and where it is good.
type Identity struct {
	Participant protocol.ParticipantID
	Space       string    // the space that was asked for
	Expires     time.Time // the moment the identity ends; zero: never
	// InvitedAt is the position of the invitation in the space's log; 0 for other
	// sorts of tokens.
	InvitedAt protocol.Seq
	Via       Via

	// What Recheck needs: the digest of a token or an invitation, or what a
	// JWT was accepted under.
	hash Digest
	jwt  JWT
}

// Holder names whom requests of the identity are charged to: the same in every
// space that its token opens.
func (id Identity) Holder() string {
	if id.Via == ViaJWT {
		return id.jwt.Issuer + " " + string(id.Participant)
	}
	return string(id.hash[:])
}

// What can be wrong with a token.
var (
	// ErrNoToken: the request presents none.
	ErrNoToken = errors.New("no token")
	// ErrMalformed: what the request presents is not a token.
	ErrMalformed = errors.New("malformed credentials")
	// ErrUnknownToken: nobody's, or a JWT that does not hold.
	ErrUnknownToken = errors.New("unknown token")
	// ErrOtherSpace: good, but not in the space that was asked for.
	ErrOtherSpace = errors.New("token is not good for this space")
	// ErrExpired: it was good once.
	ErrExpired = errors.New("token has expired")
	// ErrUnavailable: the issuer's keys cannot be fetched, or the invitations
	// cannot be read. Worth trying again.
	ErrUnavailable = errors.New("the token cannot be checked now")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
