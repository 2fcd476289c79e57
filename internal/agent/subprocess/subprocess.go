// Package subprocess runs a program that speaks a protocol on its standard input
// and output, in a process group of its own: the child processes of npx and shells
// would otherwise keep running.
package subprocess

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Options configures a Process. Command and Log are required.
type Options struct {
	Command []string // program and arguments
	Dir     string
	Env     []string      // nil: Environment()
	Grace   time.Duration // for the program to end by itself
	Log     *slog.Logger  // of what the program writes to standard error, at level debug
}

// Process is a running program. Write writes to its input.
type Process struct {
	Stdout io.Reader // its output, which ends when all programs of the group have ended

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	grace  time.Duration
	exited chan struct{} // the program has ended and its group was killed
	once   sync.Once
	stderr *stderrTail
}

// Start starts a program.
func Start(o Options) (*Process, error) {
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	tail := &stderrTail{}
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
		tail.add(line)
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
	p := &Process{Stdout: stdout, cmd: cmd, stdin: stdin, stdout: stdout, grace: o.Grace, exited: make(chan struct{}), stderr: tail}
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
		if !p.waits() {
			terminateGroup(p.cmd.Process.Pid)
			if !p.waits() {
				killGroup(p.cmd.Process.Pid)
			}
		}
		<-p.exited
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

func (p *Process) waits() bool {
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// Explain adds the last lines of the program's standard error to an error.
func (p *Process) Explain(err error) error {
	if p == nil {
		return err
	}
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	if err == nil || len(p.stderr.lines) == 0 {
		return err
	}
	return fmt.Errorf("%w; it wrote: %s", err, strings.Join(p.stderr.lines, " / "))
}

// lineWriter calls emit for each line; overlong lines are truncated.
type lineWriter struct {
	emit func(string)
	line []byte
}

const maxStderrLine = 4096

func (w *lineWriter) Write(b []byte) (int, error) {
	for _, c := range b {
		if c == '\n' {
			w.emit(strings.ToValidUTF8(string(w.line), "?"))
			w.line = w.line[:0]
			continue
		}
		if len(w.line) < maxStderrLine {
			w.line = append(w.line, c)
		}
	}
	return len(b), nil
}

// stderrTail keeps the last lines that a program wrote to its standard error,
// for the error of a failed start.
type stderrTail struct {
	mu    sync.Mutex
	lines []string
}

const maxStderrLines = 5

func (w *stderrTail) add(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	if len(w.lines) > maxStderrLines {
		w.lines = w.lines[1:]
	}
}
