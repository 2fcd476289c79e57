// Command mcp measures what a tool call through /mcp costs. It calls a tool that does
// nothing, of one MCP server over HTTP, by itself and through a space to which
// meup-agent bridge connects the server: each call is authorized, an envelope in a
// durable log, and so is its response. Gateway and bridge are processes of their own;
// client and server are this one.
//
//	go run ./bench/mcp [-rate 100] [-time 10s] [-rounds 3]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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
          - {kind: mcp.request, to: server, payload: {method: tools/list}}
          - {kind: mcp.request, to: server, payload: {method: tools/call, params: {name: "null"}}}
      server: {token: token-of-the-server, capabilities: ["mcp/*", "participant/status"]}
`

func main() {
	rate := flag.Int("rate", 100, "calls per second")
	length := flag.Duration("time", 10*time.Second, "of each measurement")
	rounds := flag.Int("rounds", 3, "measurements of both, in turn")
	flag.Parse()
	if err := run(*rate, *length, *rounds); err != nil {
		log.Fatal(err)
	}
}

func run(rate int, length time.Duration, rounds int) (err error) {
	dir, err := os.MkdirTemp("", "meup-bench-mcp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return null() }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	defer server.Close()
	gateway, stop, err := start(dir, server.URL)
	defer func() { stop() }()
	if err != nil {
		return err
	}
	ctx := context.Background()
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
	var alone, both []time.Duration
	for range rounds {
		for _, m := range []struct {
			session *mcp.ClientSession
			tool    string
			into    *[]time.Duration
		}{{direct, "null", &alone}, {through, "server__null", &both}} {
			if _, err := measure(ctx, m.session, m.tool, rate, time.Second); err != nil { // to warm up
				return err
			}
			times, err := measure(ctx, m.session, m.tool, rate, length)
			if err != nil {
				return err
			}
			*m.into = append(*m.into, times...)
		}
	}
	report(rate, alone, both)
	calls := float64(len(both) + rounds*rate) // with the ones to warm up
	for i, used := range stop() {
		fmt.Printf("Processor time of the %s for each call: %.2f ms\n", []string{"gateway", "bridge"}[i], used.Seconds()*1000/calls)
	}
	return nil
}

// null returns a server with a tool that does nothing.
func null() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "null", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "null", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	return s
}

// start builds and starts a gateway and a bridge to a server. stop ends them, the last
// one first, and returns the processor time that each has used.
func start(dir, server string) (gateway string, stop func() []time.Duration, err error) {
	var running []*exec.Cmd
	stop = func() []time.Duration {
		used := make([]time.Duration, len(running))
		for i, c := range slices.Backward(running) {
			_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
			_ = c.Wait()
			used[i] = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		}
		return used
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir+string(os.PathSeparator), "./cmd/meup-gateway", "./cmd/meup-agent").CombinedOutput(); err != nil {
		return "", stop, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	file := filepath.Join(dir, "meup.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		return "", stop, err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", stop, err
	}
	address := l.Addr().String()
	_ = l.Close() // the gateway listens there
	for _, args := range [][]string{
		{"meup-gateway", "serve", "--config", file, "--listen", address, "--data", filepath.Join(dir, "data"), "--log-level", "warn"},
		{"meup-agent", "bridge", "--gateway", "ws://" + address + "/ws", "--space", "bench", "--mcp-http", server},
	} {
		c := exec.Command(filepath.Join(dir, args[0]), args[1:]...)
		c.Env, c.Stderr = append(os.Environ(), "MEUP_TOKEN=token-of-the-server"), os.Stderr
		if err := c.Start(); err != nil {
			return "", stop, err
		}
		running = append(running, c)
		for range 200 {
			if conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", address); err == nil {
				_ = conn.Close()
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return "http://" + address, stop, nil
}

// bearer sends the token of the caller.
type bearer struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer token-of-the-caller")
	return b.next.RoundTrip(r)
}

func connect(ctx context.Context, address string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: address, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer{&http.Transport{MaxIdleConnsPerHost: 64}}},
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

// measure calls a tool at a rate, and returns how long each call took from the time at
// which it was due.
func measure(ctx context.Context, s *mcp.ClientSession, tool string, rate int, length time.Duration) ([]time.Duration, error) {
	count := int(length.Seconds() * float64(rate))
	times, failed := make([]time.Duration, count), make([]error, count)
	var calls sync.WaitGroup
	free := make(chan struct{}, inFlight)
	began := time.Now()
	for i := range count {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		free <- struct{}{}
		calls.Go(func() {
			defer func() { <-free }()
			result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
			times[i] = time.Since(due)
			if err == nil && result.IsError {
				err = fmt.Errorf("%s: %+v", tool, result.Content)
			}
			failed[i] = err
		})
	}
	calls.Wait()
	return times, errors.Join(failed...)
}

func report(rate int, alone, both []time.Duration) {
	slices.Sort(alone)
	slices.Sort(both)
	ms := func(list []time.Duration, part float64) float64 {
		return float64(list[min(int(part*float64(len(list))), len(list)-1)].Microseconds()) / 1000
	}
	fmt.Printf("%d × %s, %s, %s; %d calls/s, %d calls each\n\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), runtime.GOOS, rate, len(alone))
	fmt.Println("| a call of a null tool | p50 ms | p99 ms |\n|---|---:|---:|")
	fmt.Printf("| directly | %.2f | %.2f |\n", ms(alone, 0.5), ms(alone, 0.99))
	fmt.Printf("| through `/mcp`, durable and authorized | %.2f | %.2f |\n", ms(both, 0.5), ms(both, 0.99))
	fmt.Printf("| overhead | %.2f | %.2f |\n", ms(both, 0.5)-ms(alone, 0.5), ms(both, 0.99)-ms(alone, 0.99))
}
