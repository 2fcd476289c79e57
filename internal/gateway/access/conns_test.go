package access_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// served is an HTTP server whose connections are counted. A request to /admit
// has a participant and lasts until the test ends it.
type served struct {
	t     *testing.T
	conns *access.Conns
	addr  string
	enter chan error
	leave chan struct{}
}

func serveCounted(t *testing.T, l access.ConnLimits) *served {
	t.Helper()
	s := &served{t: t, conns: access.NewConns(l), enter: make(chan error), leave: make(chan struct{})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("/admit", func(w http.ResponseWriter, r *http.Request) {
		if refused := access.Admit(r.Context()); refused != nil {
			s.enter <- refused
			access.WriteError(w, refused)
			return
		}
		s.enter <- nil
		<-s.leave
	})
	server := &http.Server{
		ReadHeaderTimeout: testkit.Patience, ConnContext: s.conns.Context, ConnState: s.conns.StateChanged,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			access.HoldBody(w, r)
			mux.ServeHTTP(w, r)
		}),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(s.conns.Listen(listener)) }() // ends with the test
	t.Cleanup(func() {
		close(s.leave)
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// dial connects from a loopback address and sends text.
func (s *served) dial(from, text string) net.Conn {
	s.t.Helper()
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))}
	c, err := d.DialContext(s.t.Context(), "tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// waitFor waits for these numbers of connections.
func (s *served) waitFor(unauthenticated, authenticated int) {
	s.t.Helper()
	testkit.Eventually(s.t, fmt.Sprintf("%d unauthenticated and %d authenticated connections", unauthenticated, authenticated), func() bool {
		u, a := s.conns.Counts()
		return u == unauthenticated && a == authenticated
	})
}

// isClosed waits for the server to close c.
func isClosed(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(testkit.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection is still open")
	}
}

const admit = "GET /admit HTTP/1.1\r\nHost: x\r\n\r\n"

func TestConns_FloodEvictsItself(t *testing.T) {
	s := serveCounted(t, access.ConnLimits{Unauthenticated: 4, Authenticated: 2})
	other := s.dial("127.0.0.2", "")
	s.waitFor(1, 0)
	flood := make([]net.Conn, 20)
	for i := range flood {
		flood[i] = s.dial("127.0.0.1", "")
		s.waitFor(min(i+2, 4), 0)
	}
	for _, c := range flood[:17] {
		isClosed(t, c)
	}
	if _, err := io.WriteString(other, admit); err != nil {
		t.Fatal(err)
	}
	if err := <-s.enter; err != nil {
		t.Fatal(err)
	}
	s.waitFor(3, 1)
}

func TestConns_AuthenticatedBounded(t *testing.T) {
	s := serveCounted(t, access.ConnLimits{Unauthenticated: 2, Authenticated: 2})
	for range 2 {
		s.dial("127.0.0.1", admit)
		if err := <-s.enter; err != nil {
			t.Fatal(err)
		}
	}
	s.waitFor(0, 2)
	s.dial("127.0.0.1", admit)
	if err := <-s.enter; err == nil {
		t.Fatal("a third authenticated connection was admitted")
	}
	for range 10 { // they evict each other
		s.dial("127.0.0.1", "")
	}
	s.waitFor(2, 2)
	s.leave <- struct{}{} // idle now, and the oldest one of its address
	s.waitFor(2, 1)
	s.dial("127.0.0.1", admit)
	if err := <-s.enter; err != nil {
		t.Fatalf("a place that was given back is not free: %v", err)
	}
}

func TestConns_IdleClose(t *testing.T) {
	s := serveCounted(t, access.ConnLimits{})
	fresh := s.dial("127.0.0.1", "")
	s.dial("127.0.0.1", admit)
	if err := <-s.enter; err != nil {
		t.Fatal(err)
	}
	s.waitFor(1, 1)
	s.conns.CloseIdle()
	isClosed(t, fresh)
	s.waitFor(0, 1)
	isClosed(t, s.dial("127.0.0.1", ""))
}

// No goroutine waits for a body that no handler reads.
func TestHoldBody_NeverSent(t *testing.T) {
	t.Parallel()
	for _, head := range []string{
		"Content-Length: 1000\r\n\r\n",
		"Content-Length: 1000\r\n\r\n{",
		"Content-Length: 100000000\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
		"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
	} {
		t.Run(head, func(t *testing.T) {
			t.Parallel()
			s := serveCounted(t, access.ConnLimits{})
			isClosed(t, s.dial("127.0.0.1", "POST /nothing HTTP/1.1\r\nHost: x\r\n"+head))
			s.waitFor(0, 0)
		})
	}
}
