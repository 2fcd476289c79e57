package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/kit/textutil"
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

// Digest is the SHA-256 of a token. Tokens themselves are not stored.
type Digest [sha256.Size]byte

// Hash returns the digest of a token.
func Hash(token string) Digest { return sha256.Sum256([]byte(token)) }

// NewToken returns a token of 32 random bytes, and its digest.
func NewToken() (text string, hash [32]byte) {
	text = textutil.NewToken()
	return text, Hash(text)
}
