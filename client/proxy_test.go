package client_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// cuttingProxy is a proxy between client and gateway that cuts every connection
// after a random number of bytes, anywhere in a frame.
type cuttingProxy struct {
	net.Listener
	target string
	cuts   func() int64 // how many bytes the next connection passes
	group  sync.WaitGroup

	mu    sync.Mutex
	conns int
}

func newCuttingProxy(t *testing.T, target string, random *rand.Rand) *cuttingProxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cuttingProxy{Listener: l, target: target}
	p.cuts = func() int64 { return 2000 + random.Int64N(20_000) } // only called by serve
	p.group.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.group.Wait()
	})
	return p
}

func (p *cuttingProxy) serve() {
	for {
		in, err := p.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns++
		p.mu.Unlock()
		up, down := p.cuts(), p.cuts()
		cut := func(dst, src net.Conn, n int64) {
			_, _ = io.CopyN(dst, src, n)
			_ = in.Close()
			_ = out.Close()
		}
		p.group.Go(func() { cut(out, in, up) })
		p.group.Go(func() { cut(in, out, down) })
	}
}

func (p *cuttingProxy) url() string { return "ws://" + p.Addr().String() + "/ws?space=lab" }

func TestProxy_CutsAnywhere(t *testing.T) {
	const count = 500
	seeds := testkit.Rand(t)
	for i := range 3 {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 2))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g := meuptest.Start(t, meuptest.Config)
			line := newCuttingProxy(t, g.Addr(), random)
			through := func(o *client.Options) { o.URL, o.RetryDial = line.url(), true }
			bob := join(t, g, "bob", through)
			alice := join(t, g, "alice", func(o *client.Options) { through(o); o.Discard = true })
			ctx := testkit.Deadline(t)
			var sender sync.WaitGroup
			defer sender.Wait()
			sender.Go(func() {
				for i := range count {
					if _, err := alice.SendAsync(ctx, message(i)); err != nil {
						t.Errorf("send: %v", err)
						return
					}
				}
			})
			last := protocol.Seq(0)
			for i := range count {
				env := next(t, bob, protocol.KindChat)
				if env.ID != message(i).ID || env.Seq <= last {
					t.Fatalf("received %s at %d behind %d, want %s", env.ID, env.Seq, last, message(i).ID)
				}
				last = env.Seq
			}
			line.mu.Lock()
			defer line.mu.Unlock()
			if line.conns < 6 {
				t.Errorf("only %d connections", line.conns)
			}
			t.Logf("%d connections", line.conns)
		})
	}
}

// The buffer is far smaller than the backlog, and every envelope is answered
// from within the receive loop.
func TestProxy_AnswerBacklogSmallBuffer(t *testing.T) {
	const backlog = 200
	g := meuptest.Start(t, meuptest.Config)
	alice := join(t, g, "alice", nil)
	ctx := testkit.Deadline(t)
	for i := range backlog {
		if _, err := alice.SendAsync(ctx, message(i)); err != nil {
			t.Fatal(err)
		}
	}
	bob := join(t, g, "bob", func(o *client.Options) { o.Since, o.Buffer, o.NoEcho = client.After(0), 16, true })
	for i := range backlog {
		env := next(t, bob, protocol.KindChat)
		if env.ID != message(i).ID {
			t.Fatalf("received %s, want %s", env.ID, message(i).ID)
		}
		answer := client.Chat(strings.Repeat("x", 2000))
		answer.Correlation = protocol.CorrelateTo(env.ID)
		if _, err := bob.Send(ctx, answer); err != nil {
			t.Fatal(err)
		}
	}
}
