package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/reasoner"
)

// hasToken reports whether a token is one of the service's.
func (h *handler) hasToken(token string) bool {
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range h.tokens {
		found |= subtle.ConstantTimeCompare(h.tokens[i][:], sum[:])
	}
	return found == 1
}

// names reports whether a list of accepted versions has an entry.
func names(list, entry string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(v string) bool { return strings.TrimSpace(v) == entry })
}

// checkLocal rejects a request that a page of another site may have sent: one
// with a Host that is not this machine, which a page reaches through DNS that
// it controls (DNS rebinding), or one with the Origin of another site.
//
// A service without tokens cannot otherwise distinguish its users from pages in
// their browsers.
func checkLocal(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if !strings.EqualFold(host, "localhost") && (err != nil || !ip.IsLoopback()) {
		return &reasoner.Fault{
			Status: http.StatusForbidden, Code: reasoner.CodeForbidden,
			Message: "Without tokens this service accepts only requests to localhost: use http://127.0.0.1, or set tokens (REASONING_API_TOKEN).",
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return &reasoner.Fault{
				Status: http.StatusForbidden, Code: reasoner.CodeForbidden,
				Message: "Without tokens this service accepts no requests from pages of other sites: set tokens (REASONING_API_TOKEN).",
			}
		}
	}
	return nil
}

// Local passes requests to next unless checkLocal rejects them.
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkLocal(r); err != nil {
			f := reasoner.FaultOf(err)
			write(w, f.Status, errorResponse(r, f, err))
			return
		}
		next.ServeHTTP(w, r)
	})
}
