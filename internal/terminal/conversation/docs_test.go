package conversation

import (
	"os"
	"strings"
	"testing"
)

// TestDocs_Complete checks that the tables of docs/join.md have every
// command and every key of the help.
func TestDocs_Complete(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/join.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(raw)
	for _, c := range commands() {
		if cell := "| `" + strings.ReplaceAll(strings.TrimSpace(c.name+" "+c.args), "|", `\|`) + "` |"; !strings.Contains(docs, cell) {
			t.Errorf("there is no row %s", cell)
		}
	}
	for _, k := range keyHelp {
		for key := range strings.SplitSeq(strings.ReplaceAll(k[0], " or ", ", "), ", ") {
			if !strings.Contains(docs, "| "+key) && !strings.Contains(docs, ", "+key) {
				t.Errorf("there is no key %s", key)
			}
		}
	}
}
