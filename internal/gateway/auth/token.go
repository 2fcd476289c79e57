package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// Digest is the SHA-256 of a token. Tokens themselves are kept nowhere.
type Digest [sha256.Size]byte

// Hash returns the digest under which a token is known.
func Hash(token string) Digest { return sha256.Sum256([]byte(token)) }

// TokenPrefix begins every token that NewToken makes, so that scanners for
// leaked secrets can recognise one.
const TokenPrefix = "meup_"

// NewToken makes a token of 32 random bytes, and its digest.
func NewToken() (token string, hash [32]byte) {
	var random [32]byte
	rand.Read(random[:]) // never fails: the runtime ends the program instead
	token = TokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	return token, Hash(token)
}
