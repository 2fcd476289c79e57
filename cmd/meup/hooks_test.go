package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/meuptest"
)

// hooks runs meup hooks with an input.
func hooks(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	root := newRoot()
	var out bytes.Buffer
	root.SetArgs(append([]string{"hooks"}, args...))
	root.SetIn(strings.NewReader(input))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestHooks(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	dir := t.TempDir()
	path := filepath.Join(dir, ".claude", "settings.json")
	t.Setenv("HOME", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("MEUP_TOKEN", "alice-token")
	for _, test := range []struct{ name, input, want, failure string }{
		{"status claude", "", "", "not installed in " + path},
		{"uninstall claude", "", "nothing to change", ""},
		{"install emacs", "", "", "expected the name of an agent: claude"},
		{"install claude", "", "Write it?", "not confirmed; use --yes"},
		{"install claude", "n\n", "+ ", "not written"},
		{"install claude", "y\n", "\"Authorization\": \"Bearer ${MEUP_TOKEN}\"\n", ""},
		{"status claude", "", "accepts them from alice in the space lab", ""},
		{"install claude", "", "nothing to change", ""},
		{"uninstall claude --yes", "", "- ", ""},
		{"status claude", "", "", "not installed in " + path},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := hooks(t, test.input, strings.Fields(test.name)...)
			if !strings.Contains(out, test.want) || (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
				t.Errorf("%v\n%s", err, out)
			}
			if strings.Contains(out, "alice-token") {
				t.Error("the output has the token")
			}
		})
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{}\n" {
		t.Errorf("%v %s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	t.Run("a project, by a link", func(t *testing.T) {
		project := t.TempDir()
		t.Chdir(project)
		real := filepath.Join(project, "real.json")
		if err := os.WriteFile(real, []byte(`{"model":"opus"}`), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(".claude", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, ".claude/settings.json"); err != nil {
			t.Fatal(err)
		}
		if out, err := hooks(t, "", "install", "claude", "--project", "--yes"); err != nil {
			t.Fatal(err, out)
		}
		text, err := os.ReadFile(real)
		if info, statErr := os.Lstat(".claude/settings.json"); err != nil || statErr != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(string(text), "/hooks/claude") || !strings.Contains(string(text), `"model": "opus"`) {
			t.Errorf("%v %v\n%s", err, statErr, text)
		}
	})
	t.Run("a token that is not valid", func(t *testing.T) {
		if out, err := hooks(t, "", "install", "claude", "--yes"); err != nil {
			t.Fatal(err, out)
		}
		t.Setenv("MEUP_TOKEN", "no-such-token")
		if out, err := hooks(t, "", "status", "claude"); err == nil || !strings.Contains(err.Error(), "does not know this token") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
