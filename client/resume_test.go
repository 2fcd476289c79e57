package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

func message(i int) protocol.Envelope {
	env := client.Chat(fmt.Sprintf("message %d", i))
	env.ID = protocol.ID(fmt.Sprintf("m-%d", i))
	return env
}

// deadline is generous: a test that reaches it has failed.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestResume_NoGapNoDuplicate(t *testing.T) {
	const count = 400
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := newFaultyGateway(t)
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 1))
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
			ctx := deadline(t)

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
	receipt, err := c.Send(deadline(t), message(1))
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
	_, err := c.Send(deadline(t), protocol.Envelope{Kind: protocol.KindStreamData, Payload: []byte(`{"stream_id":"s","data":"x"}`)})
	if !errors.Is(err, client.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Send(deadline(t), message(1)); err != nil {
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
	ctx := deadline(t)
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
	ctx := deadline(t)
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
	ctx := deadline(t)
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

func TestReconnect_FinalCloseCodes(t *testing.T) {
	for _, code := range []int{protocol.ClosePolicy, protocol.CloseTokenExpired, protocol.CloseKicked} {
		g := newFaultyGateway(t)
		g.onFrame = func(c *fakeConn, _ *protocol.Envelope) bool {
			_ = c.Conn.Close(websocket.StatusCode(code), "because")
			return true
		}
		c := g.dial(t, nil)
		_, err := c.Send(deadline(t), message(1))
		var closed *client.CloseError
		if !errors.As(err, &closed) || closed.Code != code || closed.Reason != "because" {
			t.Errorf("%d: send: %v", code, err)
		}
		if _, err := c.Receive(deadline(t)); !errors.As(err, &closed) {
			t.Errorf("%d: receive: %v", code, err)
		}
		if n := g.dialCount(); n != 1 {
			t.Errorf("%d: dialled %d times", code, n)
		}
	}
}

func TestReconnect_FinalRefusal(t *testing.T) {
	g := newFaultyGateway(t)
	g.upgrade = func(w http.ResponseWriter, dial int) bool {
		if dial == 1 {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":"kicked","message":"Ask to be invited again."}`))
		return true
	}
	g.onFrame = func(c *fakeConn, _ *protocol.Envelope) bool { _ = c.CloseNow(); return true }
	c := g.dial(t, nil)
	_, err := c.Send(deadline(t), message(1))
	var refused *client.DialError
	if !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
		t.Fatalf("error %v", err)
	}
	if !errors.Is(err, &protocol.Error{Code: protocol.CodeKicked}) {
		t.Errorf("the refusal is not to be seen in %v", err)
	}
	<-c.Done()
	if !errors.As(c.Err(), &refused) {
		t.Errorf("ended with %v", c.Err())
	}
}

func TestReconnect_TemporaryRefusal(t *testing.T) {
	g := newFaultyGateway(t)
	g.upgrade = func(w http.ResponseWriter, dial int) bool {
		if dial < 2 || dial > 4 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	var once sync.Once
	g.onFrame = func(c *fakeConn, _ *protocol.Envelope) (cut bool) {
		once.Do(func() { cut = true; _ = c.CloseNow() })
		return cut
	}
	var mu sync.Mutex
	var phases []client.Phase
	c := g.dial(t, func(o *client.Options) {
		o.OnState = func(s client.State) {
			mu.Lock()
			defer mu.Unlock()
			phases = append(phases, s.Phase)
		}
	})
	if _, err := c.Send(deadline(t), message(1)); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	mu.Lock()
	defer mu.Unlock()
	want := []client.Phase{client.Connected, client.Waiting, client.Waiting, client.Waiting, client.Waiting, client.Connected, client.Closed}
	if fmt.Sprint(phases) != fmt.Sprint(want) {
		t.Errorf("phases %v, want %v", phases, want)
	}
}

func TestSend_TemporaryRefusal(t *testing.T) {
	for _, code := range []protocol.Code{protocol.CodeRateLimited, protocol.CodeUnavailable} {
		g := newFaultyGateway(t)
		var refusals atomic.Int64
		g.onFrame = func(c *fakeConn, env *protocol.Envelope) bool {
			if refusals.Add(-1) < 0 {
				return false
			}
			c.say(protocol.KindSystemError, env.ID, protocol.Error{Code: code, Message: "Later.", RetryAfterMS: 5})
			return true
		}
		patient := g.dial(t, nil)
		refusals.Store(3)
		if _, err := patient.Send(deadline(t), message(1)); err != nil || refusals.Load() >= 0 {
			t.Errorf("%s: %v, %d refusals left", code, err, refusals.Load())
		}
		plain := g.dial(t, func(o *client.Options) { o.NoRetry = true })
		refusals.Store(1)
		if _, err := plain.Send(deadline(t), message(2)); !errors.Is(err, &protocol.Error{Code: code}) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestCursorExpired(t *testing.T) {
	g := newFaultyGateway(t)
	for i := range 5 {
		g.append(message(i))
	}
	var once sync.Once
	g.deliver = func(c *fakeConn, env *protocol.Envelope) bool {
		if env.Seq == 3 {
			once.Do(func() {
				c.say(protocol.KindSystemError, "", protocol.Error{Code: protocol.CodeCursorExpired, Message: "Gone.", OldestSeq: 3})
			})
		}
		return true
	}
	c := g.dial(t, func(o *client.Options) { o.Since = client.After(0) })
	var got []string
	for env, err := range c.All(deadline(t)) {
		var gap *client.GapError
		if errors.As(err, &gap) {
			got = append(got, fmt.Sprintf("gap after %d until %d", gap.After, gap.Oldest))
			if !errors.Is(err, &protocol.Error{Code: protocol.CodeCursorExpired}) {
				t.Error("a gap is not cursor_expired")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, env.Seq.String()); env.Seq == 5 {
			break
		}
	}
	if want := "[1 2 gap after 2 until 3 3 4 5]"; fmt.Sprint(got) != want {
		t.Errorf("received %v, want %s", got, want)
	}
}

// A gateway that lags for a moment has not lost its log; one that lags
// repeatedly has, and its log is read from the beginning.
func TestLostLog(t *testing.T) {
	g := newFaultyGateway(t)
	for i := range 3 {
		g.append(message(i))
	}
	c := g.dial(t, func(o *client.Options) { o.Since = client.After(7) })
	var gap *client.GapError
	if _, err := c.Receive(deadline(t)); !errors.As(err, &gap) || !gap.Reset || gap.After != 7 {
		t.Fatalf("error %v", err)
	}
	for i := range 3 {
		if env, err := c.Receive(deadline(t)); err != nil || env.ID != message(i).ID {
			t.Fatalf("received %s, %v", env.ID, err)
		}
	}
}

// A replaced log is detected by its id, even if it is longer than the position
// in the old one.
func TestReplacedLog(t *testing.T) {
	g := newFaultyGateway(t)
	g.logID = "a"
	for i := range 3 {
		g.append(message(i))
	}
	var replaced sync.Once
	g.deliver = func(_ *fakeConn, env *protocol.Envelope) bool {
		cut := false
		if env.ID == "last of a" {
			replaced.Do(func() {
				g.mu.Lock()
				g.logID, g.log, g.ids = "b", nil, make(map[protocol.ID]protocol.Seq)
				g.mu.Unlock()
				for i := range 6 {
					g.append(message(i))
				}
				cut = true
			})
		}
		return !cut
	}
	c := g.dial(t, func(o *client.Options) { o.Since = client.After(0) })
	for i := range 3 {
		if env, err := nextEntry(deadline(t), c); err != nil || env.ID != message(i).ID {
			t.Fatalf("received %s, %v", env.ID, err)
		}
	}
	last := message(3)
	last.ID = "last of a"
	g.append(last)
	var gap *client.GapError
	if env, err := nextEntry(deadline(t), c); !errors.As(err, &gap) || !gap.Reset || gap.After != 3 {
		t.Fatalf("received %s, %v", env.ID, err)
	}
	for i := range 6 {
		if env, err := nextEntry(deadline(t), c); err != nil || env.ID != message(i).ID {
			t.Fatalf("received %s, %v; want %s", env.ID, err, message(i).ID)
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
	if receipt, err := c.Send(deadline(t), client.Chat("x")); err != nil || receipt.Seq != 1 {
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
	if env, err := c.Receive(deadline(t)); err != nil || env.Seq != 4 {
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
	if _, err := c.Send(deadline(t), message(1)); err != nil {
		t.Fatal(err)
	}
	if env, err := c.Receive(deadline(t)); err != nil || env.ID != message(1).ID {
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
	ctx := deadline(t)
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
