package mcpclients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// check is the result of one check of the suite.
type check struct{ ID, Status, ErrorMessage string }

var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT.*$`)

// patience makes the suite wait five times as long as it does for a notification or a
// program: a busy machine may need more than its seconds.
const patience = `data:text/javascript,
	const {setTimeout: timer} = globalThis, {timeout} = AbortSignal;
	globalThis.setTimeout = (f, ms, ...args) => timer(f, ms < 1000 ? ms : 5 * ms, ...args);
	AbortSignal.timeout = (ms) => timeout.call(AbortSignal, 5 * ms);`

// conformance runs the scenarios that a revision requires, and returns how many
// checks of each kind succeeded.
func conformance(t *testing.T, address, revision string) (passed map[string]int, why map[string]string) {
	t.Helper()
	out := t.TempDir()
	// The exit code says that a scenario failed, which may be one of the fixture.
	text, err := run(t, nil, node(t), "--import", patience, installed(t, "@modelcontextprotocol/conformance/dist/index.js"), "server", "--url", address, "--requirements", revision, "--output-dir", out)
	passed, why = make(map[string]int), make(map[string]string)
	files, _ := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(body, &checks); err != nil {
			t.Fatal(err)
		}
		scenario := stamp.ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		for _, c := range checks {
			id := scenario + " " + c.ID
			if c.Status == "SUCCESS" {
				passed[id]++
			} else {
				why[id] = c.Status + ": " + c.ErrorMessage
			}
		}
	}
	if len(passed) == 0 {
		t.Fatalf("no check succeeded: %v\n%s", err, text)
	}
	return passed, why
}

// ownStream are the checks, by revision, of a tool that closes the event stream of
// its own HTTP connection. Through a space that is not the client's stream: the
// bridge and the fixture are connected by standard input and output.
var ownStream = map[string]bool{"2025-11-25 server-server-sse-polling server-sse-retry-field": true}

// Every check that the fixture passes alone, it passes through a space.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			node(t)
			alone, _ := conformance(t, direct(t), revision)
			through, why := conformance(t, authorized(t, bridged(t)), revision)
			count := 0
			for id, n := range alone {
				if through[id] < n && !ownStream[revision+" "+id] {
					t.Errorf("%s: %d of %d succeed through the space; %s", id, through[id], n, why[id])
				}
				count += through[id]
			}
			t.Logf("%d checks of revision %s succeed through the space", count, revision)
		})
	}
}
