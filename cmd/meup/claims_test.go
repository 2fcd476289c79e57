package main

import (
	"bytes"
	"io"
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
	run := func(who string, args ...string) (string, error) {
		t.Setenv("MEUP_TOKEN", who+"-token")
		var out bytes.Buffer
		root := newRoot(program.Process())
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(io.Discard)
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
	if _, err := run("alice", "claim"); err == nil {
		t.Error("nothing was claimed")
	}
	if out, err := run("alice", "release", "docs", "--name", "release"); err != nil {
		t.Error(out, err)
	}
	if out, err := run("bob", "claims", "--json"); err != nil || strings.TrimSpace(out) != `{"claims":[]}` {
		t.Errorf("%v: %s", err, out)
	}
}
