package ws_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func bearer(who string) http.Header {
	return http.Header{"Authorization": {"Bearer " + who + "-token"}}
}

func dial(t *testing.T, url string, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	ctx := testkit.Deadline(t)
	ws, _, err := websocket.Dial(ctx, url, o)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// read returns the id and the kind of the next frame that is not a presence
// notice.
func read(t *testing.T, ws *websocket.Conn) (id, kind string) {
	t.Helper()
	ctx := testkit.Deadline(t)
	for {
		_, frame, err := ws.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ ID, Kind string }
		if err := json.Unmarshal(frame, &got); err != nil {
			t.Fatalf("%s: %v", frame, err)
		}
		if got.Kind != "system.presence" {
			return got.ID, got.Kind
		}
	}
}

func send(t *testing.T, ws *websocket.Conn, frame string) {
	t.Helper()
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
}

// Without access to the kernel's socket, the same frames take the other code
// path.
func TestOverTLS(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	server := httptest.NewTLSServer(g.Gateway())
	t.Cleanup(server.Close)
	client := server.Client()
	client.Transport.(*http.Transport).TLSClientConfig.NextProtos = []string{"http/1.1"}
	url := strings.Replace(server.URL, "https", "wss", 1) + "/ws?space=lab"
	bob := dial(t, url, &websocket.DialOptions{HTTPClient: client, HTTPHeader: bearer("bob")})
	t.Cleanup(client.CloseIdleConnections)
	read(t, bob)
	const count = 300
	for i := range count {
		send(t, bob, fmt.Sprintf(`{"id": "m%d", "kind": "chat", "payload": {"message": %q}}`, i, strings.Repeat("x", i*40)))
	}
	for i := range count {
		if id, _ := read(t, bob); id != fmt.Sprint("m", i) {
			t.Fatalf("got %s, want m%d", id, i)
		}
	}
	if err := bob.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

// Binary messages of any length are rejected.
func TestBinaryMessages_AreRefused(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	bob := dial(t, g.URL("lab"), &websocket.DialOptions{HTTPHeader: bearer("bob")})
	read(t, bob)
	for _, size := range []int{1, 100_000} {
		frame := fmt.Sprintf(`{"id": "m%d", "kind": "chat", "payload": {"message": %q}}`, size, strings.Repeat("x", size))
		if err := bob.Write(t.Context(), websocket.MessageBinary, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if id, kind := read(t, bob); kind != "system.error" {
			t.Errorf("a binary message of %d bytes: got %s %s", len(frame), kind, id)
		}
	}
}

// Raw frames of a client of MEW are delivered unchanged, up to the message
// limit.
func TestStreamFrames_OfAnyLength(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	mew := dial(t, strings.Replace(g.URL("lab"), "?", "?dialect=mew/v0.4&", 1), &websocket.DialOptions{HTTPHeader: bearer("alice")})
	read(t, mew)
	send(t, mew, `{"id": "o", "kind": "stream/open", "payload": {"stream_id": "s"}}`)
	read(t, mew)
	for _, size := range []int{0, 1, 5_000, 100_000, 1<<20 - 3} {
		frame := "#s#" + strings.Repeat("x", size)
		send(t, mew, frame)
		if got := readRaw(t, mew); got != frame {
			t.Fatalf("a frame of %d bytes came back as %.40q", len(frame), got)
		}
	}
	send(t, mew, "#s#"+strings.Repeat("x", 1<<20))
	if _, kind := read(t, mew); kind != "system/error" {
		t.Errorf("a frame above the limit: got %s", kind)
	}
}

func readRaw(t *testing.T, ws *websocket.Conn) string {
	t.Helper()
	ctx := testkit.Deadline(t)
	_, frame, err := ws.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(frame)
}

// A message may arrive in fragments, with pings between them; a pong has the
// payload of its ping.
func TestFragmentsAndPings(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	pongs := make(chan string, 16)
	bob := dial(t, g.URL("lab"), &websocket.DialOptions{HTTPHeader: bearer("bob"),
		OnPongReceived: func(_ context.Context, payload []byte) { pongs <- string(payload) }})
	read(t, bob)
	w, err := bob.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`{"id": "m1", "kind":`, ` "chat", "payload": {"mess`, `age": "in parts"}}`} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if id, _ := read(t, bob); id != "m1" {
		t.Errorf("got %s", id)
	}
	pinged := make(chan error, 1)
	go func() { pinged <- bob.Ping(t.Context()) }() // ends with the pong
	send(t, bob, `{"id": "m2", "kind": "chat", "payload": {"message": "x"}}`)
	for id := ""; id != "m2"; {
		id, _ = read(t, bob)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _, _ = bob.Read(ctx) }() // the pong is processed by the reader
	if err := <-pinged; err != nil {
		t.Error(err)
	}
	cancel()
	if pong := <-pongs; pong == "" {
		t.Error("the pong has nothing of the ping")
	}
}

// tcpMember is a TCP connection that has joined a space, for frames that no
// library would send.
type tcpMember struct {
	net.Conn
	t *testing.T
}

func joinRaw(t *testing.T, g *meuptest.Gateway) *tcpMember {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &tcpMember{conn, t}
	s.write("GET /ws?space=lab HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer bob-token\r\n\r\n")
	s.readUntil("system.welcome")
	return s
}

func (s *tcpMember) write(data string) {
	s.t.Helper()
	if _, err := io.WriteString(s.Conn, data); err != nil {
		s.t.Fatal(err)
	}
}

func (s *tcpMember) readUntil(text string) {
	s.t.Helper()
	_ = s.SetReadDeadline(time.Now().Add(testkit.Patience))
	var got []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(got, []byte(text)) {
		n, err := s.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil && !bytes.Contains(got, []byte(text)) {
			s.t.Fatalf("waits for %q: %v behind %q", text, err, got)
		}
	}
}

// A peer that violates RFC 6455 is cut; the gateway and all other members
// continue.
func TestBrokenFrames(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice := dial(t, g.URL("lab"), &websocket.DialOptions{HTTPHeader: bearer("alice")})
	read(t, alice)
	for name, data := range map[string]string{
		"not masked":        "\x81\x02{}",
		"reserved bits":     "\xf1\x82\x00\x00\x00\x00{}",
		"reserved opcode":   "\x83\x82\x00\x00\x00\x00{}",
		"continuation":      "\x80\x82\x00\x00\x00\x00{}",
		"long ping":         "\x89\xfe\x00\x80\x00\x00\x00\x00" + strings.Repeat("x", 128),
		"fragmented ping":   "\x09\x81\x00\x00\x00\x00x",
		"negative length":   "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",
		"bad close payload": "\x88\x81\x00\x00\x00\x00x",
		"half a frame":      "\x81\xfe\x10\x00\x00\x00\x00\x00{",
	} {
		s := joinRaw(t, g)
		s.write(data)
		if name == "half a frame" {
			_ = s.Close()
			continue
		}
		_ = s.SetReadDeadline(time.Now().Add(testkit.Patience))
		if _, err := io.Copy(io.Discard, s.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: not cut off: %v", name, err)
		}
	}
	send(t, alice, `{"id": "m1", "kind": "chat", "payload": {"message": "x"}}`)
	if id, _ := read(t, alice); id != "m1" {
		t.Errorf("got %s", id)
	}
}

// While the gateway waits for the last connections, new ones receive an error
// that asks them to reconnect.
func TestDrain_NewConnections(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	// The gateway closes its own listener when it has waited for 3 s.
	server := httptest.NewServer(g.Gateway())
	t.Cleanup(server.Close)
	last := joinRaw(t, g)
	drained := make(chan struct{})
	go func() { // ends with the drain
		defer close(drained)
		g.Stop()
	}()
	last.readUntil("\x03\xe9") // 1001, which it does not answer
	for path, want := range map[string]int{"/ws?space=lab": http.StatusServiceUnavailable, "/": http.StatusServiceUnavailable} {
		ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
		_, resp, err := websocket.Dial(ctx, strings.Replace(server.URL, "http", "ws", 1)+path, &websocket.DialOptions{HTTPHeader: bearer("alice")})
		cancel()
		if err == nil || resp == nil || resp.StatusCode != want {
			t.Fatalf("%s: %v, %v", path, resp, err)
		}
		body, _ := io.ReadAll(resp.Body)
		if !strings.Contains(string(body), `"shutting_down"`) || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, %v", path, body, resp.Header)
		}
	}
	_ = last.Close()
	<-drained
}

// A request that is not an upgrade receives an error that explains the
// endpoint.
func TestPlainRequests_Rejected(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	for _, change := range []func(*http.Request){
		func(*http.Request) {},
		func(r *http.Request) { r.Header.Set("Upgrade", "websocket") },
		func(r *http.Request) {
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
			r.Header.Set("Sec-WebSocket-Version", "12")
			r.Header.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
		},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+"/ws?space=lab", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = bearer("alice")
		change(r)
		resp, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"bad_request"`) {
			t.Errorf("status %d: %s", resp.StatusCode, body)
		}
	}
}
