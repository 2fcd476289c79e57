package main

import (
	"bufio"
	"bytes"
	"context"
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

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// process is a command that a script started in the background.
type process struct {
	name    string
	signal  func(os.Signal)
	wait    func() int // returns the exit code
	reading sync.WaitGroup
	lines   chan string // of its output
	seen    []string
	errs    testkit.Log // standard error in the process of the test
	late    func()      // ends its --timeout
	silent  func()      // ends the time without a reaction to its message
	tty     *terminal   // nil: it has none
}

// terminal is a pseudo-terminal.
type terminal struct {
	master, program *os.File
	before          *term.State
}

// startCommand runs a command in the process of the test; a signal ends its context.
func startCommand(ts *testscript.TestScript, args []string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{name: "meup", signal: func(os.Signal) { cancel() }}
	variables := environment(ts)
	r, w := io.Pipe()
	timers := make(chan func(), 2)
	p.late = func() { (<-timers)() }
	p.silent = func() {
		timeout := <-timers
		(<-timers)()
		timers <- timeout
	}
	env := &program.Environment{
		In: strings.NewReader(""), Out: w, Err: io.MultiWriter(w, &p.errs), Dir: ts.MkAbs("."),
		Getenv: func(name string) string { return variables[name] },
		AfterFunc: func(_ time.Duration, f func()) *time.Timer {
			timers <- f
			return time.NewTimer(testkit.Patience) // has no effect
		},
	}
	code := make(chan int, 1)
	go func() { // ends with the command; wait waits for it
		defer w.Close()
		code <- run(ctx, env, args)
	}()
	p.wait = func() int { defer cancel(); return <-code }
	p.read(r)
	return p
}

// startProcess starts a program in the environment of the script, on a pseudo-terminal if
// there is one.
func startProcess(ts *testscript.TestScript, tty *terminal, name string, args ...string) *process {
	path := testkit.Program(of(ts).t, name)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for name, value := range environment(ts) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	p := &process{name: name, tty: tty, signal: func(s os.Signal) { _ = cmd.Process.Signal(s) }}
	var out io.Reader
	if tty != nil {
		cmd.Stdin, cmd.Stdout, out = tty.program, tty.program, tty.master
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	} else {
		pipe, err := cmd.StdoutPipe()
		ts.Check(err)
		out = pipe
	}
	cmd.Stderr = cmd.Stdout
	ts.Check(cmd.Start())
	p.wait = func() int {
		if failed, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok {
			return failed.ExitCode()
		}
		return 0
	}
	p.read(out)
	return p
}

// read reads the output until it ends.
func (p *process) read(out io.Reader) {
	p.lines = make(chan string, 4096)
	p.reading.Go(func() { // ends with the command; stop waits for it
		defer close(p.lines)
		s := bufio.NewScanner(out)
		if p.tty != nil {
			s.Split(linesAndPrompts)
		}
		for s.Scan() {
			p.lines <- s.Text()
		}
	})
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
	p := of(ts).running[args[0]]
	_, err := p.tty.master.WriteString(strings.NewReplacer("^C", "\x03", "^M", "\r").Replace(args[1]))
	ts.Check(err)
}

// await reads the program's output until a line matches.
func (p *process) await(ts *testscript.TestScript, line *regexp.Regexp) []string {
	limit := time.After(testkit.Patience)
	for {
		select {
		case text, ok := <-p.lines:
			if !ok {
				ts.Fatalf("%s ended before printing %s:\n%s", p.name, line, strings.Join(p.seen, "\n"))
			}
			p.seen = append(p.seen, text)
			if found := line.FindStringSubmatch(text); found != nil {
				return found
			}
		case <-limit:
			ts.Fatalf("%s did not print %s:\n%s", p.name, line, strings.Join(p.seen, "\n"))
		}
	}
}

// stop ends the command with a signal (0: waits for it) and returns its exit code.
func (p *process) stop(s syscall.Signal) (code int) {
	if s != 0 {
		p.signal(s)
	}
	if p.tty != nil { // its output ends when it is closed
		code = p.wait()
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
		code = p.wait()
	}
	return code
}

// starts runs a command in the background, under a name.
func starts(ts *testscript.TestScript, _ bool, args []string) {
	var p *process
	switch args[0] {
	case "-tty":
		args = args[1:]
		p = startProcess(ts, openTerminal(ts), args[1], args[2:]...)
	case "-process":
		args = args[1:]
		p = startProcess(ts, nil, args[1], args[2:]...)
	default:
		p = startCommand(ts, args[2:])
	}
	of(ts).running[args[0]] = p
}

// environment returns the script's variables that our programs read.
func environment(ts *testscript.TestScript) map[string]string {
	variables := make(map[string]string)
	for _, name := range []string{"PATH", "HOME", "TZ", "TERM", "NO_COLOR", "XDG_CONFIG_HOME", "MEUP_URL", "MEUP_SPACE", "MEUP_TOKEN"} {
		variables[name] = ts.Getenv(name)
	}
	return variables
}

// prints waits for output of a background command.
func prints(ts *testscript.TestScript, _ bool, args []string) {
	p := of(ts).running[args[0]]
	if p == nil {
		ts.Fatalf("nothing called %s was started", args[0])
	}
	p.await(ts, regexp.MustCompile(args[1]))
}

// ended ends a command with a signal (0: waits for it), and compares its exit code with the
// expected one. Its output becomes the standard output, and its errors
// in the process of the test also the standard error.
func ended(ts *testscript.TestScript, name, code string, signal syscall.Signal) {
	p := of(ts).running[name]
	delete(of(ts).running, name)
	want, err := strconv.Atoi(code)
	ts.Check(err)
	if got := p.stop(signal); got != want {
		ts.Fatalf("%s ends with exit code %d, not %d:\n%s", name, got, want, strings.Join(p.seen, "\n"))
	}
	_, _ = io.WriteString(ts.Stdout(), strings.Join(p.seen, "\n")+"\n") // never fails
	_, _ = io.WriteString(ts.Stderr(), p.errs.String())
}
