package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"

	"github.com/meup-protocol/meup/protocol"
)

// Table is what the configuration says about tokens.
type Table struct {
	Spaces []Space
	// Find returns the name of the configured space, which may be a glob, that
	// a space belongs to. It is called concurrently.
	Find func(space string) (name string, ok bool)
}

// Space is one configured space.
type Space struct {
	Name   string // may be a glob
	Tokens []Token
	JWT    *JWT // nil: no issuer is trusted
}

// Token says whose a static token is.
type Token struct {
	Participant protocol.ParticipantID
	Hash        Digest
}

// JWT says which JWTs a space accepts.
type JWT struct {
	Issuer           string // as in the claim iss
	Audience         string // one of those in the claim aud
	ParticipantClaim string // the claim that names the participant
}

// table is a Table made ready for lookup. It does not change.
type table struct {
	find   func(string) (string, bool)
	spaces []Space
	jwts   map[string]JWT  // by configured name
	trusts map[string]bool // issuers
	known  map[member]bool

	// Tokens are found by a digest of their digest under a key that nobody
	// knows and no second process shares. How long a lookup takes says nothing
	// about a stored digest then, and does not grow with the table.
	key    [sha256.Size]byte
	owners map[Digest][]owner
}

// member is a participant of a configured space.
type member struct {
	space string
	id    protocol.ParticipantID
}

// owner is one place where a token is good.
type owner struct {
	member
	hash Digest
}

func newTable(from Table) *table {
	t := &table{
		find: from.Find, spaces: from.Spaces,
		jwts: make(map[string]JWT), trusts: make(map[string]bool), known: make(map[member]bool), owners: make(map[Digest][]owner),
	}
	rand.Read(t.key[:])
	for _, s := range from.Spaces {
		if s.JWT != nil {
			t.jwts[s.Name] = *s.JWT
			t.trusts[s.JWT.Issuer] = true
		}
		for _, token := range s.Tokens {
			m := member{s.Name, token.Participant}
			t.known[m] = true
			slot := t.slot(token.Hash)
			t.owners[slot] = append(t.owners[slot], owner{m, token.Hash})
		}
	}
	return t
}

func (t *table) slot(hash Digest) (slot Digest) {
	mac := hmac.New(sha256.New, t.key[:])
	mac.Write(hash[:])
	mac.Sum(slot[:0])
	return slot
}

// lookup returns the places where the token with this digest is good. It
// compares in constant time, and all candidates, whichever fits.
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
