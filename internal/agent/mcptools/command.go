package mcptools

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message of a server. Results of tens of megabytes are
// accepted; a server that sends more is terminated.
const maxLine = 64 << 20

// command is a transport over a program's standard input and output. Unlike the
// SDK's transport it runs the program in its own process group and ends the
// whole group, because the child processes of npx and shells would otherwise
// keep running.
type command struct {
	config Server
	grace  time.Duration
	log    *slog.Logger

	stderr stderrTail
}

// Connect starts the program.
func (c *command) Connect(context.Context) (mcp.Connection, error) {
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	cmd := exec.Command(c.config.Command[0], c.config.Command[1:]...)
	cmd.Dir, cmd.Env = c.config.Dir, c.config.Env
	if cmd.Env == nil {
		cmd.Env = Environment()
	}
	cmd.SysProcAttr = ownGroup()
	// A file, not a pipe of exec: Wait would close the pipe before the last
	// output is read.
	cmd.Stdout = theirOut
	cmd.Stderr = &lineWriter{emit: c.logLine}
	cmd.WaitDelay = c.grace // for stderr, which a child may keep open
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = theirOut.Close()
	if err != nil {
		_ = stdout.Close()
		return nil, fmt.Errorf("start command: %w", err)
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: stdout, grace: c.grace, exited: make(chan struct{})}
	go func() { // ends with the program, which Close ends
		_ = cmd.Wait()
		killGroup(cmd.Process.Pid) // children that hold the output open
		close(p.exited)
	}()
	return (&mcp.IOTransport{Reader: io.NopCloser(stdout), Writer: p, MaxLineLength: maxLine}).Connect(context.Background())
}

func (c *command) logLine(line string) {
	c.stderr.add(line)
	c.log.Debug("tool server says", "line", line)
}

// process is a running program, as the writer for its input.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	grace  time.Duration
	exited chan struct{} // the program has ended and its group was killed
	once   sync.Once
}

func (p *process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close ends the program as MCP requires: close its input, then send it a
// signal to terminate, then kill it. It returns when the whole group has ended.
func (p *process) Close() error {
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

func (p *process) waits() bool {
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
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

// withStderrTail adds the last lines of a command's standard error to the error
// of its start.
func withStderrTail(err error, transport mcp.Transport) error {
	if t, ok := transport.(tapped); ok {
		transport = t.Transport
	}
	c, ok := transport.(*command)
	if !ok {
		return err
	}
	c.stderr.mu.Lock()
	defer c.stderr.mu.Unlock()
	if len(c.stderr.lines) == 0 {
		return err
	}
	return fmt.Errorf("%w; it said: %s", err, strings.Join(c.stderr.lines, " / "))
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
