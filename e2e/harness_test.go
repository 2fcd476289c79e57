package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// bin is the folder with the programs under test.
var bin string

// natsEnv makes this test binary a NATS server: a process that can be killed.
const natsEnv = "MEUP_E2E_NATS"

func TestMain(m *testing.M) {
	if spec := os.Getenv(natsEnv); spec != "" {
		runNATS(spec)
		return
	}
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case transferServer:
			runTransferServer(os.Args[2])
			return
		case menuServer:
			runMenuServer(os.Args[2])
			return
		case hangingServer:
			runHangingServer(os.Args[2])
			return
		}
	}
	var err error
	bin, err = testkit.Programs()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Tests wait for processes much of their time; at full size they measure.
	flag.Parse()
	parallel := "4"
	if testkit.IsSlow() {
		parallel = "1"
	}
	err = flag.Set("test.parallel", parallel)
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// runNATS serves JetStream. spec is "port,folder", with every write synced, or
// the name of a configuration file.
func runNATS(spec string) {
	if strings.HasSuffix(spec, ".conf") {
		options, err := server.ProcessConfigFile(spec)
		if err != nil {
			panic(err)
		}
		options.NoSigs = true
		serveNATS(options)
		return
	}
	var port int
	at, dir, _ := strings.Cut(spec, ",")
	if _, err := fmt.Sscan(at, &port); err != nil {
		panic(err)
	}
	serveNATS(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true})
}

func serveNATS(o *server.Options) {
	s, err := server.NewServer(o)
	if err != nil {
		panic(err)
	}
	s.ConfigureLogger() // also ends the process if a port is taken
	s.Start()
	s.WaitForShutdown()
}

// process is a running program.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	log  *lineLog
}

func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(name, args...), done: make(chan struct{}), log: &lineLog{}}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %v:\n%s", filepath.Base(name), args, p.log)
		}
	})
	return p
}

// kill ends the process as a power failure would.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// wait waits for the process to end by itself.
func (p *process) wait() int {
	p.t.Helper()
	await(p.t, fmt.Sprint("the end of ", p.cmd.Args), p.done)
	return p.cmd.ProcessState.ExitCode()
}

// await receives from a channel.
func await[T any](t *testing.T, what string, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(testkit.Patience):
		t.Fatalf("never: %s", what)
	}
	return v
}

// lineLog keeps the last lines of a process's output.
type lineLog struct {
	mu    sync.Mutex
	lines []string
	rest  string
}

func (l *lineLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest += string(b)
	for {
		line, rest, found := strings.Cut(l.rest, "\n")
		if !found {
			return len(b), nil
		}
		l.lines, l.rest = append(l.lines, line), rest
		if len(l.lines) > 400 {
			l.lines = l.lines[200:]
		}
	}
}

func (l *lineLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// freePort returns a port that nothing else uses before the test ends.
func freePort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(testkit.FreePort(t))
}

const labConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      bob: {token: bob-token-for-tests, capabilities: ["*"]}
      carol: {token: carol-token-for-tests, capabilities: ["*"]}
      dave: {token: dave-token-for-tests, capabilities: ["*"]}
`

// drained is a configuration that lets a gateway drain for as long as tests wait: on a busy
// machine the log may not close within the default. Long runs measure, and keep it.
func drained(configuration string) string {
	if chaosLength() > 0 {
		return configuration
	}
	return fmt.Sprintf("drain_timeout: %s\n%s", testkit.Patience, configuration)
}

// gatewayProc is a gateway that can be killed and started again.
type gatewayProc struct {
	*process
	t       *testing.T
	addr    string
	config  string
	data    string // its folder, unless args has another one
	program string
	env     []string
	args    []string
}

func startGateway(t *testing.T, configuration string, args ...string) *gatewayProc {
	t.Helper()
	g := prepareGateway(t, configuration, args...)
	g.restart()
	return g
}

// prepareGateway writes the configuration of a gateway that start starts.
func prepareGateway(t *testing.T, configuration string, args ...string) *gatewayProc {
	t.Helper()
	dir := t.TempDir()
	g := &gatewayProc{t: t, addr: "127.0.0.1:" + freePort(t), config: filepath.Join(dir, "meup.yaml"),
		data: filepath.Join(dir, "data"), program: filepath.Join(bin, "meup-gateway")}
	g.configure(configuration)
	g.args = append([]string{"serve", "--config", g.config, "--listen", g.addr, "--data", g.data}, args...)
	return g
}

// setData sets the data folder of a gateway that was not started yet.
func (g *gatewayProc) setData(dir string) {
	g.data = dir
	g.args = append(g.args, "--data", dir)
}

func (g *gatewayProc) configure(text string) {
	g.t.Helper()
	if err := os.WriteFile(g.config, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// start starts the gateway and does not wait for it.
func (g *gatewayProc) start() {
	g.t.Helper()
	g.process = start(g.t, g.env, g.program, g.args...)
}

// startAgain starts the gateway if it has ended by itself.
func (g *gatewayProc) startAgain() {
	g.t.Helper()
	select {
	case <-g.done:
		g.start()
	default:
	}
}

func (g *gatewayProc) restart() {
	g.t.Helper()
	g.start()
	eventually(g.t, "the gateway is ready", func() bool { return get(g.addr, "/readyz", "") == http.StatusOK })
}

func (g *gatewayProc) dial(t *testing.T, who string, since client.Position) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{
		URL: "ws://" + g.addr + "/ws", Space: "lab", Token: who + "-token-for-tests", Since: since, RetryDial: true,
	})
	if err != nil {
		t.Fatalf("dial as %s: %v", who, err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func get(addr, path, token string) int {
	req, err := http.NewRequest(http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// patient sends a request again while the gateway answers that it cannot serve it now, as
// clients do: a NATS server on a loaded machine may be too slow for a while.
var patient = &http.Client{Transport: patiently{}}

type patiently struct{}

// RoundTrip sends a request until the answer is another one than 503, or patience ends.
func (patiently) RoundTrip(r *http.Request) (*http.Response, error) {
	again, late := time.NewTicker(50*time.Millisecond), time.After(testkit.Patience)
	defer again.Stop()
	for {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		select {
		case <-late:
			return resp, nil
		case <-again.C:
		}
		_ = resp.Body.Close()
		if r.GetBody != nil {
			r = r.Clone(r.Context())
			r.Body, _ = r.GetBody() // a reader of a string, which cannot fail
		}
	}
}

// eventually polls a condition that depends on another process.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	testkit.Eventually(t, what, condition)
}

// line holds the fields that a test needs of an envelope in the log.
type line struct {
	ID   protocol.ID            `json:"id"`
	Seq  protocol.Seq           `json:"seq"`
	From protocol.ParticipantID `json:"from"`
	Kind string                 `json:"kind"`
}

// history reads the whole log of the space lab.
func history(t *testing.T, addr, who string) []line {
	t.Helper()
	var all []line
	for since, more := "0", true; more; {
		since, more = page(t, addr, who, since, &all)
	}
	return all
}

func page(t *testing.T, addr, who, since string, all *[]line) (next string, more bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		"http://"+addr+"/api/spaces/lab/envelopes?limit=1000&since="+since, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+who+"-token-for-tests")
	req.Header.Set("Accept", "application/jsonl")
	resp, err := patient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("history: %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		*all = append(*all, l)
	}
	return resp.Header.Get("Meup-Next"), resp.Header.Get("Meup-Has-More") == "true"
}
