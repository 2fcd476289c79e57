package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/redact"
)

// Bounds of a token. A token shorter than goodToken can be guessed; one longer
// than longestToken does not fit into a header.
const (
	goodToken    = 16
	longestToken = 16 << 10
)

// token returns the digest of a participant's token. No diagnostic quotes the value.
func (r *resolver) token(name textValue, f *participantShape) (hash [32]byte, ok bool) {
	given := 0
	for _, v := range []textValue{f.Token, f.TokenEnv, f.TokenFile, f.TokenSHA256} {
		if v.isSet() {
			given++
		}
	}
	if given != 1 {
		if !r.invalidAt[f.place] {
			r.errorf(name.place, "%s has %s; give exactly one of token, token_env, token_file, token_sha256",
				textutil.Shorten(name.value, 40), [...]string{"no token", "", "two tokens", "three tokens", "four tokens"}[given])
		}
		return hash, false
	}
	switch {
	case f.Token.isSet():
		return r.tokenText(f.Token.place, "this token", f.Token.value)
	case f.TokenEnv.isSet():
		return r.tokenEnv(f.TokenEnv)
	case f.TokenFile.isSet():
		return r.tokenFile(f.TokenFile)
	}
	return r.tokenSHA256(f.TokenSHA256)
}

func (r *resolver) tokenEnv(v textValue) (hash [32]byte, ok bool) {
	// An operator who puts the token itself here must not find it in a log.
	if !isVariable(v.value) {
		r.errorf(v.place, "this is not the name of an environment variable; the token itself goes into token")
		return hash, false
	}
	token, found := r.env(v.value)
	if !found {
		r.errorf(v.place, "the environment variable %s is not set; set it before the gateway starts, or use token_file, which a reload reads again", v.value)
		return hash, false
	}
	return r.tokenText(v.place, "the token in "+v.value, token)
}

// isVariable reports whether a name is a valid shell variable.
func isVariable(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (r *resolver) tokenFile(v textValue) (hash [32]byte, ok bool) {
	text, err := r.readFile(r.path(v.value))
	if err != nil {
		r.errorf(v.place, "the token's file cannot be read: %s", reason(err))
		return hash, false
	}
	return r.tokenText(v.place, "the token in the file", strings.TrimSpace(string(text)))
}

func (r *resolver) tokenText(at place, what, token string) (hash [32]byte, ok bool) {
	if token == "" {
		r.errorf(at, "%s is empty; make one with meup-gateway token", what)
		return hash, false
	}
	if len(token) > longestToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		r.errorf(at, "%s cannot be sent in a header; use up to %d visible ASCII characters without spaces", what, longestToken)
		return hash, false
	}
	if len(token) < goodToken {
		r.warnf(at, "%s has fewer than %d characters and can be guessed; make one with meup-gateway token", what, goodToken)
	}
	r.secrets = append(r.secrets, redact.NewSecret(token))
	return sha256.Sum256([]byte(token)), true
}

func (r *resolver) tokenSHA256(v textValue) (hash [32]byte, ok bool) {
	digits, err := hex.DecodeString(v.value)
	if err != nil || len(digits) != len(hash) {
		r.errorf(v.place, "this is not a SHA-256; write the 64 hex digits that meup-gateway token prints")
		return hash, false
	}
	hash = [32]byte(digits)
	if hash == sha256.Sum256(nil) {
		r.errorf(v.place, "this is the SHA-256 of nothing; hash the token itself")
		return hash, false
	}
	return hash, true
}
