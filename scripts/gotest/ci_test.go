package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// steps are programs of a folder in which only the order of .ci/run is real. The lint that
// hangs holds the pipe at 3 until it is ended, and writes to it if it is not; the failing
// test begins when it has begun.
const steps = `#!/bin/bash
case "$*" in
*prepare*) echo "CI is $CI" ;;
*lint) if [[ ${LINT:-} == hangs ]]; then echo >begun; sleep 300; echo lint runs on >&3; fi; exit "${LINT:-0}" ;;
*race*) printf "${IN_RACE:-}" ;;
*test) if [[ ${LINT:-} == hangs ]]; then read -r <begun; fi; printf "${IN_TEST:-}"; exit "${TEST:-0}" ;;
esac
`

// TestCI checks when .ci/run fails, and that nothing of it runs on then.
func TestCI(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		".ci/run": string(script), "scripts/gofiles.sh": "#!/bin/bash\n", "bin/make": steps, "bin/go": "#!/bin/bash\n", "bin/gofmt": "#!/bin/bash\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const one, two = `FLAKY TestA (a): failed once, passed once\n`, `FLAKY TestB (b): failed once, passed once\nFLAKY TestC (c): failed once, passed once\n`
	for name, test := range map[string]struct {
		env    []string
		failed bool
		want   string
	}{
		"all pass":                      {want: "CI is true\n"},
		"the setting of CI is kept":     {env: []string{"CI=false"}, want: "CI is false\n"},
		"three flaky tests":             {env: []string{"IN_TEST=" + one, "IN_RACE=" + two}, want: "\nFLAKY TestA (a): failed once, passed once\nFLAKY TestB"},
		"four, in both steps":           {env: []string{"IN_TEST=" + two, "IN_RACE=" + two}, failed: true, want: "more than three flaky tests"},
		"lint fails":                    {env: []string{"LINT=2"}, failed: true, want: "== lint, beside the tests: failed"},
		"tests fail, and lint is ended": {env: []string{"LINT=hangs", "TEST=1"}, failed: true, want: "== test: failed"},
	} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(dir, "begun")
			if out, err := exec.CommandContext(t.Context(), "mkfifo", fifo).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			defer os.Remove(fifo) //nolint:errcheck // the next case fails then
			ended, held, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer ended.Close()
			run := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci", "run"))
			run.Env = append([]string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, test.env...)
			run.ExtraFiles = []*os.File{held}
			out, err := run.CombinedOutput()
			_ = held.Close()
			if failed := err != nil; failed != test.failed || !strings.Contains(string(out), test.want) {
				t.Errorf("%v, want failed %t and %q:\n%s", err, test.failed, test.want, out)
			}
			if left, err := io.ReadAll(ended); err != nil || len(left) > 0 { // until every process of the run has ended
				t.Errorf("%v: %s", err, left)
			}
		})
	}
}
