package archtest

import (
	"os/exec"
	"testing"
)

// TestComments_PlainTerms checks the words that scripts/register counts in
// comments: CONTRIBUTING.md asks for plain technical English.
func TestComments_PlainTerms(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "run", "-buildvcs=false", "./scripts/register", "-check")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v; find the places by go run ./scripts/register -v:\n%s", err, out)
	}
}
