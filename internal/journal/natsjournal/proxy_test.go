package natsjournal

import (
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy forwards TCP connections to an address. It delays the data, and closes
// the connections on demand.
//
// From the first data with holdFrom on, what comes from the address waits until released
// is closed.
type proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // nanoseconds, each way
	down     atomic.Bool  // new connections are closed at once

	holdFrom atomic.Pointer[string]
	holding  atomic.Bool
	released chan struct{}

	mu    sync.Mutex
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: make(map[net.Conn]bool), released: make(chan struct{})}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) route() *url.URL { return &url.URL{Scheme: "nats", Host: p.address()} }

func (p *proxy) serve(in net.Conn) {
	var out net.Conn
	err := net.ErrClosed
	if !p.down.Load() {
		out, err = net.Dial("tcp", p.target)
	}
	if err != nil {
		_ = in.Close()
		return
	}
	p.mu.Lock()
	p.conns[in], p.conns[out] = true, true
	if p.down.Load() { // since the dial
		_, _ = in.Close(), out.Close()
	}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.forward(in, out, true) })
	both.Go(func() { p.forward(out, in, false) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, in)
	delete(p.conns, out)
	p.mu.Unlock()
}

// forward copies until either side ends. Data waits in a queue for the current
// delay.
func (p *proxy) forward(from, to net.Conn, asks bool) {
	type chunk struct {
		data []byte
		due  time.Time
	}
	chunks := make(chan chunk, 1<<16)
	var writer sync.WaitGroup
	writer.Go(func() {
		for c := range chunks {
			<-time.After(time.Until(c.due))
			if !asks && p.holding.Load() {
				<-p.released
			}
			if _, err := to.Write(c.data); err != nil {
				_ = from.Close()
			}
		}
		_ = to.Close()
	})
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		if text := p.holdFrom.Load(); asks && text != nil && strings.Contains(string(buf[:n]), *text) {
			p.holding.Store(true)
		}
		if n > 0 {
			chunks <- chunk{buf[:n], time.Now().Add(time.Duration(p.delay.Load()))}
		}
		if err != nil {
			break
		}
	}
	close(chunks)
	writer.Wait()
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}
