package adapter

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// WellKnown is the path of the metadata; the path of the resource follows.
const WellKnown = "/.well-known/oauth-protected-resource"

// Issuers returns the trusted issuers of all spaces. Which space trusts which one is not
// told without a token.
type Issuers func() []string

// ResourceMetadata serves the metadata of the gateway as a protected resource (RFC 9728)
// at a path: the issuers of the tokens that it accepts. MCP clients find by it where their
// users log in. Without issuers it is not
// found; clients then ask their users for a token.
func ResourceMetadata(path string, issuers Issuers) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := issuers()
		if len(list) == 0 {
			access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "The tokens of this gateway have no issuer; ask its operator for one."))
			return
		}
		text, err := json.Marshal(map[string]any{
			"resource": base(r) + path, "resource_name": "meup", "authorization_servers": list, "bearer_methods_supported": []string{"header"},
		})
		if err != nil {
			panic(err) // of texts
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(text) // the peer may be gone
	})
}

// Challenge adds the address of the metadata of the requested resource to the response
// to a request without a valid token, if there are issuers.
func Challenge(w http.ResponseWriter, r *http.Request, issuers Issuers) {
	if issuers != nil && len(issuers()) > 0 {
		w.Header().Set("WWW-Authenticate", `Bearer realm="meup", resource_metadata="`+base(r)+WellKnown+r.URL.Path+`"`)
	}
}

// base returns the address of the gateway that the client used. A proxy that ends TLS
// names the scheme.
func base(r *http.Request) string {
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
