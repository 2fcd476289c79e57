package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/web/bundle"
)

func TestGenerate(t *testing.T) {
	sources := bundle.Options{Dir: "../testdata/page", Entry: "src/main.ts"}
	out := filepath.Join(t.TempDir(), "dist")
	var report bytes.Buffer
	if err := run(sources, out, true, &report); err == nil || !strings.Contains(err.Error(), "index.html is missing") {
		t.Errorf("checked before it was built: %v", err)
	}
	if err := run(sources, out, false, &report); err != nil {
		t.Fatal(err)
	}
	if err := run(sources, out, true, &report); err != nil {
		t.Errorf("checked: %v", err)
	}
	if !strings.Contains(report.String(), "first load: ") {
		t.Errorf("report: %s", &report)
	}
	if err := os.WriteFile(filepath.Join(out, "index.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(sources, out, true, &report); err == nil || !strings.Contains(err.Error(), "index.html is built differently") {
		t.Errorf("checked after a change: %v", err)
	}
}
