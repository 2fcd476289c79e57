package mcpclients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// An unmodified Codex whose own rules allow a command does not run it if the space cannot be
// asked about it, unless its settings say so. It runs it if it cannot start meup.
func TestCodex_FailsClosed(t *testing.T) {
	codexProgram(t)
	g := meuptest.Start(t, codexConfig)
	for _, test := range []struct {
		name, who string
		change    func(settings string) string
		runs      bool
	}{
		{"the space allows it", "wide", func(s string) string { return s }, true},
		{"the gateway is away", "wide", func(s string) string { return strings.ReplaceAll(s, g.HTTP(), "http://127.0.0.1:1") }, false},
		{"the gateway is away, and calls may pass", "wide", func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, g.HTTP(), "http://127.0.0.1:1"), " --timeout", " --fail-open --timeout")
		}, true},
		{"a wrong token", "nobody", func(s string) string { return s }, false},
		{"no token", "wide", func(s string) string { return strings.ReplaceAll(s, "SPACE_TOKEN", "NONE_SUCH") }, false},
		{"no time", "wide", func(s string) string { return strings.ReplaceAll(s, "--timeout ", "--timeout 1ns --timeout=1ns ") }, false},
		{"an unknown flag", "wide", func(s string) string { return strings.ReplaceAll(s, " --timeout", " --tomorrow --timeout") }, false},
		{"no meup", "wide", func(s string) string { return strings.ReplaceAll(s, " hooks send", "-none hooks send") }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			home, env := codexHome(t, g, test.who)
			path := filepath.Join(home, ".codex", "hooks.json")
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, []byte(test.change(string(text))), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			c, errs := startCodex(t, env, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "Run echo hi in the sandbox, please.")
			err = c.Run()
			_, missing := os.Stat(filepath.Join(c.Dir, "out"))
			if ran := missing == nil; err != nil || ran != test.runs {
				t.Errorf("codex: %v, the command ran: %t, want %t\n%.3000s", err, ran, test.runs, errs)
			}
		})
	}
}
