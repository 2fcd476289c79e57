package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// faultyGateway is a log with a socket that injects faults, which a real
// gateway does not do on demand. Behavior without faults is tested with the
// real one.
type faultyGateway struct {
	*httptest.Server

	mu    sync.Mutex
	log   []protocol.Envelope // Seq is index + 1
	ids   map[protocol.ID]protocol.Seq
	grown chan struct{} // closed and replaced when the log grows
	dials int
	logID string

	// Faults; set before the first connection or under mu.
	upgrade  func(w http.ResponseWriter, dial int) bool             // true: responded
	onFrame  func(conn *fakeConn, env *protocol.Envelope) bool      // true: handled
	deliver  func(conn *fakeConn, env *protocol.Envelope) (ok bool) // false: disconnected
	loseAck  func(id protocol.ID) bool
	headLess protocol.Seq // report a log that ends earlier by this number

	ahead time.Duration // of its clock
}

type fakeConn struct {
	*websocket.Conn
	g   *faultyGateway
	ctx context.Context
}

func newFaultyGateway(t *testing.T) *faultyGateway {
	t.Helper()
	g := &faultyGateway{ids: make(map[protocol.ID]protocol.Seq), grown: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

func (g *faultyGateway) options() client.Options {
	return client.Options{
		URL: "ws" + strings.TrimPrefix(g.URL, "http") + "/ws", Space: "lab", Token: "t",
		Backoff: client.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond},
	}
}

func (g *faultyGateway) dial(t *testing.T, change func(*client.Options)) *client.Client {
	t.Helper()
	opts := g.options()
	if change != nil {
		change(&opts)
	}
	c, err := client.Dial(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (g *faultyGateway) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.dials++
	dial, upgrade := g.dials, g.upgrade
	g.mu.Unlock()
	if upgrade != nil && upgrade(w, dial) {
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(4 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	c := &fakeConn{Conn: conn, g: g, ctx: ctx}
	var deliver sync.WaitGroup
	defer deliver.Wait()
	defer cancel()
	pos := c.welcome(r.URL.Query().Get("since"), r.URL.Query().Get("log"))
	deliver.Go(func() { defer conn.CloseNow(); c.follow(pos) })
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return
		}
		c.receive(frame)
	}
}

func (c *fakeConn) welcome(since, log string) protocol.Seq {
	g := c.g
	g.mu.Lock()
	head := protocol.Seq(len(g.log))
	if g.headLess > 0 {
		head -= min(head, g.headLess)
	}
	logID := g.logID
	g.mu.Unlock()
	w := protocol.Welcome{Protocol: "meup/v0.1"}
	w.You.ID = "me"
	w.Space.Seq, w.Space.Log = head, logID
	c.say(protocol.KindSystemWelcome, "", w)
	if since == "" {
		return head
	}
	if log != "" && log != logID {
		expired := protocol.Errorf(protocol.CodeCursorExpired, "another log")
		expired.OldestSeq = 1
		c.say(protocol.KindSystemError, "", expired)
		return 0
	}
	n, _ := strconv.ParseUint(since, 10, 64)
	return protocol.Seq(n)
}

func (c *fakeConn) say(kind protocol.Kind, about protocol.ID, payload any) {
	env, _ := protocol.FromGateway("sys", kind, time.Now().Add(c.g.ahead), payload)
	if about != "" {
		env.Correlation = protocol.CorrelateTo(about)
	}
	c.write(&env)
}

func (c *fakeConn) write(env *protocol.Envelope) bool {
	return c.Write(c.ctx, websocket.MessageText, protocol.AppendEnvelope(nil, protocol.DialectMEUP01, env)) == nil
}

func (c *fakeConn) receive(frame []byte) {
	in, refusal := protocol.Decode(frame, protocol.DialectMEUP01, 5)
	if refusal != nil {
		c.say(protocol.KindSystemError, in.Envelope.ID, protocol.AsError(refusal))
		return
	}
	env := in.Envelope
	if c.g.onFrame != nil && c.g.onFrame(c, &env) {
		return
	}
	if env.Kind == protocol.KindSystemSubscribe {
		c.say(protocol.KindSystemSubscribed, env.ID, env.Payload)
		return
	}
	env.From = "me"
	seq := c.g.append(env)
	if c.g.loseAck != nil && c.g.loseAck(env.ID) {
		_ = c.CloseNow()
		return
	}
	c.say(protocol.KindSystemAck, env.ID, protocol.Ack{Seq: seq})
}

// append adds an envelope to the log, once per id.
func (g *faultyGateway) append(env protocol.Envelope) protocol.Seq {
	g.mu.Lock()
	defer g.mu.Unlock()
	if seq, ok := g.ids[env.ID]; ok {
		return seq
	}
	env.Seq = protocol.Seq(len(g.log) + 1)
	env.TS = time.Now()
	g.log = append(g.log, env)
	g.ids[env.ID] = env.Seq
	close(g.grown)
	g.grown = make(chan struct{})
	return env.Seq
}

// follow delivers the log from pos.
func (c *fakeConn) follow(pos protocol.Seq) {
	for {
		c.g.mu.Lock()
		var next []protocol.Envelope
		if int(pos) < len(c.g.log) {
			next = c.g.log[pos:]
		}
		grown := c.g.grown
		c.g.mu.Unlock()
		for i := range next {
			if c.g.deliver != nil && !c.g.deliver(c, &next[i]) || !c.write(&next[i]) {
				return
			}
			pos = next[i].Seq
		}
		if len(next) > 0 {
			continue
		}
		select {
		case <-grown:
		case <-c.ctx.Done():
			return
		}
	}
}

func (g *faultyGateway) entries() []protocol.Envelope {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]protocol.Envelope(nil), g.log...)
}

func (g *faultyGateway) dialCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dials
}
