package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

func TestReconnect_FinalCloseCodes(t *testing.T) {
	for _, code := range []int{protocol.ClosePolicy, protocol.CloseTokenExpired, protocol.CloseKicked} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			g := newFaultyGateway(t)
			g.onFrame = func(c *fakeConn, _ *protocol.Envelope) bool {
				_ = c.Conn.Close(websocket.StatusCode(code), "because")
				return true
			}
			c := g.dial(t, nil)
			_, err := c.Send(testkit.Deadline(t), message(1))
			var closed *client.CloseError
			if !errors.As(err, &closed) || closed.Code != code || closed.Reason != "because" {
				t.Errorf("send: %v", err)
			}
			if _, err := c.Receive(testkit.Deadline(t)); !errors.As(err, &closed) {
				t.Errorf("receive: %v", err)
			}
			if n := g.dialCount(); n != 1 {
				t.Errorf("dialed %d times", n)
			}
		})
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
	_, err := c.Send(testkit.Deadline(t), message(1))
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
	if _, err := c.Send(testkit.Deadline(t), message(1)); err != nil {
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

// A loss is one warning and the return one message, however many attempts it takes. A
// gateway that closes as it stops is worth a warning only if it does not return at once.
func TestReconnect_Log(t *testing.T) {
	g := newFaultyGateway(t)
	g.upgrade = func(w http.ResponseWriter, dial int) bool {
		refused := dial == 1 || dial > 2 && dial < 6
		if refused {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return refused
	}
	var once sync.Once
	g.onFrame = func(c *fakeConn, _ *protocol.Envelope) (cut bool) {
		once.Do(func() { cut = true; _ = c.Conn.Close(websocket.StatusGoingAway, "gateway going down") })
		return cut
	}
	var log testkit.Log
	c := g.dial(t, func(o *client.Options) { o.RetryDial, o.Logger = true, slog.New(slog.NewTextHandler(&log, nil)) })
	if _, err := c.Send(testkit.Deadline(t), message(1)); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	want := []string{
		`level=WARN msg="gateway not reached; trying again" space=lab gateway=` + g.URL + ` err="gateway refused the connection with HTTP status 503" in=`,
		`level=INFO msg="gateway reached" space=lab gateway=` + g.URL + ` attempts=2`,
		`level=INFO msg="connection lost; trying again" space=lab gateway=` + g.URL + ` err="the gateway closed the connection (1001): gateway going down" attempt=1 in=`,
		`level=WARN msg="connection lost; trying again" space=lab gateway=` + g.URL + ` err="gateway refused the connection with HTTP status 503" attempt=2 in=`,
		`level=INFO msg="gateway reached again" space=lab gateway=` + g.URL + ` since=0`,
	}
	if len(lines) != len(want) {
		t.Fatalf("the log is\n%s", log.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			t.Errorf("line %d is %s\nwant %s", i, line, want[i])
		}
	}
}

// The cause of an unreachable gateway has no words of the libraries.
func TestDial_LogsPlainCause(t *testing.T) {
	ctx, cancel := context.WithCancel(testkit.Deadline(t))
	defer cancel()
	var log testkit.Log
	address := fmt.Sprintf("http://127.0.0.1:%d", testkit.FreePort(t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.Dial(ctx, client.Options{URL: address, Space: "lab", RetryDial: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	}()
	log.Wait(t, `gateway=`+address+` err="connection refused: is the gateway running at `+strings.TrimPrefix(address, "http://")+`?" in=`)
	cancel()
	<-ended
}

func TestSend_TemporaryRefusal(t *testing.T) {
	for _, code := range []protocol.Code{protocol.CodeRateLimited, protocol.CodeUnavailable} {
		t.Run(string(code), func(t *testing.T) {
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
			if _, err := patient.Send(testkit.Deadline(t), message(1)); err != nil || refusals.Load() >= 0 {
				t.Errorf("%s: %v, %d refusals left", code, err, refusals.Load())
			}
			plain := g.dial(t, func(o *client.Options) { o.NoRetry = true })
			refusals.Store(1)
			if _, err := plain.Send(testkit.Deadline(t), message(2)); !errors.Is(err, &protocol.Error{Code: code}) {
				t.Errorf("%s: %v", code, err)
			}
		})
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
	for env, err := range c.All(testkit.Deadline(t)) {
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
		got = append(got, env.Seq.String())
		if env.Seq == 5 {
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
	if _, err := c.Receive(testkit.Deadline(t)); !errors.As(err, &gap) || !gap.Reset || gap.After != 7 {
		t.Fatalf("error %v", err)
	}
	for i := range 3 {
		if env, err := c.Receive(testkit.Deadline(t)); err != nil || env.ID != message(i).ID {
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
		if env, err := nextEntry(testkit.Deadline(t), c); err != nil || env.ID != message(i).ID {
			t.Fatalf("received %s, %v", env.ID, err)
		}
	}
	last := message(3)
	last.ID = "last of a"
	g.append(last)
	var gap *client.GapError
	if env, err := nextEntry(testkit.Deadline(t), c); !errors.As(err, &gap) || !gap.Reset || gap.After != 3 {
		t.Fatalf("received %s, %v", env.ID, err)
	}
	for i := range 6 {
		if env, err := nextEntry(testkit.Deadline(t), c); err != nil || env.ID != message(i).ID {
			t.Fatalf("received %s, %v; want %s", env.ID, err, message(i).ID)
		}
	}
}
