package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

const issuedSpace = `
  issued:
    jwt: {issuer: "https://login.example.org", audience: meup, capabilities: [chat]}
`

// A client without a token finds the issuer of one, also after the configuration has
// changed; where there is none, it finds no metadata.
func TestMCP_ResourceMetadata(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	get := func(path string) (*http.Response, map[string]any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return resp, body
	}
	challenge := func() string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+"/mcp?space=lab", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Error(resp.Status)
		}
		return resp.Header.Get("WWW-Authenticate")
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	if resp, _ := get(wellKnown + "/mcp"); resp.StatusCode != http.StatusNotFound || challenge() != `Bearer realm="meup"` {
		t.Errorf("without an issuer: %s, %s", resp.Status, challenge())
	}
	g.Reload(mcpConfig + issuedSpace)
	if want := `resource_metadata="` + g.HTTP() + wellKnown + `/mcp"`; !strings.Contains(challenge(), want) {
		t.Errorf("challenge %s", challenge())
	}
	for path, resource := range map[string]string{"": "", "/mcp": "/mcp"} {
		about, err := oauthex.GetProtectedResourceMetadata(t.Context(), g.HTTP()+wellKnown+path, g.HTTP()+resource, http.DefaultClient)
		if err != nil || len(about.AuthorizationServers) != 1 || about.AuthorizationServers[0] != "https://login.example.org" {
			t.Errorf("%s: %+v %v", path, about, err)
		}
	}
}
