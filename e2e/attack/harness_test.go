package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

var (
	duration = flag.Duration("attack", 0, "how long each attack lasts; 0: 2 seconds with make slow, otherwise until an honest participant was served some times")
	maxAck   = flag.Duration("attack.ack", 0, "fail when an honest participant's median acknowledgement takes longer; 0: no limit")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *duration == 0 && testkit.IsSlow() {
		*duration = 2 * time.Second
	}
	os.Exit(m.Run())
}

// full returns the size of an attack that lasts, or a small one.
func full(size, small int) int {
	if *duration > 0 {
		return size
	}
	return small
}

// config has the default limits. honest must not notice an attack; mallory may
// chat and reason; owner may do everything.
const config = `
spaces:
  lab:
    participants:
      honest: {token: honest-token-for-attacks, capabilities: ["*"]}
      owner: {token: owner-token-for-attacks, capabilities: ["*", observe]}
      agent: {token: agent-token-for-attacks, capabilities: [chat, "reasoning/*", mcp.proposal, mcp.response]}
      host: {token: host-token-for-attacks, capabilities: [mcp.response]}
      mallory: {token: mallory-token-for-attacks, capabilities: [chat, "reasoning/*", "capability/*", "space/invite", mcp.response, {kind: mcp.request, payload: {method: ping}}]}
      trudy: {token: trudy-token-for-attacks, capabilities: [chat]}
  "team-*":
    participants:
      mallory: {token: mallory-token-for-attacks, capabilities: ["*"]}
`

// target is a gateway under attack.
type target struct {
	t    *testing.T
	addr string
	cmd  *exec.Cmd
	log  bytes.Buffer
	done chan struct{}
}

// startTarget starts a gateway with a limit of open files. An attack that lasts is alone
// on the machine.
func startTarget(t *testing.T, files int) *target {
	t.Helper()
	if *duration == 0 {
		t.Parallel()
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "meup.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &target{t: t, addr: testkit.FreeAddress(t), done: make(chan struct{})}
	command := fmt.Sprintf("ulimit -n %d && exec %q serve --config %q --listen %s --data %q", files, testkit.Program(t, "meup-gateway"), file, g.addr, filepath.Join(dir, "data"))
	g.cmd = exec.Command("sh", "-c", command)
	g.cmd.Stderr = &g.log
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(g.done)
		_ = g.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		<-g.done
		if t.Failed() {
			lines := strings.Split(g.log.String(), "\n")
			t.Logf("the gateway's log ends with:\n%s", strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
	testkit.Eventually(t, "the gateway is ready", func() bool { return g.get(t.Context(), "", "/readyz").status == http.StatusOK })
	return g
}

func token(who string) string { return who + "-token-for-attacks" }

// result is an HTTP response.
type result struct {
	status int // 0: none
	body   []byte
}

// code returns the error code of the body.
func (r result) code() string {
	var e struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(r.body, &e)
	return e.Error
}

var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

func (g *target) do(ctx context.Context, method, who, path string, body io.Reader) result {
	ctx, cancel := context.WithTimeout(ctx, testkit.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.addr+path, body)
	if err != nil {
		return result{}
	}
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+who)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return result{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return result{}
	}
	return result{resp.StatusCode, text}
}

func (g *target) get(ctx context.Context, who, path string) result {
	return g.do(ctx, http.MethodGet, who, path, nil)
}

// send posts one envelope into the space lab.
func (g *target) send(ctx context.Context, who, body string) result {
	return g.do(ctx, http.MethodPost, token(who), "/api/spaces/lab/envelopes", strings.NewReader(body))
}

// dial opens a WebSocket to a space.
func (g *target) dial(ctx context.Context, who, space, parameters string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+g.addr+"/ws?space="+space+"&"+parameters, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token(who)}},
	})
	if err == nil {
		c.SetReadLimit(8 << 20)
	}
	return c, err
}

// drain reads a connection until it ends.
func drain(ctx context.Context, c *websocket.Conn) {
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return
		}
	}
}

// cpu returns the CPU time that the gateway has used.
func (g *target) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // user and system time
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// peakMemory returns the highest resident set of the gateway in bytes.
func (g *target) peakMemory() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return n << 10
}

// files returns the number of open descriptors of the gateway.
func (g *target) files() int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return len(list)
}

// honest sends chats in sequence for a time, and returns the latencies of their
// acknowledgments, of which there are some.
func (g *target) honest(ctx context.Context, length time.Duration) ([]time.Duration, error) {
	late := time.Now().Add(length)
	c, err := g.dial(ctx, "honest", "lab", "ack=true&echo=false&kinds=x.none")
	for err != nil { // like every client it retries
		if ctx.Err() != nil {
			return nil, fmt.Errorf("an honest participant cannot join: %w", err)
		}
		c, err = g.dial(ctx, "honest", "lab", "ack=true&echo=false&kinds=x.none")
	}
	defer c.CloseNow()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var took []time.Duration
	for n := 0; n < 5 || time.Now().Before(late); n++ {
		<-tick.C
		id := fmt.Sprintf("honest-%d-%d", time.Now().UnixNano(), n)
		begun := time.Now()
		if err := c.Write(context.WithoutCancel(ctx), websocket.MessageText, []byte(`{"id":"`+id+`","kind":"chat","payload":{"message":"hello"}}`)); err != nil {
			return took, err
		}
		if err := awaitAck(c, id); err != nil {
			return took, err
		}
		took = append(took, time.Since(begun))
	}
	return took, nil
}

func awaitAck(c *websocket.Conn, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	for {
		_, data, err := c.Read(ctx)
		if err != nil {
			return fmt.Errorf("wait for an acknowledgement: %w", err)
		}
		var f struct {
			Kind        string          `json:"kind"`
			Correlation json.RawMessage `json:"correlationId"`
			Payload     struct {
				Error string `json:"error"`
			} `json:"payload"`
		}
		if err := json.Unmarshal(data, &f); err != nil {
			return err
		}
		if string(f.Correlation) != strconv.Quote(id) {
			continue
		}
		if f.Kind != "system.ack" {
			return errors.New("an honest chat was refused: " + f.Payload.Error)
		}
		return nil
	}
}

func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// under runs attacks together with an honest participant, checks that the
// participant is served, and returns how long they lasted.
func (g *target) under(attacks ...func(context.Context)) time.Duration {
	t := g.t
	t.Helper()
	ctx, cancel := context.WithCancel(testkit.Deadline(t))
	defer cancel()
	before, err := g.honest(ctx, min(*duration, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	cpu, begun := g.cpu(), time.Now()
	var running sync.WaitGroup
	for _, attack := range attacks {
		running.Go(func() { attack(ctx) })
	}
	during, err := g.honest(ctx, *duration)
	cancel()
	running.Wait()
	lasted := time.Since(begun)
	if err != nil {
		t.Error(err)
	}
	t.Logf("acknowledgements: median %v before, %v during (%d); the gateway used %v CPU in %v, at most %d MB, %d files open",
		median(before), median(during), len(during), g.cpu()-cpu, lasted, g.peakMemory()>>20, g.files())
	if *maxAck > 0 && median(during) > *maxAck {
		t.Errorf("the median acknowledgement takes %v, more than %v", median(during), *maxAck)
	}
	return lasted
}

// forever calls f until ctx ends.
func forever(ctx context.Context, f func(n int)) {
	for n := 0; ctx.Err() == nil; n++ {
		f(n)
	}
}

// parallel returns an attack that consists of n equal ones.
func parallel(n int, attack func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { attack(ctx) })
		}
		wg.Wait()
	}
}
