package reasoner

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net/http"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// tokens holds hashes of the accepted tokens, so that a comparison takes the
// same time for any input.
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

// admit checks the headers of a request.
func (h *handler) admit(w http.ResponseWriter, r *http.Request) error {
	if len(h.tokens) > 0 {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || !h.tokens.has(strings.TrimSpace(token)) {
			return &Fault{Status: http.StatusUnauthorized, Code: CodeUnauthorized, Message: "The request bears no token that is known here: send one as Authorization: Bearer TOKEN."}
		}
	}
	if v := r.Header.Get("Accept-Version"); v != "" && !acceptsVersion(v) {
		return &Fault{Status: http.StatusNotAcceptable, Code: CodeVersion, Message: "The service speaks " + wire.Version + " alone: send Accept-Version: " + wire.Version + ", or no such header."}
	}
	// A browser sends a form or plain text to another site without a preflight
	// request, but not JSON. Requiring the type keeps pages of other sites out.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &Fault{Status: http.StatusUnsupportedMediaType, Code: CodeMediaType, Message: "The body must be JSON: send Content-Type: application/json."}
	}
	w.Header().Set("Content-Version", wire.Version)
	return nil
}

// acceptsVersion reports whether a list of accepted versions includes the
// version of this service.
func acceptsVersion(list string) bool {
	for v := range strings.SplitSeq(list, ",") {
		if v = strings.TrimSpace(v); v == wire.Version || v == "*" {
			return true
		}
	}
	return false
}
