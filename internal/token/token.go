// Package token makes the tokens with which participants authenticate.
package token

import (
	"crypto/rand"
	"encoding/base64"
)

// Prefix is the prefix of every token from New. Scanners for leaked secrets can
// recognize it.
const Prefix = "meup_"

// New returns a token of 32 random bytes.
func New() string {
	var random [32]byte
	rand.Read(random[:]) // never fails: on an error the runtime crashes the program
	return Prefix + base64.RawURLEncoding.EncodeToString(random[:])
}
