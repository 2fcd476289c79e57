// Package seeds_test runs the examples of the documents that the protocol comes
// from, as they are written there, against a gateway and the Reasoning API.
package seeds_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

func TestExamples(t *testing.T) {
	meuptest.Conversations(t, ".")
}

// TestREADME_Coverage: each example that README.md lists has a conversation, or
// a reason why it has none.
func TestREADME_Coverage(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	inTable := false
	named := regexp.MustCompile("`([a-z0-9-]+)`")
	for line := range strings.SplitSeq(string(readme), "\n") {
		example, rest, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		inTable = isRow && (inTable || example == "example")
		if !inTable || example == "example" || strings.HasPrefix(rest, "not run: ") {
			continue
		}
		conversations := named.FindAllStringSubmatch(rest, -1)
		if len(conversations) == 0 {
			t.Errorf("%s: neither a conversation nor a reason", example)
		}
		for _, name := range conversations {
			if _, err := os.Stat(name[1] + ".txtar"); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	}
	files, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		group := regexp.MustCompile("^[a-z]+(-api)?-").FindString(file)
		if !strings.Contains(string(readme), "`"+group+"*`") {
			t.Errorf("README.md does not name the document of %s", file)
		}
	}
}
