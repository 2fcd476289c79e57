package mcptools

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "MEUP_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "HTTPS_PROXY", "GITHUB_TOKEN", "PATHOLOGY"} {
		t.Setenv(name, "secret")
	}
	t.Setenv("LC_MESSAGES", "C")
	t.Setenv("PATH", "/bin")
	got := Environment("GITHUB_TOKEN")
	for _, want := range []string{"GITHUB_TOKEN=secret", "LC_MESSAGES=C", "PATH=/bin"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not passed on", want)
		}
	}
	if n := strings.Count(strings.Join(got, "\n"), "secret"); n != 1 {
		t.Errorf("%d secrets are passed on: %q", n, got)
	}
}
