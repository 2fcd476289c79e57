package meuptest

import (
	"os"
	"strings"
	"testing"
)

// ReadmeConfig returns the configuration that the README.md in the folder of the test
// shows for its examples, and sets the variables of their tokens: ALICE_TOKEN is
// alice-token.
func ReadmeConfig(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	_, rest, begins := strings.Cut(string(readme), "```yaml\n")
	yaml, _, ends := strings.Cut(rest, "```")
	if err != nil || !begins || !ends {
		t.Fatalf("README.md shows no configuration: %v", err)
	}
	for _, who := range []string{"alice", "planner", "weather"} {
		t.Setenv(strings.ToUpper(who)+"_TOKEN", who+"-token")
	}
	return "limits: {rate: 1000000, burst: 1000000} # tests poll\n" + yaml
}
