//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// conn is one client connection: a socket outside Go's own poller, so that one
// thread can serve thousands of them without a goroutine each.
type conn struct {
	fd    int
	id    int // assigned by the caller
	space string
	scan  interface {
		feed(block []byte, bodies bool, visit func(op byte, body []byte))
	}
	rest []byte // read after the welcome, not scanned yet

	frame  []byte // sent by scenarios in which each space has its own; or nil
	sent   int    // the times that it was
	bodies bool   // the scenario reads the content of frames
	frames int    // text frames so far, the welcome excluded

	acknowledges bool // the server acknowledges frames; otherwise, their sender's copy does
	acks         int
	onAck        frameHandler // or nil
}

// handshakeTimeout bounds every step of connecting.
const handshakeTimeout = 10 * time.Second

// connect connects a seat and reads the welcome.
func (s *process) connect(at seat) (*conn, error) {
	addr, err := netip.ParseAddrPort(s.address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.address, err)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	c := &conn{fd: fd, space: at.space}
	switch s.name {
	case jetStreamName, jetStreamCoreName:
		c.scan, c.acknowledges, err = &natsReader{}, true, c.openNATS(addr, s.name == jetStreamName)
	default:
		c.scan, err = &webSocketReader{}, c.open(addr, path(at.space, at.query), token(at.participant))
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("connect to %s: %w", at.space, err)
	}
	return c, nil
}

// encode returns n equal messages to the space of the connection.
func (c *conn) encode(body []byte, n int) []byte {
	if c.acknowledges {
		return natsFrames(c.natsSubject(), c.natsAcks(), body, n)
	}
	return clientFrames(body, n)
}

func (c *conn) dial(addr netip.AddrPort) error {
	timeout := syscall.NsecToTimeval(handshakeTimeout.Nanoseconds())
	return errors.Join(
		syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &timeout),
		syscall.SetsockoptInt(c.fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.Connect(c.fd, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}))
}

// open opens a WebSocket and reads the welcome. path includes the query.
func (c *conn) open(addr netip.AddrPort, path, token string) error {
	if err := c.dial(addr); err != nil {
		return err
	}
	request := "GET " + path + " HTTP/1.1\r\nHost: " + addr.String() + "\r\nAuthorization: Bearer " + token +
		"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	if _, err := syscall.Write(c.fd, []byte(request)); err != nil {
		return err
	}
	buf := make([]byte, 0, 16<<10)
	for {
		if len(buf) == cap(buf) {
			return errors.New("the welcome is too long")
		}
		n, err := syscall.Read(c.fd, buf[len(buf):cap(buf)])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("read the welcome behind %.200q: %w", buf, errors.Join(err, errEnded))
		}
		buf = buf[:len(buf)+n]
		head, rest, ok := bytes.Cut(buf, []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		if status, _, _ := strings.Cut(string(head), "\r\n"); !strings.Contains(status, " 101 ") {
			return fmt.Errorf("%s: %.300s", status, rest)
		}
		if size := wholeFrame(rest); size > 0 {
			c.rest = rest[size:]
			return syscall.SetNonblock(c.fd, true)
		}
	}
}

var errEnded = errors.New("the connection has ended")

func (c *conn) close() { _ = syscall.Close(c.fd) }

// write sends all of b, and waits while the socket is not writable.
func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(c.fd, b)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			if err := waitWritable(c.fd); err != nil {
				return err
			}
		case err != nil && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("send: %w", err)
		case n > 0:
			b = b[n:]
		}
	}
	return nil
}

// waitWritable waits with poll(2).
func waitWritable(fd int) error {
	const pollOut = 4
	p := struct {
		fd              int32
		events, revents int16
	}{int32(fd), pollOut, 0}
	n, _, errno := syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(handshakeTimeout.Milliseconds())) //nolint:gosec // the call keeps no reference
	if errno != 0 && errno != syscall.EINTR {
		return fmt.Errorf("wait for room to send: %w", errno)
	}
	if n == 0 && errno == 0 {
		return errors.New("the server takes nothing")
	}
	return nil
}

// poller polls connections.
type poller struct {
	epoll  int
	conns  map[int32]*conn
	events []syscall.EpollEvent
	block  []byte
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll: %w", err)
	}
	return &poller{epoll: fd, conns: make(map[int32]*conn), events: make([]syscall.EpollEvent, 256), block: make([]byte, 256<<10)}, nil
}

func (p *poller) add(c *conn) error {
	e := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.fd)}
	if err := syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_ADD, c.fd, &e); err != nil {
		return fmt.Errorf("watch a connection: %w", err)
	}
	p.conns[e.Fd] = c
	return nil
}

// close closes the poller and its connections.
func (p *poller) close() {
	for _, c := range p.conns {
		c.close()
	}
	_ = syscall.Close(p.epoll)
}

// frameHandler handles a received frame: the content of a text frame, or nil if the
// connection does not read the content of frames.
type frameHandler func(c *conn, body []byte) error

// poll waits up to timeout for data and passes it to visit. It returns an error
// when a connection has ended.
func (p *poller) poll(timeout time.Duration, visit frameHandler) error {
	n, err := syscall.EpollWait(p.epoll, p.events, int((timeout + time.Millisecond - 1).Milliseconds()))
	if err != nil && !errors.Is(err, syscall.EINTR) {
		return fmt.Errorf("wait for data: %w", err)
	}
	for i := range max(n, 0) {
		if err := p.receive(p.conns[p.events[i].Fd], visit); err != nil {
			return err
		}
	}
	return nil
}

// receive reads one block.
func (p *poller) receive(c *conn, visit frameHandler) error {
	n, err := syscall.Read(c.fd, p.block)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		return nil
	}
	if err != nil || n == 0 {
		return fmt.Errorf("connection %d: %w", c.id, errors.Join(err, errEnded))
	}
	return c.received(p.block[:n], visit)
}

func (c *conn) received(block []byte, visit frameHandler) error {
	var failed error
	c.scan.feed(block, c.bodies, func(op byte, body []byte) {
		switch {
		case failed != nil || op == pingFrame:
		case op == textFrame:
			c.frames++
			failed = visit(c, body)
		case op == ackFrame:
			failed = c.acknowledged(body)
		default:
			failed = fmt.Errorf("connection %d: closed by the server", c.id)
		}
	})
	return failed
}

// acknowledged counts an acknowledgment of JetStream.
func (c *conn) acknowledged(body []byte) error {
	c.acks++
	if bytes.Contains(body, []byte(`"error"`)) {
		return fmt.Errorf("connection %d: a message is not stored: %.300s", c.id, body)
	}
	if c.onAck != nil {
		return c.onAck(c, body)
	}
	return nil
}

// takeRest passes on the data that followed the welcome immediately.
func (c *conn) takeRest(visit frameHandler) error {
	rest := c.rest
	c.rest = nil
	return c.received(rest, visit)
}

// freeAddress returns a free address for a server that cannot choose one
// itself.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // local and immediate
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
