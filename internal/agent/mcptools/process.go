package mcptools

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

// ProcessOptions configures a Process. Command and Log are required.
type ProcessOptions struct {
	Command []string // program and arguments
	Dir     string
	Env     []string      // nil: Environment()
	Grace   time.Duration // for the program to end by itself
	Drained bool          // Stdout is read to its end, for which Close waits
	Log     *slog.Logger  // of what the program writes to standard error, at level debug
}

// Process is a running program that speaks a protocol on its standard input and output,
// in a process group of its own: the child processes of npx and shells would otherwise keep
// running. Write writes to its input.
type Process struct {
	Stdout io.Reader // its output, which ends when all programs of the group have ended

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *output
	grace  time.Duration
	exited chan struct{} // the program has ended and its group was killed
	once   sync.Once
	log    *slog.Logger
	stderr *tail
	noise  *tail // lines of its output that are no messages

	drained bool
}

// output is the program's standard output.
type output struct {
	*os.File
	once  sync.Once
	ended chan struct{} // closed at its end
}

// Read reads from the output. It is called by one goroutine.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.File.Read(b)
	if err != nil {
		o.once.Do(func() { close(o.ended) })
	}
	return n, err
}

// StartProcess starts a program.
func StartProcess(o ProcessOptions) (*Process, error) {
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	stderr := new(tail)
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Dir, cmd.Env = o.Dir, o.Env
	if cmd.Env == nil {
		cmd.Env = Environment()
	}
	cmd.SysProcAttr = ownGroup()
	// A file, not a pipe of exec: Wait would close the pipe before the last
	// output is read.
	cmd.Stdout = theirOut
	cmd.Stderr = &lineWriter{emit: func(line string) {
		stderr.add(line)
		o.Log.Debug("program says", "line", line)
	}}
	cmd.WaitDelay = o.Grace // for stderr, which a child may keep open
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = theirOut.Close()
	if err != nil {
		_ = stdout.Close()
		return nil, fmt.Errorf("start command: %w", err)
	}
	out := &output{File: stdout, ended: make(chan struct{})}
	p := &Process{
		Stdout: out, cmd: cmd, stdin: stdin, stdout: out, grace: o.Grace, exited: make(chan struct{}),
		log: o.Log, stderr: stderr, noise: new(tail), drained: o.Drained,
	}
	go func() { // ends with the program, which Close ends
		_ = cmd.Wait()
		killGroup(cmd.Process.Pid) // children that hold the output open
		close(p.exited)
	}()
	return p, nil
}

// Write writes to the program's input.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close ends the program as MCP requires: close its input, then send it a
// signal to terminate, then kill it. It returns when the whole group has ended.
func (p *Process) Close() error {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !p.waitFor(p.exited) {
			terminateGroup(p.cmd.Process.Pid)
			if !p.waitFor(p.exited) {
				killGroup(p.cmd.Process.Pid)
			}
		}
		<-p.exited
		if p.drained {
			_ = p.waitFor(p.stdout.ended)
		}
		_ = p.stdout.Close()
	})
	return nil
}

// Kill ends the whole group at once. Close must still be called.
func (p *Process) Kill() { killGroup(p.cmd.Process.Pid) }

// Terminate sends the whole group the signal to terminate. Close must still be called.
func (p *Process) Terminate() { terminateGroup(p.cmd.Process.Pid) }

// Exited returns a channel that is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitCode returns the exit status of the program that has ended; -1: a signal ended it.
func (p *Process) ExitCode() int {
	<-p.exited
	return p.cmd.ProcessState.ExitCode()
}

// waitFor waits for an end, at most for the grace period, and reports whether it came.
func (p *Process) waitFor(ended <-chan struct{}) bool {
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// Noise notes a line of the output that is no message, for Explain. The first one of
// each kind is logged.
func (p *Process) Noise(kind string, line []byte) {
	text := strings.ToValidUTF8(string(line[:min(len(line), maxTailLine)]), "?")
	if p.noise.first(kind) {
		p.log.Warn("the program writes to standard output what is no message; it is ignored", "kind", kind, "line", mask(text))
	}
	p.noise.add(text)
}

// Explain adds the last lines to an error that the program wrote to standard error, and
// to standard output without being messages. Secrets in them are masked.
func (p *Process) Explain(err error) error {
	if p == nil || err == nil {
		return err
	}
	if lines := p.stderr.String(); lines != "" {
		err = fmt.Errorf("%w; it wrote: %s", err, lines)
	}
	if lines := p.noise.String(); lines != "" {
		err = fmt.Errorf("%w; to standard output: %s", err, lines)
	}
	return err
}

// mask masks the secrets in a text of the program.
func mask(text string) string {
	rules, err := redact.Default()
	if err != nil { // the rules are built in
		return "[not shown]"
	}
	return rules.Mask(text)
}

// lineWriter calls emit for each line; overlong lines are truncated.
type lineWriter struct {
	emit func(string)
	line []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	for _, c := range b {
		if c == '\n' {
			w.emit(strings.ToValidUTF8(string(w.line), "?"))
			w.line = w.line[:0]
			continue
		}
		if len(w.line) < maxTailLine {
			w.line = append(w.line, c)
		}
	}
	return len(b), nil
}

// tail keeps the last lines of an output.
type tail struct {
	mu    sync.Mutex
	lines []string
	kinds map[string]bool
}

// Bounds of a tail.
const (
	maxTailLines = 5
	maxTailLine  = 1024 // bytes
)

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > maxTailLines {
		t.lines = t.lines[1:]
	}
}

// first reports whether it is called for the first time with a kind.
func (t *tail) first(kind string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = make(map[string]bool)
	}
	first := !t.kinds[kind]
	t.kinds[kind] = true
	return first
}

// String returns the lines in one, with masked secrets.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return mask(strings.Join(t.lines, " / "))
}

// defaultEnv are the environment variables passed to a server's command:
// variables that programs need to run, none likely to hold a secret. A name
// that ends with * is a prefix. Names are compared without case, for Windows.
var defaultEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG", "LANGUAGE", "LC_*", "TMPDIR", "XDG_*",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	// Windows.
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES*",
	"PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Environment returns the variables of this process to pass to a server's
// command: a fixed list of harmless ones, and those named by the caller.
func Environment(names ...string) []string {
	allowed := slices.Concat(defaultEnv, names)
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		key, _, _ := strings.Cut(variable, "=")
		return !slices.ContainsFunc(allowed, func(name string) bool {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				return len(key) >= len(prefix) && strings.EqualFold(key[:len(prefix)], prefix)
			}
			return strings.EqualFold(key, name)
		})
	})
}
