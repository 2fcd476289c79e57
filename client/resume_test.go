package client_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func message(i int) protocol.Envelope {
	env := client.Chat(fmt.Sprintf("message %d", i))
	env.ID = protocol.ID(fmt.Sprintf("m-%d", i))
	return env
}

func TestResume_NoGapNoDuplicate(t *testing.T) {
	const count = 400
	seeds := testkit.Rand(t)
	for i := range 4 {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 1))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g := newFaultyGateway(t)
			var mu sync.Mutex
			chance := func(p float64) bool {
				mu.Lock()
				defer mu.Unlock()
				return random.Float64() < p
			}
			g.deliver = func(*fakeConn, *protocol.Envelope) bool { return !chance(0.02) }
			g.loseAck = func(protocol.ID) bool { return chance(0.02) }
			g.onFrame = func(c *fakeConn, _ *protocol.Envelope) bool {
				cut := chance(0.02)
				if cut {
					_ = c.CloseNow()
				}
				return cut
			}
			c := g.dial(t, nil)
			ctx := testkit.Deadline(t)

			var sender sync.WaitGroup
			defer sender.Wait()
			sender.Go(func() {
				for i := range count {
					if _, err := c.SendAsync(ctx, message(i)); err != nil {
						t.Errorf("send: %v", err)
						return
					}
				}
			})
			for i := range count {
				env, err := nextEntry(ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				if want := message(i); env.ID != want.ID || env.Seq != protocol.Seq(i+1) {
					t.Fatalf("received %s at %d, want %s at %d", env.ID, env.Seq, want.ID, i+1)
				}
			}
			if n := g.dialCount(); n < 3 {
				t.Errorf("only %d connections: the faults did not happen", n)
			}
			for i, env := range g.entries() {
				if env.ID != message(i).ID {
					t.Fatalf("the log has %s at %d", env.ID, i+1)
				}
			}
		})
	}
}

func TestSend_LostAck(t *testing.T) {
	g := newFaultyGateway(t)
	var once sync.Once
	g.loseAck = func(protocol.ID) (lost bool) {
		once.Do(func() { lost = true })
		return lost
	}
	c := g.dial(t, nil)
	receipt, err := c.Send(testkit.Deadline(t), message(1))
	if err != nil || receipt.Seq != 1 {
		t.Fatalf("receipt %+v, error %v", receipt, err)
	}
	if n := len(g.entries()); n != 1 {
		t.Errorf("the log has %d entries", n)
	}
}

func TestSend_LiveNotResent(t *testing.T) {
	g := newFaultyGateway(t)
	var mu sync.Mutex
	arrived := 0
	g.onFrame = func(c *fakeConn, env *protocol.Envelope) bool {
		if env.Kind != protocol.KindStreamData {
			return false
		}
		mu.Lock()
		arrived++
		mu.Unlock()
		_ = c.CloseNow()
		return true
	}
	c := g.dial(t, nil)
	_, err := c.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindStreamData, Payload: []byte(`{"stream_id":"s","data":"x"}`)})
	if !errors.Is(err, client.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Send(testkit.Deadline(t), message(1)); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if arrived != 1 {
		t.Errorf("arrived %d times", arrived)
	}
}

// A program that sends from within its receive loop, with a buffer far smaller
// than the backlog, must neither lose nor duplicate envelopes nor hang.
func TestSlowReceiver_SendInLoop(t *testing.T) {
	const backlog = 300
	g := newFaultyGateway(t)
	for i := range backlog {
		g.append(message(i))
	}
	c := g.dial(t, func(o *client.Options) {
		o.Since, o.Buffer = client.After(0), 8
	})
	ctx := testkit.Deadline(t)
	var last protocol.Seq
	for n := 0; n < 2*backlog; {
		env, err := nextEntry(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if env.Seq != last+1 {
			t.Fatalf("received %d behind %d", env.Seq, last)
		}
		last = env.Seq
		n++
		if n <= backlog {
			if _, err := c.Send(ctx, client.Chat("answer")); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d connections", g.dialCount())
}

// While no caller waits for an answer, a full buffer stops the reading: the
// client does not drop envelopes that it would have to request again.
func TestSlowReceiver_KeepsConnection(t *testing.T) {
	const backlog = 2000
	g := newFaultyGateway(t)
	for i := range backlog {
		g.append(message(i))
	}
	c := g.dial(t, func(o *client.Options) { o.Since, o.Buffer = client.After(0), 4 })
	ctx := testkit.Deadline(t)
	for i := range backlog {
		env, err := c.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if env.Seq != protocol.Seq(i+1) {
			t.Fatalf("received %d, want %d", env.Seq, i+1)
		}
	}
	if n := g.dialCount(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// An envelope of any size is accepted into an empty buffer, and the next one
// only when there is space: the gateway gets backpressure.
func TestBuffer_ByteBound(t *testing.T) {
	const count, size = 400, 1 << 16 // far more than the socket buffers hold
	g := newFaultyGateway(t)
	var written atomic.Int64
	g.deliver = func(*fakeConn, *protocol.Envelope) bool { written.Add(1); return true }
	for i := range count {
		env := client.Chat(strings.Repeat("x", size))
		env.ID = message(i).ID
		g.append(env)
	}
	c := g.dial(t, func(o *client.Options) { o.Since, o.BufferBytes = client.After(0), 1 })
	ctx := testkit.Deadline(t)
	for i := range count {
		env, err := c.Receive(ctx)
		if err != nil || env.Seq != protocol.Seq(i+1) {
			t.Fatalf("received %d: %v", env.Seq, err)
		}
		if i == 0 && written.Load() == count {
			t.Error("everything was read at once")
		}
	}
}

func TestSend_OutcomeUnknown(t *testing.T) {
	g := newFaultyGateway(t)
	var once sync.Once
	g.onFrame = func(c *fakeConn, env *protocol.Envelope) (refused bool) {
		once.Do(func() {
			g.append(*env) // it was admitted, and the gateway does not know
			unknown := protocol.Errorf(protocol.CodeOutcomeUnknown, "unknown")
			unknown.ID, unknown.RetryAfterMS = env.ID, 1
			c.say(protocol.KindSystemError, env.ID, unknown)
			refused = true
		})
		return refused
	}
	c := g.dial(t, nil)
	if receipt, err := c.Send(testkit.Deadline(t), client.Chat("x")); err != nil || receipt.Seq != 1 {
		t.Errorf("receipt %+v, error %v", receipt, err)
	}
}

func TestLaggingGateway(t *testing.T) {
	g := newFaultyGateway(t)
	for i := range 3 {
		g.append(message(i))
	}
	g.headLess = 1
	g.upgrade = func(_ http.ResponseWriter, dial int) bool {
		if dial == 2 {
			g.mu.Lock()
			g.headLess = 0
			g.mu.Unlock()
		}
		return false
	}
	c := g.dial(t, func(o *client.Options) { o.Since = client.After(3) })
	g.append(message(3))
	if env, err := c.Receive(testkit.Deadline(t)); err != nil || env.Seq != 4 {
		t.Errorf("received %d, %v", env.Seq, err)
	}
}

func TestInvalidFrames(t *testing.T) {
	g := newFaultyGateway(t)
	g.deliver = func(c *fakeConn, _ *protocol.Envelope) bool {
		for _, frame := range []string{`{`, `[]`, `{}`, `{"kind":5}`, `{"kind":"system.ack","payload":7}`, `{"kind":"system.error","payload":[]}`, "\xff"} {
			if c.Write(c.ctx, websocket.MessageText, []byte(frame)) != nil {
				return false
			}
		}
		return true
	}
	c := g.dial(t, nil)
	if _, err := c.Send(testkit.Deadline(t), message(1)); err != nil {
		t.Fatal(err)
	}
	if env, err := c.Receive(testkit.Deadline(t)); err != nil || env.ID != message(1).ID {
		t.Errorf("received %s, %v", env.ID, err)
	}
}

func TestSend_TooLarge(t *testing.T) {
	g := newFaultyGateway(t)
	g.onFrame = func(c *fakeConn, env *protocol.Envelope) bool {
		if len(env.Payload) < 1000 {
			return false
		}
		c.say(protocol.KindSystemError, "", protocol.Error{Code: protocol.CodeMessageTooLarge, Message: "Too large.", Limit: 1000})
		_ = c.Conn.Close(protocol.CloseTooBig, "")
		return true
	}
	c := g.dial(t, nil)
	ctx := testkit.Deadline(t)
	big, err := c.SendAsync(ctx, client.Chat(string(make([]byte, 2000))))
	if err != nil {
		t.Fatal(err)
	}
	small, err := c.SendAsync(ctx, message(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := big.Wait(ctx); !errors.Is(err, &protocol.Error{Code: protocol.CodeMessageTooLarge}) {
		t.Errorf("large: %v", err)
	}
	if _, err := small.Wait(ctx); err != nil {
		t.Errorf("small: %v", err)
	}
}
