package argument

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestNamesSecret(t *testing.T) {
	for text, want := range map[string]bool{
		".env": true, "/repo/web/.env.local": true, ".ENV": true, "a/id_rsa": true, "~/.ssh/config": true, "HEAD:deploy.pem": true, "--from=.env": true,
		"my-secrets/x": true, "docs/a.md": false, "": false, "-rf": false, "environment": false, "keys": false,
	} {
		if got := NamesSecret(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The documentation has the same names for people to copy.
func TestSecretNames_docs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	names, err := json.Marshal(SecretNames)
	if err != nil {
		t.Fatal(err)
	}
	if want := "&secrets " + strings.ReplaceAll(string(names), ",", ", "); !strings.Contains(string(text), want) {
		t.Errorf("docs/hooks.md does not have %s", want)
	}
}
