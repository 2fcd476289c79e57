package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// pair returns a connection with a handler, and the ends of its peer.
func pair(t *testing.T, handle Handler) (c *Conn, in *io.PipeWriter, out io.Reader) {
	t.Helper()
	r, in := io.Pipe()
	out, w := io.Pipe()
	c = NewConn(r, w, slog.New(slog.NewTextHandler(t.Output(), nil)), handle)
	c.Start()
	t.Cleanup(func() {
		_ = in.Close()
		_ = w.Close()
		c.Close()
	})
	return c, in, out
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Error(err)
	}
}

// A request is handled after the notifications before it, and a response is returned
// after them, however long the handlers take.
func TestConn_Order(t *testing.T) {
	var seen atomic.Int64
	c, in, out := pair(t, func(_ context.Context, method string, _ json.RawMessage) (any, error) {
		if method == "step" {
			seen.Add(1)
			return nil, nil
		}
		return seen.Load(), nil
	})
	done := make(chan error, 1)
	go func() { done <- c.Call(t.Context(), "ask", nil, nil) }()
	d := json.NewDecoder(out)
	var request struct{ ID json.RawMessage }
	if err := d.Decode(&request); err != nil {
		t.Fatal(err)
	}
	const n = 2000
	for range n {
		write(t, in, `{"jsonrpc":"2.0","method":"step"}`+"\n")
	}
	write(t, in, `{"jsonrpc":"2.0","id":"a","method":"count"}`+"\n")
	var response struct{ Result int }
	if err := d.Decode(&response); err != nil || response.Result != n {
		t.Errorf("%d of %d, %v", response.Result, n, err)
	}
	write(t, in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", request.ID))
	if err := <-done; err != nil || seen.Load() != n {
		t.Errorf("%d of %d, %v", seen.Load(), n, err)
	}
}

// A peer that sends faster than its messages are handled is not read.
func TestConn_Bounded(t *testing.T) {
	for method, most := range map[string]int{`"method":"step"`: maxQueued, `"id":1,"method":"ask"`: maxInFlight} {
		t.Run(method, func(t *testing.T) {
			release := make(chan struct{})
			c, in, out := pair(t, func(context.Context, string, json.RawMessage) (any, error) { <-release; return nil, nil })
			go func() { _, _ = io.Copy(io.Discard, out) }()
			written := make(chan int, 1)
			go func() {
				n := 0
				for ; n < 3*most; n++ {
					if _, err := io.WriteString(in, `{"jsonrpc":"2.0",`+method+"}\n"); err != nil {
						break
					}
				}
				written <- n
			}()
			testkit.Eventually(t, "full", func() bool {
				c.in.mu.Lock()
				defer c.in.mu.Unlock()
				return c.in.queued == most || c.in.inFlight == most
			})
			c.in.mu.Lock()
			if c.in.queued-c.in.done > most || c.in.inFlight > most {
				t.Errorf("%d notifications, %d requests", c.in.queued-c.in.done, c.in.inFlight)
			}
			c.in.mu.Unlock()
			close(release)
			if n := <-written; n != 3*most {
				t.Errorf("%d were read", n)
			}
		})
	}
}

// Params are handed on as the peer wrote them.
func TestConn_Params(t *testing.T) {
	got := make(chan string, 1)
	_, in, _ := pair(t, func(_ context.Context, _ string, params json.RawMessage) (any, error) {
		got <- string(params)
		return nil, nil
	})
	const want = `{"a":1e400,"b":"<&>\u2028"}`
	write(t, in, `{"jsonrpc":"2.0","method":"x","params":`+want+"}\n")
	if params := <-got; params != want {
		t.Errorf("got %s", params)
	}
}

// What is no message is left out, up to a bound.
func TestConn_Faults(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"end":      {"", ErrEnded},
		"half":     {`{"jsonrpc":"2.0","method":"x"`, ErrEnded},
		"noise":    {strings.Repeat("noise\n[1]\n{}\n7\n\n", 200), ErrEnded},
		"garbage":  {strings.Repeat("noise\n", maxGarbage+1), errGarbage},
		"too long": {strings.Repeat("x", maxLine+1), errTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			c := NewConn(r, io.Discard, slog.New(slog.DiscardHandler), func(context.Context, string, json.RawMessage) (any, error) { return nil, nil })
			c.Start()
			go func() {
				_, _ = io.WriteString(w, test.text)
				_ = w.Close()
			}()
			err := c.Call(testkit.Deadline(t), "x", nil, nil)
			_ = r.Close()
			c.Close()
			if !errors.Is(err, test.want) || !errors.Is(c.Err(), test.want) {
				t.Errorf("%v, %v", err, c.Err())
			}
		})
	}
}

// A handler has the number of its message, and the method as the peer wrote it.
func TestConn_Number(t *testing.T) {
	_, in, out := pair(t, func(ctx context.Context, method string, _ json.RawMessage) (any, error) {
		return fmt.Sprint(Number(ctx), " ", method), nil
	})
	write(t, in, `{"jsonrpc":"2.0","method":"5n:step"}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"7r:a:b"}`+"\n")
	var response struct{ Result string }
	if err := json.NewDecoder(out).Decode(&response); err != nil || response.Result != "2 7r:a:b" {
		t.Errorf("%+v, %v", response, err)
	}
}

// A handler that panics fails one request only.
func TestConn_Panic(t *testing.T) {
	_, in, out := pair(t, func(_ context.Context, method string, _ json.RawMessage) (any, error) {
		if method == "bad" {
			panic("secret")
		}
		return nil, NewError(codeInvalidParams, "no %s", method)
	})
	d := json.NewDecoder(out)
	for method, want := range map[string]string{"bad": "internal error", "good": "no good"} {
		write(t, in, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`+"\n")
		var response struct{ Error Error }
		if err := d.Decode(&response); err != nil || response.Error.Message != want {
			t.Errorf("%v, %v", response, err)
		}
	}
}

// A call and a notification end with their contexts, and the connection with its input,
// also if the peer does not read.
func TestConn_PeerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, in := io.Pipe()
		out, w := io.Pipe()
		var c *Conn
		c = NewConn(r, w, slog.New(slog.DiscardHandler), func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
			return nil, c.Notify(ctx, "update", nil)
		})
		c.Start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Call(ctx, "ask", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ended with %v, want %v", err, context.DeadlineExceeded)
		}
		write(t, in, `{"jsonrpc":"2.0","id":"a","method":"prompt"}`+"\n")
		_ = in.Close()
		c.Close()
		_ = out.Close()
	})
}

// The messages to a peer that does not read are bounded, also if no sender waits for them; when it reads, the next
// one is sent.
func TestConn_UnreadBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, in := io.Pipe()
		out, w := io.Pipe()
		c := NewConn(r, w, slog.New(slog.DiscardHandler), nil)
		c.Start()
		for range maxUnread {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.Call(ctx, "ask", nil, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v, want %v", err, context.Canceled)
			}
		}
		for range 2 {
			if err := c.Call(t.Context(), "ask", nil, nil); !errors.Is(err, ErrUnread) {
				t.Errorf("the call ended with %v, want %v", err, ErrUnread)
			}
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		synctest.Wait()
		if err := c.Notify(t.Context(), "update", nil); err != nil {
			t.Errorf("the peer reads, and the notification ended with %v", err)
		}
		_ = in.Close()
		c.Close()
		_ = w.Close()
	})
}

// Any input ends, and each message that is passed on is handled.
func FuzzConn(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"a":1}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"x"}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"method":"x"}` + "\n" + `{"id":1e999,"method":"x"}` + "\n" + `{"ID":[],"Method":"x"}` + "\n"))
	f.Add([]byte(`{"method":"notification:x","id":1}` + "\n" + `{"method":"$/cancel_request","params":{"requestId":1}}` + "\n"))
	f.Add([]byte(`{"id":1,"method":"x","error":7}` + "\n" + `{"method":"x","result":"a","error":[]}` + "\n"))
	f.Add([]byte(`{"id":1,"result":{}}` + "\n" + `{"method":"x","params":"\ud800"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var handled atomic.Int64
		c := NewConn(strings.NewReader(string(text)), io.Discard, slog.New(slog.DiscardHandler), func(ctx context.Context, method string, _ json.RawMessage) (any, error) {
			if Number(ctx) == 0 {
				t.Errorf("method %q has no number", method)
			}
			handled.Add(1)
			return nil, nil
		})
		c.Start()
		<-c.Done()
		c.Close()
		if c.in.queued != c.in.done || c.in.inFlight != 0 {
			t.Errorf("%d of %d notifications were handled; %d requests are open", c.in.done, c.in.queued, c.in.inFlight)
		}
	})
}
