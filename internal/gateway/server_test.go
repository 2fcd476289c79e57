package gateway_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestConnLimits_LeaveDescriptorsForTheLog(t *testing.T) {
	for _, c := range []struct{ descriptors, unauthenticated, authenticated, reserved uint64 }{
		{1024, 192, 576, 256},
		{20000, 1024, 16928, 2048},
		{256, 48, 144, 64},
		{64, 8, 24, 32},
		{1 << 60, 1024, 1<<24 - 2048 - 1024, 2048},
	} {
		t.Run(fmt.Sprint(c.descriptors), func(t *testing.T) {
			l := gateway.ConnLimits(c.descriptors)
			if uint64(l.Unauthenticated) != c.unauthenticated || uint64(l.Authenticated) != c.authenticated {
				t.Errorf("%+v", l)
			}
			if used := uint64(l.Unauthenticated + l.Authenticated); min(c.descriptors, 1<<24)-used != c.reserved {
				t.Errorf("%d of %d used, want %d left", used, c.descriptors, c.reserved)
			}
		})
	}
}

// tcpDial opens a connection to the gateway and sends text over it.
func tcpDial(t *testing.T, g *meuptest.Gateway, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(testkit.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// No route waits for the body of a client without a token, or for a body that
// it does not use.
func TestUnsentBodies_ConnectionClosed(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, meuptest.Config)
	for _, request := range []string{
		"POST /healthz", "GET /healthz", "GET /metrics", "GET /version", "GET /", "POST /nothing", "PUT /ws?space=lab",
		"GET /api/session", "DELETE /api/session", "POST /api/spaces/lab/envelopes", "GET /api/spaces/lab/envelopes",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			c := tcpDial(t, g, request+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
			if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
				t.Errorf("%q: %v", answer, err)
			}
		})
	}
}

// A request whose body was read completely leaves the connection open.
func TestBodies_KeepTheConnection(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	const body = `{"kind":"chat","payload":{"message":"hello"}}`
	c := tcpDial(t, g, "")
	answers := bufio.NewReader(c)
	for range 3 {
		fmt.Fprintf(c, "POST /api/spaces/lab/envelopes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice-token\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK || resp.Close {
			t.Fatalf("status %d, closed: %t, %v", resp.StatusCode, resp.Close, err)
		}
	}
}

// Bodies are read over HTTP/2 too; one that does not arrive ends only its
// request.
func TestBodies_OverHTTP2(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	server := httptest.NewUnstartedServer(g.Gateway())
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	ctx := testkit.Deadline(t)
	send := func(path string, body io.Reader) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice-token")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("HTTP/%d: %v", resp.ProtoMajor, err)
		}
		return resp.StatusCode, string(text)
	}
	never, end := io.Pipe()
	defer end.Close()
	if status, text := send("/healthz", never); status != http.StatusMethodNotAllowed {
		t.Errorf("%d %s", status, text)
	}
	const chat = `{"kind":"chat","payload":{"message":"hello"}}`
	for range 2 {
		if status, text := send("/api/spaces/lab/envelopes", strings.NewReader(chat)); status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
	}
}

// The listeners of metrics and profiles do not wait for bodies either, and
// their connections count with the others.
func TestSideServer_UnsentBodies(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := g.Gateway().NewSideServer(g.Gateway().Metrics())
	served := make(chan error, 1)
	go func() { served <- server.Serve(g.Gateway().CountConns(l)) }() // ends with Close below
	for _, c := range []struct{ request, status string }{
		{"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", "200"},
		{"POST /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "200"},
		{"GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "403"},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(testkit.Patience)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, c.request)
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status) {
			t.Errorf("%q: %.100q, %v", c.request, answer, err)
		}
		_ = conn.Close()
	}
	_ = server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// Connections that never join evict each other, not clients that join.
func TestSilentUpgrades_DoNotBlockJoins(t *testing.T) {
	g := meuptest.Start(t, "max_connections: 4\n"+meuptest.Config)
	const upgrade = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	const most = 1024
	var first net.Conn
	for i := range most + 300 {
		c := tcpDial(t, g, upgrade)
		if i == 0 {
			first = c
		}
	}
	if _, err := io.ReadAll(first); err != nil {
		t.Errorf("the oldest connection: %v", err)
	}
	ctx := testkit.Deadline(t)
	ws, _, err := websocket.Dial(ctx, "ws://"+g.Addr()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(ctx, websocket.MessageText, []byte(`{"type":"join","space":"lab","token":"alice-token"}`)); err != nil {
		t.Fatal(err)
	}
	_, frame, err := ws.Read(ctx)
	if err != nil || !strings.Contains(string(frame), "system/welcome") {
		t.Errorf("%s: %v", frame, err)
	}
	if unauthenticated, _ := g.Gateway().Connections(); unauthenticated > most {
		t.Errorf("%d connections without a participant", unauthenticated)
	}
}

// A download that is in progress when the gateway stops completes.
func TestDrain_DownloadEnds(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	const n = 100
	post(t, g, "alice", "big", n, 150_000)
	c := tcpDial(t, g, "GET /api/spaces/lab/envelopes?limit=1000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bob-token\r\n\r\n")
	idle := tcpDial(t, g, "") // http.Server.Shutdown would wait for it
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { // ends with the gateway
		defer close(stopped)
		g.Stop()
	}()
	if _, err := io.ReadAll(idle); err != nil {
		t.Error(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("after %d bytes: %v", len(body), err)
	}
	var page struct{ Envelopes []json.RawMessage }
	if err := json.Unmarshal(body, &page); err != nil || len(page.Envelopes) != n {
		t.Errorf("%d envelopes of %d: %v", len(page.Envelopes), n, err)
	}
	<-stopped
}

// A page that has its own name resolved to a loopback address cannot read the
// endpoints that need no token.
func TestHost_Rebound(t *testing.T) {
	g := meuptest.Start(t, "origins: [\"https://ui.example.org\"]\n"+meuptest.Config)
	for _, c := range []struct {
		host, path string
		status     int
	}{
		{"evil.example", "/metrics", 403},
		{"evil.example:8080", "/version", 403},
		{"127.0.0.1.evil.example", "/version", 403},
		{"192.0.2.1", "/version", 403},
		{"localhost", "/version", 200},
		{"LOCALHOST:8080", "/metrics", 200},
		{"127.0.0.1:8080", "/version", 200},
		{"[::1]:8080", "/version", 200},
		{"meup.localhost", "/version", 200},
		{"ui.example.org", "/version", 200},
		{"ui.example.org.evil.example", "/version", 403},
		{"evil.example", "/healthz", 200},
	} {
		t.Run(c.host+c.path, func(t *testing.T) {
			conn := tcpDial(t, g, "GET "+c.path+" HTTP/1.1\r\nHost: "+c.host+"\r\nConnection: close\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("status %d, want %d", resp.StatusCode, c.status)
			}
		})
	}
}
