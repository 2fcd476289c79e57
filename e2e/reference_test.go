package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReference checks that docs/reference has the commands and flags that the programs have.
func TestReference(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"meup", "meup-agent", "meup-gateway", "meup-reasoner"} {
		want, err := exec.CommandContext(t.Context(), filepath.Join(bin, name), "man", "--markdown").Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		page := "docs/reference/" + name + ".md"
		got, err := os.ReadFile("../" + page)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from %s man --markdown: run make generate", page, name)
		}
	}
}
