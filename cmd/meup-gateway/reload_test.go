package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFaultsInTheLog: what does not stop a gateway is no error of its log.
func TestFaultsInTheLog(t *testing.T) {
	for text, want := range map[string]string{
		"spaces: {lab: {}}\n": "level=WARN msg=\"configuration warning\"",
		"spacex: {}\n":        "level=ERROR msg=\"configuration fault\"",
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		_, err := serveFlags{config: file}.load(logFaults(slog.New(slog.NewTextHandler(&log, nil))))
		got := log.String()
		if !strings.Contains(got, want) || strings.Count(got, "level=") != 1 || (err != nil) != strings.Contains(want, "ERROR") {
			t.Errorf("%s: %v\n%s", text, err, got)
		}
	}
}
