// Command mcp measures what a tool call through /mcp costs. It calls a tool that does
// nothing, of one MCP server over HTTP, by itself and through a space to which
// meup-agent bridge connects the server: each call is authorized, an envelope in a
// durable log, and so is its response. Gateway and bridge are processes of their own;
// client and server are this one.
//
// Beside them, a chat that is acknowledged over HTTP: a call through the space has two
// envelopes, so twice the time of a chat is what the log and the way to it take.
//
//	go run ./bench/mcp [-rate 100] [-time 10s] [-rounds 3] [-gateway PROGRAM] [-agent PROGRAM]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const configuration = `
limits: {rate: 100000, burst: 100000}
spaces:
  bench:
    participants:
      caller:
        token: token-of-the-caller
        capabilities:
          - chat
          - {kind: mcp.request, to: server, payload: {method: tools/list}}
          - {kind: mcp.request, to: server, payload: {method: tools/call, params: {name: "null"}}}
      server: {token: token-of-the-server, capabilities: ["mcp/*", "participant/status"]}
`

func main() {
	rate := flag.Int("rate", 100, "calls per second")
	length := flag.Duration("time", 10*time.Second, "of each measurement")
	rounds := flag.Int("rounds", 3, "measurements of each, in turn")
	var programs programs
	flag.StringVar(&programs.gateway, "gateway", "", "program meup-gateway to measure; built if empty")
	flag.StringVar(&programs.agent, "agent", "", "program meup-agent to measure; built if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	if err := run(ctx, programs, *rate, *length, *rounds); err != nil {
		log.Fatal(err)
	}
}

// programs are the paths of the programs that are measured; "": one is built.
type programs struct{ gateway, agent string }

func run(ctx context.Context, p programs, rate int, length time.Duration, rounds int) (err error) {
	dir, err := os.MkdirTemp("", "meup-bench-mcp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return null() }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	defer server.Close()
	gateway, running, stop, err := p.start(ctx, dir, server.URL)
	defer func() { stop() }()
	if err != nil {
		return err
	}
	direct, err := connect(ctx, server.URL)
	if err != nil {
		return err
	}
	defer direct.Close() //nolint:errcheck // nothing is kept of it
	through, err := connect(ctx, gateway+"/mcp?space=bench")
	if err != nil {
		return err
	}
	defer through.Close() //nolint:errcheck // as above
	if err := await(ctx, through); err != nil {
		return err
	}
	chatter := newClient()
	var chats, alone, both []time.Duration
	var usedChat, usedAlone, usedCall [2]time.Duration
	for range rounds {
		for _, m := range []struct {
			into *[]time.Duration
			used *[2]time.Duration
			run  func() error
		}{
			{&chats, &usedChat, func() error { return chat(ctx, chatter, gateway) }},
			{&alone, &usedAlone, func() error { return call(ctx, direct, "null") }},
			{&both, &usedCall, func() error { return call(ctx, through, "server__null") }},
		} {
			if _, err := measure(ctx, m.run, rate, time.Second); err != nil { // to warm up
				return err
			}
			before := processorTimes(running)
			times, err := measure(ctx, m.run, rate, length)
			if err != nil {
				return err
			}
			*m.into = append(*m.into, times...)
			for i, now := range processorTimes(running) {
				m.used[i] += now - before[i]
			}
		}
	}
	report(rate, chats, alone, both)
	fmt.Printf("\nProcessor time, ms: gateway %.2f for a chat, %.2f for a call; bridge %.2f for a call\n",
		usedChat[0].Seconds()*1000/float64(len(chats)), usedCall[0].Seconds()*1000/float64(len(both)), usedCall[1].Seconds()*1000/float64(len(both)))
	return nil
}

// processorTimes returns how much processor time each process has used; 0 on a system
// without /proc.
func processorTimes(running []*exec.Cmd) (used [2]time.Duration) {
	const clockTick = 10 * time.Millisecond
	for i, c := range running {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
		for _, ticks := range fields[12:14] { // of the user and of the system
			n, _ := strconv.Atoi(ticks) // the kernel writes numbers
			used[i] += time.Duration(n) * clockTick
		}
	}
	return used
}

// null returns a server with a tool that does nothing.
func null() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "null", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "null", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	return s
}

// start builds and starts a gateway and a bridge to a server, which the end of ctx kills. stop ends them, the last
// one first.
func (p programs) start(ctx context.Context, dir, server string) (gateway string, running []*exec.Cmd, stop func(), err error) {
	stop = func() {
		for _, c := range slices.Backward(running) {
			_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
			_ = c.Wait()
		}
	}
	for name, path := range map[string]*string{"meup-gateway": &p.gateway, "meup-agent": &p.agent} {
		if *path != "" {
			continue
		}
		*path = filepath.Join(dir, name)
		if out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", *path, "./cmd/"+name).CombinedOutput(); err != nil {
			return "", running, stop, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	file := filepath.Join(dir, "meup.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		return "", running, stop, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", running, stop, err
	}
	address := l.Addr().String()
	_ = l.Close() // the gateway listens there
	for _, args := range [][]string{
		{p.gateway, "serve", "--config", file, "--listen", address, "--data", filepath.Join(dir, "data"), "--log-level", "warn"},
		{p.agent, "bridge", "--gateway", "ws://" + address + "/ws", "--space", "bench", "--mcp-http", server},
	} {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Env, c.Stderr = append(os.Environ(), "MEUP_TOKEN=token-of-the-server"), os.Stderr
		if err := c.Start(); err != nil {
			return "", running, stop, err
		}
		running = append(running, c)
		for range 200 {
			if conn, err := new(net.Dialer).DialContext(ctx, "tcp", address); err == nil {
				_ = conn.Close()
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return "http://" + address, running, stop, nil
}

// bearer sends the token of the caller.
type bearer struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer token-of-the-caller")
	return b.next.RoundTrip(r)
}

func newClient() *http.Client {
	return &http.Client{Transport: bearer{&http.Transport{MaxIdleConnsPerHost: 64}}}
}

func connect(ctx context.Context, address string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: address, DisableStandaloneSSE: true, HTTPClient: newClient(),
	}, nil)
}

// await waits until the tool is listed in the space.
func await(ctx context.Context, s *mcp.ClientSession) error {
	for range 200 {
		list, err := s.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "server__null" }) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("the bridge offers no tool")
}

// inFlight bounds the calls at one time: a participant has 16 connections, of which a
// call that waits takes one. A call that is late for that reason counts as slow.
const inFlight = 8

// call calls a tool.
func call(ctx context.Context, s *mcp.ClientSession, tool string) error {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
	if err == nil && result.IsError {
		err = fmt.Errorf("%s: %+v", tool, result.Content)
	}
	return err
}

// chat sends a chat that only the caller sees, as long as a call is.
func chat(ctx context.Context, client *http.Client, gateway string) error {
	body := strings.NewReader(`{"kind":"chat","to":["caller"],"payload":{"message":"` + strings.Repeat("x", 150) + `"}}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/api/spaces/bench/envelopes", body)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return errors.Join(err, resp.Body.Close())
}

// measure runs calls at a rate, and returns how long each took from the time at which it
// was due.
func measure(ctx context.Context, run func() error, rate int, length time.Duration) ([]time.Duration, error) {
	count := int(length.Seconds() * float64(rate))
	times, failed := make([]time.Duration, count), make([]error, count)
	var calls sync.WaitGroup
	free := make(chan struct{}, inFlight)
	began := time.Now()
	for i := range count {
		if ctx.Err() != nil {
			break
		}
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		free <- struct{}{}
		calls.Go(func() {
			defer func() { <-free }()
			failed[i] = run()
			times[i] = time.Since(due)
		})
	}
	calls.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return times, errors.Join(failed...)
}

func report(rate int, chats, alone, both []time.Duration) {
	for _, list := range [][]time.Duration{chats, alone, both} {
		slices.Sort(list)
	}
	ms := func(list []time.Duration, part float64) float64 {
		return float64(list[min(int(part*float64(len(list))), len(list)-1)].Microseconds()) / 1000
	}
	fmt.Printf("%d × %s, %s, %s; %d calls/s, %d calls each\n\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), runtime.GOOS, rate, len(alone))
	fmt.Println("| a call of a null tool | p50 ms | p99 ms |\n|---|---:|---:|")
	fmt.Printf("| a chat, acknowledged over HTTP | %.2f | %.2f |\n", ms(chats, 0.5), ms(chats, 0.99))
	fmt.Printf("| directly | %.2f | %.2f |\n", ms(alone, 0.5), ms(alone, 0.99))
	fmt.Printf("| through `/mcp`, durable and authorized | %.2f | %.2f |\n", ms(both, 0.5), ms(both, 0.99))
	fmt.Printf("| overhead | %.2f | %.2f |\n", ms(both, 0.5)-ms(alone, 0.5), ms(both, 0.99)-ms(alone, 0.99))
}
