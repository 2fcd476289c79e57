//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The names of the servers, as columns of the table.
const (
	gatewayName = "gateway"
	bareName    = "bare"
	// jetStreamName is a NATS server that syncs each message, to consumers of its
	// stream; jetStreamCoreName is the same to subscribers, which do not wait for it.
	jetStreamName     = "JetStream"
	jetStreamCoreName = "JetStream, core subscribers"
)

// process is a server that is measured.
type process struct {
	ctx     context.Context //nolint:containedctx // whose end kills the process
	name    string
	address string
	profile string // address of the profiler; "": none

	cmd    *exec.Cmd
	dir    string        // removed at the end
	exited chan struct{} // closed when the process has ended
	log    *tail
}

// keepsLog reports whether the server gives its envelopes a seq and stores
// them.
func (s *process) keepsLog() bool { return s.name == gatewayName }

// token returns a participant's token. It contains the name, so that no list is
// needed.
func token(participant string) string { return "bench-token-of-" + participant }

const participants = 16 // p0 to p15

// gatewayConfig has one space for most scenarios, and a glob for any number of
// others. There are no limits and no idle timeouts. configured participants of
// the glob do not connect.
func gatewayConfig(profile string, configured int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pprof_listen: %q\nidle_timeout: 3h\nping_interval: 1h\n", profile)
	b.WriteString("limits: {rate: 0, burst: 0, bytes_per_second: 0, connections: 0, open_contexts: 0, kinds: []}\nspaces:\n")
	for _, space := range []string{"bench", "s-*"} {
		fmt.Fprintf(&b, "  %q:\n    participants:\n", space)
		for i := range participants {
			name := participantName(i)
			fmt.Fprintf(&b, "      %s: {token: %q, capabilities: [\"*\"]}\n", name, token(name))
		}
	}
	for i := range configured { // of the glob, which is the last space
		name := absentName(i)
		fmt.Fprintf(&b, "      %s: {token: %q, capabilities: [chat, \"reasoning/*\"]}\n", name, token(name))
	}
	return b.String()
}

func absentName(i int) string { return "absent-" + strconv.Itoa(i) }

func participantName(i int) string { return "p" + strconv.Itoa(i) }

// startGateway starts a gateway with an empty log below dataRoot.
func startGateway(ctx context.Context, binary, dataRoot string, configured int) (*process, error) {
	dir, err := os.MkdirTemp(dataRoot, "meup-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the log: %w", err)
	}
	s := &process{ctx: ctx, name: gatewayName, dir: dir}
	s.profile, err = freeAddress()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	file := filepath.Join(dir, "meup.yaml")
	if err := os.WriteFile(file, []byte(gatewayConfig(s.profile, configured)), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.cmd = exec.CommandContext(ctx, binary, "serve", "--config", file, "--listen", "127.0.0.1:0",
		"--data", filepath.Join(dir, "data"), "--log-format", "json")
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, nil
}

// bareEnv, set to the number of blocks of its ring, makes this program the bare
// broadcaster.
const bareEnv = "MEUP_BENCH_BARE"

// startBare starts this program again as the bare broadcaster.
func startBare(ctx context.Context, ring int) (*process, error) {
	return startSelf(ctx, bareName, bareEnv+"="+strconv.Itoa(ring))
}

// startSelf starts this program again as the server that the variable selects.
func startSelf(ctx context.Context, name, variable string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &process{ctx: ctx, name: name, cmd: exec.CommandContext(ctx, self)}
	s.cmd.Env = append(os.Environ(), variable)
	err = s.start()
	return s, err
}

// start starts the process and reads its address from its log.
func (s *process) start() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.cmd.Stdout, s.cmd.Stderr = w, w
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the %s: %w", s.name, err), r.Close(), w.Close(), os.RemoveAll(s.dir))
	}
	_ = w.Close()
	s.log, s.exited = newTail(), make(chan struct{})
	address := make(chan string, 1)
	go s.follow(r, address) // ends with the process, whose end of the pipe closes
	select {
	case s.address = <-address:
		return nil
	case <-s.exited:
		return errors.Join(fmt.Errorf("start the %s: it ended: %s", s.name, s.log), s.stop())
	case <-time.After(30 * time.Second):
		return errors.Join(fmt.Errorf("start the %s: it does not say where it listens: %s", s.name, s.log), s.stop())
	}
}

func (s *process) follow(r io.ReadCloser, address chan<- string) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			select {
			case address <- line.Address:
			default:
			}
		}
		s.log.add(lines.Text())
	}
	_ = r.Close()
	if err := s.cmd.Wait(); err != nil {
		s.log.add(err.Error())
	}
	close(s.exited)
}

// stop ends the process and removes its files.
func (s *process) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited: // the log has the reason
	case <-time.After(15 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// path returns the URL path of a connection; query begins with "&" or is empty.
func path(space, query string) string { return "/ws?space=" + space + query }

// cpu returns the CPU time that the server has used.
func (s *process) cpu() (time.Duration, error) {
	const schedClock = 2 // of a process: clock_getcpuclockid(3)
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^s.cmd.Process.Pid<<3|schedClock), &t); err != nil {
		return 0, fmt.Errorf("read the processor time of the %s: %w", s.name, err)
	}
	return time.Duration(t.Nano()), nil
}

// memory returns a line of /proc/PID/status in bytes: VmRSS is the resident
// size, VmHWM its maximum.
func (s *process) memory(name string) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("read the memory: there is no %s", name)
}

// profileInto writes a CPU profile of the next seconds to a file. Wait on the
// returned channel.
func (s *process) profileInto(file string, seconds time.Duration) <-chan error {
	done := make(chan error, 1)
	if s.profile == "" || file == "" {
		done <- nil
		return done
	}
	go func() {
		done <- fetch(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.profile, max(1, int(seconds.Seconds()))), file)
	}()
	return done
}

// heapInto writes a profile of the memory in use to a file.
func (s *process) heapInto(file string) error {
	if s.profile == "" || file == "" {
		return nil
	}
	return fetch("http://"+s.profile+"/debug/pprof/heap?gc=1", file)
}

func fetch(url, file string) error {
	response, err := http.Get(url) //nolint:gosec,noctx // the profiler that was configured above; it ends by itself
	if err != nil {
		return fmt.Errorf("fetch the profile: %w", err)
	}
	data, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err != nil {
		return fmt.Errorf("fetch the profile: %w", err)
	}
	return os.WriteFile(file, data, 0o600)
}

// tail keeps the last lines of a log, for errors.
type tail struct {
	lines chan string
}

func newTail() *tail { return &tail{lines: make(chan string, 20)} }

func (t *tail) add(line string) {
	for {
		select {
		case t.lines <- line:
			return
		default:
			select {
			case <-t.lines:
			default:
			}
		}
	}
}

// String returns the lines.
func (t *tail) String() string {
	var list []string
	for {
		select {
		case l := <-t.lines:
			list = append(list, l)
		default:
			return strings.Join(list, "\n")
		}
	}
}
