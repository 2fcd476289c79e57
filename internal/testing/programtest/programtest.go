// Package programtest runs the commands of a program in testscript scripts, in the process of
// the test.
package programtest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// Command runs a command line and returns the exit code.
type Command func(ctx context.Context, env *program.Environment, args []string) int

// Commands returns commands for scripts about a program:
//
//	NAME ARG…               runs it in the process of the test; a last argument <FILE
//	                        is its standard input
//	exits CODE COMMAND…     the command ends with that exit code; one with another name
//	                        is a process
func Commands(name string, run Command) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		name: func(ts *testscript.TestScript, fails bool, args []string) {
			if code := call(ts, run, args); (code != 0) != fails {
				ts.Fatalf("%s ends with exit code %d", name, code)
			}
		},
		"exits": func(ts *testscript.TestScript, _ bool, args []string) {
			want, err := strconv.Atoi(args[0])
			ts.Check(err)
			got := 0
			if args[1] == name {
				got = call(ts, run, args[2:])
			} else {
				err := ts.Exec(args[1], args[2:]...)
				failed, ended := errors.AsType[*exec.ExitError](err)
				if ended {
					got = failed.ExitCode()
				} else {
					ts.Check(err)
				}
			}
			if got != want {
				ts.Fatalf("%s ends with exit code %d, not %d", strings.Join(args[1:], " "), got, want)
			}
		},
	}
}

func call(ts *testscript.TestScript, run Command, args []string) int {
	input := ""
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "<") {
		input, args = ts.ReadFile(args[n-1][1:]), args[:n-1]
	}
	var out, errs testkit.Log
	env := &program.Environment{In: strings.NewReader(input), Out: &out, Err: &errs, Getenv: ts.Getenv, Dir: ts.MkAbs(".")}
	code := run(context.Background(), env, args)
	_, _ = io.WriteString(ts.Stdout(), out.String()) // never fails
	_, _ = io.WriteString(ts.Stderr(), errs.String())
	return code
}

// Main runs the tests of a program. In them, the test binary is the program under its name:
// it has the race detector where the tests have it, and counts for the coverage.
func Main(m *testing.M, name string, main func()) {
	testscript.Main(tests{m}, map[string]func(){name: main})
}

type tests struct{ *testing.M }

// Run runs the tests as testkit.Main does.
func (t tests) Run() int { return testkit.Run(t.M) }

// Program returns the path of the program of Main.
func Program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Race gives the settings of the race detector to a script.
func Race(e *testscript.Env) error {
	e.Setenv("GORACE", os.Getenv("GORACE"))
	return nil
}

// Path puts the programs of this repository into the PATH of a script.
func Path(e *testscript.Env) error {
	dir, err := testkit.Programs()
	if err != nil {
		return err
	}
	e.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return nil
}
