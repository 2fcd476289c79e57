package e2e

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const floodConfig = `
limits: {rate: 50, burst: 100}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      bob: {token: bob-token-for-tests, capabilities: ["*"]}
      dave: {token: dave-token-for-tests, capabilities: ["*"]}
`

// A participant sends faster than allowed, for a minute with make slow: no more is
// admitted than its limits allow, it is closed with 1008, and other participants are
// not affected.
func TestFlood(t *testing.T) {
	t.Parallel()
	length := 3 * time.Second
	if testkit.IsSlow() {
		length = time.Minute
	}
	g := startGateway(t, floodConfig)
	begun := time.Now()
	ctx, stop := context.WithCancel(testkit.Deadline(t))
	defer stop()
	var sent, closed atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			closed.Add(int64(flood(ctx, g.addr, &sent)))
		}
	}()

	alice := g.dial(t, "alice", client.Position{})
	collect(t, alice)
	said := 0
	for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil && (time.Since(begun) < length || closed.Load() == 0); said++ {
		<-tick.C
		if _, err := alice.Send(t.Context(), client.Chat("still here")); err != nil {
			t.Fatalf("another participant was refused: %v", err)
		}
	}
	stop()
	<-done
	elapsed := time.Since(begun)
	through := 0
	for _, e := range history(t, g.addr, "dave") {
		if e.From == "bob" {
			through++
		}
	}
	if most := 100 + int(50*elapsed.Seconds()) + 50; through > most || through < 100 {
		t.Errorf("%d got through in %v, at most %d may", through, elapsed, most)
	}
	if closed.Load() == 0 {
		t.Error("a flood was never closed with 1008")
	}
	t.Logf("%d sent, %d got through, closed %d times; the other one said %d things", sent.Load(), through, closed.Load(), said)
}

// flood sends without a pause until the connection ends, and returns how often
// the reason was 1008.
func flood(ctx context.Context, addr string, sent *atomic.Int64) int {
	ws, _, err := websocket.Dial(ctx, "ws://"+addr+"/ws?space=lab&echo=false", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer bob-token-for-tests"}},
	})
	if err != nil {
		return 0
	}
	defer ws.CloseNow()
	ended := make(chan int, 1)
	go func() {
		for {
			if _, _, err := ws.Read(ctx); err != nil {
				ended <- int(websocket.CloseStatus(err))
				return
			}
		}
	}()
	for ctx.Err() == nil {
		if ws.Write(ctx, websocket.MessageText, []byte(`{"kind":"chat","payload":{"message":"buy"}}`)) != nil {
			break
		}
		sent.Add(1)
	}
	if <-ended == protocol.ClosePolicy {
		return 1
	}
	return 0
}
