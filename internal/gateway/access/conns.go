package access

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// ConnLimits bounds the connections of all listeners together.
type ConnLimits struct {
	Unauthenticated int // without a participant: new, idle, or joining
	Authenticated   int // with a participant: upgraded, or in a request
}

// Conns bounds connections. A connection counts as unauthenticated until a
// token is accepted over it, and again between two HTTP requests. If there are
// too many, a new one evicts the oldest one of the address that has the most,
// so that a flood evicts itself and new clients can always connect.
type Conns struct {
	limits ConnLimits

	mu            sync.Mutex
	closing       bool
	unadmitted    list.List // of *trackedConn, oldest first
	byAddr        map[netip.Addr]int
	authenticated int
}

// NewConns returns a Conns without connections.
func NewConns(l ConnLimits) *Conns {
	return &Conns{limits: l, byAddr: make(map[netip.Addr]int)}
}

// Counts returns the numbers of connections.
func (c *Conns) Counts() (unauthenticated, authenticated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unadmitted.Len(), c.authenticated
}

// Listen wraps l so that its connections are counted.
func (c *Conns) Listen(l net.Listener) net.Listener { return &countingListener{l, c} }

type countingListener struct {
	net.Listener
	conns *Conns
}

// Accept accepts a connection, whose Close releases its place.
func (l *countingListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := &trackedConn{conns: l.conns, addr: networkOf(accepted.RemoteAddr()), fresh: true, close: accepted.Close}
	l.conns.mu.Lock()
	evicted := l.conns.enlistLocked(t)
	l.conns.mu.Unlock()
	evicted.evict()
	if tcp, ok := accepted.(*net.TCPConn); ok {
		return &trackedTCP{tcp, t}, nil
	}
	return &trackedOther{accepted, t}, nil
}

// trackedTCP embeds the concrete type, which has more methods than net.Conn:
// vectored writes and access to the descriptor.
type trackedTCP struct {
	*net.TCPConn
	*trackedConn
}

// Close closes the connection.
func (t *trackedTCP) Close() error { return t.trackedConn.Close() }

type trackedOther struct {
	net.Conn
	*trackedConn
}

// Close closes the connection.
func (t *trackedOther) Close() error { return t.trackedConn.Close() }

// trackedConn is the accounting of one connection.
type trackedConn struct {
	conns *Conns
	addr  netip.Addr
	close func() error

	// Guarded by conns.mu.
	place  *list.Element // in the list of unauthenticated connections; nil if it is in no list
	fresh  bool          // no request was read from it since it was accepted or idle
	closed bool
}

// Close closes the connection and releases its place.
func (t *trackedConn) Close() error {
	c := t.conns
	c.mu.Lock()
	if !t.closed {
		t.closed = true
		if !c.delistLocked(t) {
			c.authenticated--
		}
	}
	c.mu.Unlock()
	return t.close()
}

// evict closes a connection that a new one replaces.
func (t *trackedConn) evict() {
	if t != nil {
		_ = t.Close() // the peer may have closed it already
	}
}

// enlistLocked counts t as unauthenticated and returns the connection to evict,
// if any.
func (c *Conns) enlistLocked(t *trackedConn) (displaced *trackedConn) {
	if c.closing {
		displaced = t
	} else if c.limits.Unauthenticated > 0 && c.unadmitted.Len() >= c.limits.Unauthenticated {
		displaced = c.oldestLocked()
	}
	t.place = c.unadmitted.PushBack(t)
	c.byAddr[t.addr]++
	return displaced
}

// delistLocked removes t from the unauthenticated connections, and reports
// whether it was one.
func (c *Conns) delistLocked(t *trackedConn) bool {
	if t.place == nil {
		return false
	}
	c.unadmitted.Remove(t.place)
	t.place = nil
	c.byAddr[t.addr]--
	if c.byAddr[t.addr] == 0 {
		delete(c.byAddr, t.addr)
	}
	return true
}

// oldestLocked returns the oldest unauthenticated connection of the address
// that has the most.
func (c *Conns) oldestLocked() *trackedConn {
	most := 0
	for _, n := range c.byAddr {
		most = max(most, n)
	}
	for e := c.unadmitted.Front(); e != nil; e = e.Next() {
		if t := e.Value.(*trackedConn); c.byAddr[t.addr] == most { //nolint:forcetypeassert // the list holds nothing else
			return t
		}
	}
	return nil
}

type connKey struct{}

// Context is for [http.Server.ConnContext]. [Admit] uses it to find the
// connection of a request.
func (c *Conns) Context(ctx context.Context, nc net.Conn) context.Context {
	if t := tracked(nc); t != nil {
		return context.WithValue(ctx, connKey{}, t)
	}
	return ctx
}

// tracked returns the accounting of a connection, which may be wrapped in TLS.
func tracked(nc net.Conn) *trackedConn {
	if outer, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = outer.NetConn()
	}
	switch t := nc.(type) {
	case *trackedTCP:
		return t.trackedConn
	case *trackedOther:
		return t.trackedConn
	}
	return nil
}

// StateChanged is for [http.Server.ConnState]: a connection counts as
// unauthenticated between two requests.
func (c *Conns) StateChanged(nc net.Conn, state http.ConnState) {
	t := tracked(nc)
	if t == nil || state != http.StateIdle && state != http.StateActive {
		return
	}
	var displaced *trackedConn
	c.mu.Lock()
	t.fresh = state == http.StateIdle
	if t.fresh && t.place == nil && !t.closed {
		c.authenticated--
		displaced = c.enlistLocked(t)
	}
	c.mu.Unlock()
	displaced.evict()
}

// CloseIdle closes connections without a request, and from now on every
// connection that becomes idle. [http.Server.Shutdown] would wait for
// connections that have never sent a request.
func (c *Conns) CloseIdle() {
	var idle []*trackedConn
	c.mu.Lock()
	c.closing = true
	for e := c.unadmitted.Front(); e != nil; e = e.Next() {
		if t := e.Value.(*trackedConn); t.fresh { //nolint:forcetypeassert // the list holds nothing else
			idle = append(idle, t)
		}
	}
	c.mu.Unlock()
	for _, t := range idle {
		t.evict()
	}
}

// Admit counts the connection of the request with this context as
// authenticated. Error: too_many_requests.
func Admit(ctx context.Context) error {
	t, ok := ctx.Value(connKey{}).(*trackedConn)
	if !ok {
		return nil
	}
	c := t.conns
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.place == nil || t.closed {
		return nil
	}
	if c.limits.Authenticated > 0 && c.authenticated >= c.limits.Authenticated {
		err := protocol.Errorf(protocol.CodeTooMany, "The gateway serves as many connections as it can; try again later.")
		err.RetryAfterMS = 5000
		return err
	}
	c.delistLocked(t)
	c.authenticated++
	return nil
}

// networkOf returns the address that connections are counted by. For IPv6 it is
// the /64, which a single machine can own.
func networkOf(a net.Addr) netip.Addr {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if prefix, err := addr.Prefix(64); err == nil {
			return prefix.Addr()
		}
	}
	return addr
}
