package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

var example = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

// TestExamples checks that every example in the contract is an envelope that a
// gateway accepts.
func TestExamples(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllSubmatch(text, -1)
	if len(examples) < 10 {
		t.Fatalf("found %d examples", len(examples))
	}
	for _, m := range examples {
		tryExample(t, m[1])
	}
}

// tryExample checks a JSON text with the decoder, and an envelope that a client
// may send with the schema of its kind.
func tryExample(t *testing.T, text []byte) {
	t.Helper()
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		t.Errorf("not JSON: %v:\n%s", err, text)
		return
	}
	isEnvelope := doc.Root().Get("kind").Exists() && !doc.Root().Get("deny").Exists()
	if !isEnvelope {
		return
	}
	dialect, _ := protocol.ParseDialect(doc.Root().Get("protocol").Text()) // the default if there is none
	in, err := protocol.Decode(text, dialect, protocol.DefaultContextDepth)
	if err == nil && !in.Envelope.Kind.IsReserved() {
		err = schemas.Payload(in.Envelope.Kind, in.Payload)
	}
	if refused := protocol.AsError(err); refused != nil {
		t.Errorf("refused: %v (%s %s):\n%s", refused, refused.Path, refused.Detail, text)
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// TestLinks checks that the targets of the documents' links in this repository
// exist.
func TestLinks(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, more...)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s points to %s: %v", path, m[1], err)
			}
		}
	}
}
