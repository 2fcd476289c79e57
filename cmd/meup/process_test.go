package main

import (
	"bufio"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// process is a program that a script started in the background.
type process struct {
	*exec.Cmd
	reading sync.WaitGroup
	lines   chan string // of its output
	seen    []string
}

// startProcess starts a program in the environment of the script.
func startProcess(ts *testscript.TestScript, env []string, name string, args ...string) *process {
	p := &process{Cmd: exec.Command(name, args...), lines: make(chan string, 4096)}
	p.Env, p.Dir = env, ts.MkAbs(".")
	out, err := p.StdoutPipe()
	ts.Check(err)
	p.Stderr = p.Stdout
	ts.Check(p.Start())
	p.reading.Go(func() { // ends with the program; stop waits for it
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	})
	return p
}

// await reads the program's output until a line matches.
func (p *process) await(ts *testscript.TestScript, line *regexp.Regexp) []string {
	limit := time.After(time.Minute)
	for {
		select {
		case text, ok := <-p.lines:
			if !ok {
				ts.Fatalf("%s ended before printing %s:\n%s", p.Path, line, strings.Join(p.seen, "\n"))
			}
			p.seen = append(p.seen, text)
			if found := line.FindStringSubmatch(text); found != nil {
				return found
			}
		case <-limit:
			ts.Fatalf("%s did not print %s:\n%s", p.Path, line, strings.Join(p.seen, "\n"))
		}
	}
}

// stop ends the program and returns its exit code.
func (p *process) stop(s syscall.Signal) int {
	_ = p.Process.Signal(s)
	for text := range p.lines {
		p.seen = append(p.seen, text)
	}
	p.reading.Wait()
	var failed *exec.ExitError
	if err := p.Wait(); errors.As(err, &failed) {
		return failed.ExitCode()
	}
	return 0
}

// processes holds the background programs of a script, by name.
type processes struct{ running map[string]*process }

type processesKey struct{}

func (all *processes) stop() {
	for _, p := range all.running {
		p.stop(syscall.SIGTERM)
	}
}

func processesOf(ts *testscript.TestScript) *processes {
	all, ok := ts.Value(processesKey{}).(*processes)
	if !ok {
		ts.Fatalf("no processes")
	}
	return all
}

// starts runs a command in the background, under a name.
func starts(ts *testscript.TestScript, _ bool, args []string) {
	path, err := exec.LookPath(args[1]) // installed by testscript
	ts.Check(err)
	env := environment(ts)
	processesOf(ts).running[args[0]] = startProcess(ts, env, path, args[2:]...)
}

// environment returns the script's variables that our programs read.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TZ", "TERM", "NO_COLOR", "MEUP_URL", "MEUP_SPACE", "MEUP_TOKEN"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// prints waits for output of a background command.
func prints(ts *testscript.TestScript, _ bool, args []string) {
	p := processesOf(ts).running[args[0]]
	if p == nil {
		ts.Fatalf("nothing called %s was started", args[0])
	}
	p.await(ts, regexp.MustCompile(args[1]))
}

// ended ends a command with a signal (0: waits for it), compares its exit code
// with the expected one, and prints its output.
func ended(ts *testscript.TestScript, name, code string, signal syscall.Signal) {
	all := processesOf(ts)
	p := all.running[name]
	delete(all.running, name)
	want, err := strconv.Atoi(code)
	ts.Check(err)
	if got := p.stop(signal); got != want {
		ts.Fatalf("%s ends with exit code %d, not %d:\n%s", name, got, want, strings.Join(p.seen, "\n"))
	}
	_, err = ts.Stdout().Write([]byte(strings.Join(p.seen, "\n") + "\n"))
	ts.Check(err)
}
