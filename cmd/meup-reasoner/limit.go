package main

import (
	"net"
	"sync"
)

// limitListener returns a listener that accepts a connection only when fewer than most
// are open.
func limitListener(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a free slot, and for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close ends Accept.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// limitedConn is a connection that occupies a slot.
type limitedConn struct {
	net.Conn
	leave func()
}

// Close frees the slot.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
