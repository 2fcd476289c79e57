package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// process is a program that a script started in the background.
type process struct {
	*exec.Cmd
	reading sync.WaitGroup
	lines   chan string // of its output
	seen    []string
	tty     *terminal // nil: it runs on pipes
}

// terminal is a pseudo-terminal.
type terminal struct {
	master, program *os.File
	before          *term.State
}

// startProcess starts a program in the environment of the script, on a pseudo-terminal if
// there is one.
func startProcess(ts *testscript.TestScript, tty *terminal, env []string, name string, args ...string) *process {
	p := &process{Cmd: exec.Command(name, args...), lines: make(chan string, 4096), tty: tty}
	p.Env, p.Dir = env, ts.MkAbs(".")
	var out io.Reader
	if tty != nil {
		p.Stdin, p.Stdout, out = tty.program, tty.program, tty.master
		p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	} else {
		pipe, err := p.StdoutPipe()
		ts.Check(err)
		out = pipe
	}
	p.Stderr = p.Stdout
	ts.Check(p.Start())
	p.reading.Go(func() { // ends with the program; stop waits for it
		defer close(p.lines)
		s := bufio.NewScanner(out)
		if tty != nil {
			s.Split(linesAndPrompts)
		}
		for s.Scan() {
			p.lines <- s.Text()
		}
	})
	return p
}

// openTerminal opens a pseudo-terminal.
func openTerminal(ts *testscript.TestScript) *terminal {
	master, program, err := pty.Open()
	ts.Check(err)
	ts.Check(pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}))
	before, err := term.GetState(program.Fd())
	ts.Check(err)
	return &terminal{master, program, before}
}

// linesAndPrompts splits output into lines, and into prompts, which end with ": " or "] ".
func linesAndPrompts(data []byte, atEOF bool) (int, []byte, error) {
	if !bytes.ContainsRune(data, '\n') && (bytes.HasSuffix(data, []byte(": ")) || bytes.HasSuffix(data, []byte("] "))) {
		return len(data), data, nil
	}
	return bufio.ScanLines(data, atEOF)
}

// types enters a text at the terminal of a command; ^C is Ctrl-C, and ^M Enter.
func types(ts *testscript.TestScript, _ bool, args []string) {
	p := processesOf(ts).running[args[0]]
	_, err := p.tty.master.WriteString(strings.NewReplacer("^C", "\x03", "^M", "\r").Replace(args[1]))
	ts.Check(err)
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
	var err error
	if p.tty != nil { // its output ends when it is closed
		err = p.Wait()
		after, failed := term.GetState(p.tty.program.Fd())
		if failed != nil || !reflect.DeepEqual(after, p.tty.before) {
			p.seen = append(p.seen, "the terminal is left in another mode")
		}
		_ = p.tty.program.Close()
		defer p.tty.master.Close()
	}
	for text := range p.lines {
		p.seen = append(p.seen, text)
	}
	p.reading.Wait()
	if p.tty == nil {
		err = p.Wait()
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
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

// starts runs a command in the background, under a name; -tty: on a pseudo-terminal.
func starts(ts *testscript.TestScript, _ bool, args []string) {
	var tty *terminal
	if args[0] == "-tty" {
		tty, args = openTerminal(ts), args[1:]
	}
	path, err := exec.LookPath(args[1]) // installed by testscript
	ts.Check(err)
	env := environment(ts)
	processesOf(ts).running[args[0]] = startProcess(ts, tty, env, path, args[2:]...)
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
