package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// cutProxy is a proxy that cuts the next connection after a number of bytes in both
// directions, or kills all of them.
type cutProxy struct {
	to string
	l  net.Listener

	mu    sync.Mutex
	next  int64 // bytes; below 0: no cut
	cuts  int
	conns map[net.Conn]bool
}

func newCutProxy(t *testing.T, to string) *cutProxy {
	t.Helper()
	return newCutProxyAt(t, "127.0.0.1:0", to)
}

func newCutProxyAt(t *testing.T, address, to string) *cutProxy {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutProxy{to: to, l: l, next: -1, conns: make(map[net.Conn]bool)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { c.serve(in) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.kill(); running.Wait() })
	return c
}

// arm cuts the next connection after so many bytes.
func (c *cutProxy) arm(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = bytes
}

// kill cuts all connections, and returns how many there were.
func (c *cutProxy) kill() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		_ = conn.Close()
		n++
	}
	return n
}

func (c *cutProxy) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

func (c *cutProxy) serve(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer out.Close()
	c.mu.Lock()
	left, armed := c.next, c.next >= 0
	c.next = -1
	c.conns[in] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.conns, in)
	}()
	var cut sync.Once
	pass := func(to, from net.Conn) {
		buffer := make([]byte, 64)
		for {
			n, err := from.Read(buffer)
			if n > 0 && armed {
				c.mu.Lock()
				n = min(n, int(left))
				left -= int64(n)
				over := left == 0
				c.mu.Unlock()
				if over {
					_, _ = to.Write(buffer[:n])
					cut.Do(func() { c.mu.Lock(); c.cuts++; c.mu.Unlock() })
					_, _ = in.Close(), out.Close()
					return
				}
			}
			if n > 0 {
				_, _ = to.Write(buffer[:n])
			}
			if err != nil {
				_, _ = in.Close(), out.Close()
				return
			}
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); pass(out, in) }()
	pass(in, out)
	<-done
}

// cutClient is an MCP client whose connections are cut, and which sends a call again
// until it has the result.
type cutClient struct {
	t        *testing.T
	proxy    *cutProxy
	token    string
	revision string
	random   *rand.Rand
	session  *mcp.ClientSession
}

// call calls a tool with a key; each attempt may be cut.
func (c *cutClient) call(ctx context.Context, params *mcp.CallToolParams) string {
	for size := int64(1200); ctx.Err() == nil; size *= 2 { // some responses are longer
		if c.session == nil {
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
				Endpoint: "http://" + c.proxy.l.Addr().String() + "/mcp?space=lab", DisableStandaloneSSE: true, MaxRetries: -1,
				HTTPClient: &http.Client{Transport: oneByOne{c.token}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: c.revision})
			if err != nil {
				c.t.Error(err)
				return ""
			}
			c.session = session
		}
		if c.random != nil {
			c.proxy.arm(c.random.Int64N(size))
		}
		result, err := c.session.CallTool(ctx, params)
		if err == nil && len(result.Content) == 1 {
			c.proxy.arm(-1)
			return result.Content[0].(*mcp.TextContent).Text
		}
		if err == nil {
			c.t.Errorf("%+v", result)
			return ""
		}
		if c.proxy.arm(-1); c.session.Ping(ctx, nil) != nil {
			c.close()
		}
	}
	c.t.Error(ctx.Err())
	return ""
}

func (c *cutClient) close() {
	c.proxy.arm(-1)
	if c.session != nil {
		_ = c.session.Close()
		c.session = nil
	}
}

// oneByOne sends each request over a connection of its own, with a token.
type oneByOne struct{ token string }

func (o oneByOne) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+o.token)
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

// Connections are cut again and again, at random bytes and while the gateway waits, in the
// middle of calls, approvals and waits. A client that repeats what it has no result for
// gets each result, and in the log everything is there once.
func TestMCP_Cuts(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			g := meuptest.Start(t, foreignConfig)
			server, calls := lamp(), make(chan struct{}, 1000)
			server.AddTool(&mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls <- struct{}{}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "did " + string(r.Params.Arguments)}}}, nil
			})
			bridgeTo(t, g, "lamp-token", server)
			proxy, random, cuts := newCutProxy(t, g.Addr()), testkit.Rand(t), cutsOf(40)
			clients := make(map[string]*cutClient)
			for _, who := range []string{"alice", "bob"} {
				clients[who] = &cutClient{t: t, proxy: proxy, token: who + "-token", revision: revision, random: random}
				defer clients[who].close()
			}
			called := cutCalls(t, proxy, clients["alice"], cuts)
			approved := cutApprovals(t, proxy, clients["bob"], clients["alice"], cuts)
			cutWaits(t, g, proxy, clients["bob"], cuts)
			if n := len(calls); n != called+approved {
				t.Errorf("the tool was called %d times, not %d + %d", n, called, approved)
			}
			counts := make(map[string]int)
			_, log := story(t, g, "alice")
			for _, e := range log {
				if e.Kind == protocol.KindMCPRequest && e.ParsePayload().Get("method").Text() != methodCall {
					continue
				}
				counts[fmt.Sprintf("%s %s %v", e.From, e.Kind, len(e.Correlation.IDs) > 0)]++
			}
			for line, want := range map[string]int{
				"alice mcp.request false": called, "bob mcp.proposal false": approved, "alice mcp.request true": approved, "bob mcp.request false": 0, "alice mcp.proposal false": 0,
			} {
				if counts[line] != want {
					t.Errorf("%s: %d times, not %d", line, counts[line], want)
				}
			}
		})
	}
}

const methodCall = "tools/call"

func cutCalls(t *testing.T, proxy *cutProxy, alice *cutClient, cuts int) (n int) {
	t.Helper()
	for start := proxy.count(); proxy.count() < start+cuts && !t.Failed(); n++ {
		got := alice.call(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"meup/key": fmt.Sprint("call-", n)}, Name: "lamp__count", Arguments: map[string]any{"n": n}})
		if want := fmt.Sprintf(`did {"n":%d}`, n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	return n
}

func cutApprovals(t *testing.T, proxy *cutProxy, bob, alice *cutClient, cuts int) (n int) {
	t.Helper()
	for start := proxy.count(); proxy.count() < start+cuts && !t.Failed(); n++ {
		var proposed toldAnswer
		text := bob.call(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"meup/key": fmt.Sprint("approval-", n)}, Name: "lamp__count", Arguments: map[string]any{"n": n, "approved": true}})
		if err := json.Unmarshal([]byte(text), &proposed); err != nil || proposed.State != "proposed" {
			t.Fatalf("%v: %q", err, text)
		}
		var decided toldSent
		text = alice.call(t.Context(), &mcp.CallToolParams{Name: "decide", Arguments: map[string]any{"proposal": proposed.ID, "decision": "approve"}})
		if err := json.Unmarshal([]byte(text), &decided); err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		var outcome told
		text = bob.call(t.Context(), &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"after": proposed.Cursor, "seconds": 50, "kinds": []string{"mcp.response"}}})
		if err := json.Unmarshal([]byte(text), &outcome); err != nil || len(outcome.Messages) != 1 || !strings.Contains(outcome.Messages[0].Text, fmt.Sprintf(`\"n\":%d}`, n)) ||
			strings.Join(outcome.Messages[0].InReplyTo, "") != decided.ID {
			t.Errorf("%v: %q", err, text)
		}
	}
	return n
}

// cutWaits cuts at random bytes of a wait, and in turn while nothing is sent.
func cutWaits(t *testing.T, g *meuptest.Gateway, proxy *cutProxy, bob *cutClient, cuts int) {
	t.Helper()
	alice, random := mcpClientOf(t, g, "alice-token", bob.revision), bob.random
	cursor := call[toldSent](t, alice, "say", map[string]any{"message": "begin"}).Cursor
	next := func(n int) {
		for got := 0; got == 0 && !t.Failed(); {
			var page told
			text := bob.call(t.Context(), &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"after": cursor, "seconds": 50}})
			if err := json.Unmarshal([]byte(text), &page); err != nil {
				t.Errorf("%v: %q", err, text)
				return
			}
			got = len(page.Messages)
			if got > 0 && texts(page.Messages) != fmt.Sprint("alice: message ", n) {
				t.Errorf("got %s instead of message %d", texts(page.Messages), n)
			}
			cursor = page.Cursor
		}
	}
	killed := 0
	for n, start := 0, proxy.count(); proxy.count()-start+killed < cuts && !t.Failed(); n++ {
		message := map[string]any{"message": fmt.Sprint("message ", n)}
		if n%2 == 0 {
			bob.random = random
			call[toldSent](t, alice, "say", message)
			next(n)
			continue
		}
		bob.random = nil
		done := make(chan struct{})
		go func() { defer close(done); next(n) }()
		awaitPresent(t, g, "bob")
		killed += proxy.kill()
		call[toldSent](t, alice, "say", message)
		<-done
	}
}
