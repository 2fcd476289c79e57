package textutil

import (
	"crypto/rand"
	"encoding/base64"
)

// tokenPrefix is the prefix of every token from NewToken. Scanners for leaked secrets can
// recognize it.
const tokenPrefix = "meup_"

// NewToken returns a token of 32 random bytes, with which a participant authenticates.
func NewToken() string {
	var random [32]byte
	rand.Read(random[:]) // never fails: on an error the runtime crashes the program
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}
