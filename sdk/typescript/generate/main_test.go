package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// The file in the repository is current.
func TestGenerate_IsCurrent(t *testing.T) {
	if err := run(root, "../src/payloads.ts", true); err != nil {
		t.Error(err)
	}
}

func TestGenerate(t *testing.T) {
	out := filepath.Join(t.TempDir(), "payloads.ts")
	if err := run(root, out, true); err == nil {
		t.Error("a missing file is current")
	}
	if err := run(root, out, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, out, true); err != nil {
		t.Errorf("checked: %v", err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`| "cursor_expired"`, `readonly "reasoning.start": ReasoningStart;`, "readonly parallel_group?: number;", `readonly format?: "plain" | "markdown";`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("lacks %s", want)
		}
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(root, out, true); err == nil || !strings.Contains(err.Error(), "go generate") {
		t.Errorf("changed: %v", err)
	}
	if err := run(t.TempDir(), out, false); err == nil {
		t.Error("generated without schemas")
	}
}
