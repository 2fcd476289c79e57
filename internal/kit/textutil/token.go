// Package token makes the tokens with which participants authenticate.
package textutil

import (
	"crypto/rand"
	"encoding/base64"
)

// tokenPrefix is the prefix of every token from New. Scanners for leaked secrets can
// recognize it.
const tokenPrefix = "meup_"

// NewToken returns a token of 32 random bytes.
func NewToken() string {
	var random [32]byte
	rand.Read(random[:]) // never fails: on an error the runtime crashes the program
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}
