package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// Digest is the SHA-256 of a token. Tokens themselves are not stored.
type Digest [sha256.Size]byte

// Hash returns the digest of a token.
func Hash(token string) Digest { return sha256.Sum256([]byte(token)) }

// TokenPrefix is the prefix of every token from NewToken. Scanners for leaked
// secrets can recognize it.
const TokenPrefix = "meup_"

// NewToken returns a token of 32 random bytes, and its digest.
func NewToken() (token string, hash [32]byte) {
	var random [32]byte
	rand.Read(random[:]) // never fails: on an error the runtime crashes the program
	token = TokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	return token, Hash(token)
}
