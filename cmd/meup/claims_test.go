package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// The commands claim what is below the working directory by its absolute path, list it, and release it.
func TestClaims(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [claim]}
`)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	var notes bytes.Buffer
	run := func(who string, args ...string) (string, error) {
		t.Setenv("MEUP_TOKEN", who+"-token")
		var out bytes.Buffer
		notes.Reset()
		root := newRoot(program.Process())
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&notes)
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	if out, err := run("alice", "claim", "docs", "--name", "release", "--for", "30m", "--reason", "the guide"); err != nil {
		t.Fatal(out, err)
	}
	out, err := run("bob", "claims")
	if err != nil || !strings.Contains(out, "/docs  alice until ") || !strings.Contains(out, "name release  alice until ") || strings.Count(out, "the guide") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := run("bob", "claim", "docs/a.md"); err == nil || !strings.Contains(err.Error(), "alice holds ") {
		t.Errorf("claimed twice: %v", err)
	}
	for want, args := range map[string][]string{
		"expected a PATH or --name":           {"claim"},
		"expected a PATH, --name or --claim;": {"release"},
		"--for 25h0m0s: expected 1s to 24h":   {"claim", "docs", "--for", "25h"},
		"--for 10ms: expected 1s to 24h":      {"claim", "docs", "--for", "10ms"},
		`--claim "a b" is not a valid id`:     {"release", "--claim", "a b"},
	} {
		if _, err := run("alice", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if out, err := run("alice", "release", "docs", "--name", "release"); err != nil {
		t.Error(out, err)
	}
	if out, err := run("bob", "claims"); err != nil || out != "" || notes.String() != "meup: no claims\n" {
		t.Errorf("%v: %s%s", err, out, &notes)
	}
	if out, err := run("bob", "claims", "--json"); err != nil || strings.TrimSpace(out) != `{"claims":[]}` {
		t.Errorf("%v: %s", err, out)
	}
}
