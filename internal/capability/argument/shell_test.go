package argument

import (
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// rule returns a compiled value of $shell.
func rule(t testing.TB, text string) *Shell {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseShell(doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
