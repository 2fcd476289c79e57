package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// TokenTable is the part of the configuration about tokens.
type TokenTable struct {
	Spaces []SpaceTokens
	// Find returns the name of the configured space, which may be a glob, that
	// matches a space. It is called concurrently.
	Find func(space string) (name string, ok bool)
}

// SpaceTokens is one configured space.
type SpaceTokens struct {
	Name   string // may be a glob
	Tokens []Token
	// Reserved are further participants that no JWT may name: ones without a token.
	Reserved []protocol.ParticipantID
	JWT      *JWT // nil: no trusted issuer
}

// Token assigns a static token to a participant.
type Token struct {
	Participant protocol.ParticipantID
	Hash        Digest
	Expires     time.Time // zero: never
}

// JWT configures the JWTs that a space accepts.
type JWT struct {
	Issuer           string // the value of the claim iss
	Audience         string // a value of the claim aud
	ParticipantClaim string // the claim that names the participant
}

// table is a TokenTable with indexes. It is immutable.
type table struct {
	find    func(string) (string, bool)
	spaces  []SpaceTokens
	jwts    map[string]JWT     // by configured name
	issuers map[string]*issuer // trusted, by URL
	known   map[member]bool

	// Tokens are indexed by a keyed digest of their digest. The key is random
	// for each process. Therefore the duration of a lookup reveals nothing
	// about a stored digest, and does not grow with the table.
	key    [sha256.Size]byte
	owners map[Digest][]owner
}

// member is a participant of a configured space.
type member struct {
	space string
	id    protocol.ParticipantID
}

// owner is a participant and space that a token is valid for.
type owner struct {
	member
	hash    Digest
	expires time.Time // zero: never
}

// valid reports whether the token has not expired.
func (o *owner) valid(now time.Time) bool { return o.expires.IsZero() || now.Before(o.expires) }

func (t *table) slot(hash Digest) (slot Digest) {
	mac := hmac.New(sha256.New, t.key[:])
	mac.Write(hash[:])
	mac.Sum(slot[:0])
	return slot
}

// lookup returns the owners of the token with this digest. It compares all
// candidates in constant time.
func (t *table) lookup(hash Digest) []owner {
	candidates := t.owners[t.slot(hash)]
	same := 1
	for _, c := range candidates {
		same &= subtle.ConstantTimeCompare(c.hash[:], hash[:])
	}
	if same != 1 {
		return nil
	}
	return candidates
}
