package meuptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// serviceAddress is the default address of the Reasoning API. In a conversation
// it is the address of the service that the conversation started last.
const serviceAddress = "127.0.0.1:9000"

// programs are the programs of this repository, as shell commands of a
// conversation run them.
type programs struct {
	home    string // the working directory of the commands
	address string // of the Reasoning API; "": none was started
	nats    string // URL of its NATS server; "": none was started
	started map[string]*process
}

// shell returns the command that runs a file with sh. The environment has only
// the variables that the commands of a conversation need.
func (c *conversation) shell(file string) (*exec.Cmd, error) {
	if _, ok := c.files[file]; !ok {
		return nil, fmt.Errorf("the conversation has no file %q", file)
	}
	dir, err := testkit.Programs()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-e", file)
	cmd.Dir = c.programs.home
	cmd.Env = []string{
		"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + c.programs.home, "TZ=UTC",
		"CURL_HOME=" + c.programs.home, "UVICORN_PORT=0",
		"MEUP_URL=" + c.gateway.HTTP(), "MEUP_SPACE=lab",
	}
	if c.model != nil {
		cmd.Env = append(cmd.Env, "MODEL_URL="+c.model.URL()+"/v1")
	}
	if c.programs.nats != "" {
		cmd.Env = append(cmd.Env, "REASONING_NATS_URL="+c.programs.nats)
	}
	return cmd, nil
}

// runs runs the line "FILE" or "FILE exits 2". The output, and the errors after
// it, become the response.
func (c *conversation) runs(line string) error {
	file, exits, _ := strings.Cut(line, " exits ")
	want := 0
	if exits != "" {
		var err error
		want, err = strconv.Atoi(exits)
		if err != nil {
			return fmt.Errorf("exit code: %w", err)
		}
	}
	cmd, err := c.shell(file)
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return err
	} else if ok && exit.ExitCode() != want || !ok && want != 0 {
		return fmt.Errorf("it ended with %v\n%s%s", cmd.ProcessState, out, &stderr)
	}
	c.answer = answer{body: append(out, stderr.Bytes()...)}
	return nil
}

// process is a command that runs until the conversation stops it.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu      sync.Mutex
	log     []byte
	changed chan struct{} // closed when log grows
}

// Write appends to the log of the process.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, b...)
	close(p.changed)
	p.changed = make(chan struct{})
	return len(b), nil
}

// await waits until the log has a match, and returns it.
func (p *process) await(ctx context.Context, what *regexp.Regexp) ([]string, error) {
	for {
		p.mu.Lock()
		text, changed := string(p.log), p.changed
		p.mu.Unlock()
		if found := what.FindStringSubmatch(text); found != nil {
			return found, nil
		}
		select {
		case <-changed:
		case <-p.done:
			return nil, fmt.Errorf("it ended with %v:\n%s", p.cmd.ProcessState, text)
		case <-ctx.Done():
			return nil, fmt.Errorf("its log has no %s:\n%s", what, text)
		}
	}
}

// ready is the line that a program of this repository logs when it works.
var (
	ready = regexp.MustCompile(`msg="?(serving|working|agent ready)"? .*\n`)
	at    = regexp.MustCompile(`msg=serving address=(\S+)`)
	nats  = regexp.MustCompile(`msg="NATS server started" address=(\S+)`)
)

// starts runs the line "FILE": the command runs until the end, or until it is
// stopped.
func (c *conversation) starts(ctx context.Context, file string) error {
	cmd, err := c.shell(file)
	if err != nil {
		return err
	}
	p := &process{cmd: cmd, done: make(chan struct{}), changed: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { // ends with the process; end stops it
		_ = cmd.Wait()
		close(p.done)
	}()
	c.programs.started[file] = p
	found, err := p.await(ctx, ready)
	if err != nil {
		return err
	}
	p.mu.Lock()
	log := string(p.log)
	p.mu.Unlock()
	if m := nats.FindStringSubmatch(log); m != nil {
		c.programs.nats = m[1]
	}
	if m := at.FindStringSubmatch(found[0]); m != nil {
		c.programs.address = m[1]
		return os.WriteFile(filepath.Join(c.programs.home, ".curlrc"), []byte(`connect-to = "`+serviceAddress+":"+m[1]+"\"\n"), 0o600)
	}
	return nil
}

// stops runs the line "FILE": the command gets SIGTERM and must end with exit
// code 0.
func (c *conversation) stops(ctx context.Context, file string) error {
	p := c.programs.started[file]
	if p == nil {
		return fmt.Errorf("%s was not started", file)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("it ended with %d:\n%s", code, p.log)
	}
	return nil
}

// logged runs the line "FILE has TEXT".
func (c *conversation) logged(ctx context.Context, line string) error {
	file, text, _ := strings.Cut(line, " has ")
	p := c.programs.started[file]
	if p == nil {
		return fmt.Errorf("%s was not started", file)
	}
	_, err := p.await(ctx, regexp.MustCompile(regexp.QuoteMeta(c.vars.Fill(text))))
	return err
}

// end kills the commands that run.
func (p *programs) end() {
	for _, p := range p.started {
		_ = p.cmd.Process.Kill() // fails if it has ended
		<-p.done
	}
}

// client returns an HTTP client for which the service has its default address.
func (p *programs) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == serviceAddress {
				if p.address == "" {
					return nil, errors.New("the conversation has started no meup-reasoner")
				}
				address = p.address
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
}

// environment parses lines of NAME=value.
func environment(text string) func(string) string {
	lines := strings.Split(text, "\n")
	return func(name string) string {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+"=") })
		if i < 0 {
			return ""
		}
		return strings.TrimPrefix(lines[i], name+"=")
	}
}

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
