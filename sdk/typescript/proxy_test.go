package typescript_test

import (
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func itoa(n int) string { return strconv.Itoa(n) }

// cuttingProxy is a proxy in front of a gateway that cuts connections after a random
// number of bytes, anywhere in a frame, until it has cut as many as it should.
type cuttingProxy struct {
	net.Listener
	target string
	group  sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	cuts   int
	open   map[net.Conn]bool
}

func newCuttingProxy(t *testing.T, target string, cuts int) *cuttingProxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cuttingProxy{Listener: l, target: target, random: testkit.Rand(t), cuts: cuts, open: make(map[net.Conn]bool)}
	p.group.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.group.Wait()
	})
	return p
}

// left returns how many connections are still to be cut.
func (p *cuttingProxy) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
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
		p.open[in], p.open[out] = true, true
		p.mu.Unlock()
		p.group.Go(func() { p.pass(in, out) })
	}
}

// pass copies in both directions until one ends, or the connection is cut.
func (p *cuttingProxy) pass(in, out net.Conn) {
	var ends sync.WaitGroup
	end := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, in)
		delete(p.open, out)
		_ = in.Close()
		_ = out.Close()
	}
	var cut sync.Once
	copyTo := func(dst, src net.Conn) {
		defer end()
		p.mu.Lock()
		length := 1000 + p.random.Int64N(8000)
		p.mu.Unlock()
		n, _ := io.CopyN(dst, src, length)
		if n < 1000 {
			return // ended by a peer
		}
		doCut := false
		cut.Do(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			doCut = p.cuts > 0
			if doCut {
				p.cuts--
			}
		})
		if !doCut && p.left() == 0 {
			_, _ = io.Copy(dst, src)
		}
	}
	ends.Go(func() { copyTo(out, in) })
	ends.Go(func() { copyTo(in, out) })
	ends.Wait()
}
