package access

import (
	"crypto/sha256"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Digest is the SHA-256 of a token. Tokens themselves are not stored.
type Digest [sha256.Size]byte

// Hash returns the digest of a token.
func Hash(token string) Digest { return sha256.Sum256([]byte(token)) }

// NewToken returns a token of 32 random bytes, and its digest.
func NewToken() (text string, hash [32]byte) {
	text = textutil.NewToken()
	return text, Hash(text)
}
