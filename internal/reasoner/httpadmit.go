package reasoner

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net/http"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// tokens are the hashes of those that may be borne, so that comparing takes the
// same time whatever is sent.
type tokens [][sha256.Size]byte

func newTokens(list []string) tokens {
	var t tokens
	for _, token := range list {
		t = append(t, sha256.Sum256([]byte(token)))
	}
	return t
}

func (t tokens) has(token string) bool {
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range t {
		found |= subtle.ConstantTimeCompare(t[i][:], sum[:])
	}
	return found == 1
}

// admit judges a request by its headers.
func (h *handler) admit(w http.ResponseWriter, r *http.Request) error {
	if len(h.tokens) > 0 {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || !h.tokens.has(strings.TrimSpace(token)) {
			return &Fault{Status: http.StatusUnauthorized, Code: CodeUnauthorized, Message: "The request bears no token that is known here: send one as Authorization: Bearer TOKEN."}
		}
	}
	if v := r.Header.Get("Accept-Version"); v != "" && !speaks(v) {
		return &Fault{Status: http.StatusNotAcceptable, Code: CodeVersion, Message: "The service speaks " + wire.Version + " alone: send Accept-Version: " + wire.Version + ", or no such header."}
	}
	// A browser asks nobody before it sends a form or plain text to another
	// site, and does before it sends JSON: so the type keeps pages out.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &Fault{Status: http.StatusUnsupportedMediaType, Code: CodeMediaType, Message: "The body must be JSON: send Content-Type: application/json."}
	}
	w.Header().Set("Content-Version", wire.Version)
	return nil
}

// speaks reports whether one of the versions that a request accepts is ours.
func speaks(list string) bool {
	for v := range strings.SplitSeq(list, ",") {
		if v = strings.TrimSpace(v); v == wire.Version || v == "*" {
			return true
		}
	}
	return false
}
