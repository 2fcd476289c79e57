package ws_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// rawConn is a WebSocket connection whose frames the test builds itself.
type rawConn struct {
	net.Conn
	t  *testing.T
	br *bufio.Reader
}

func dialRaw(t *testing.T, g *meuptest.Gateway, query string) *rawConn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(testkit.Patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /ws?space=lab&%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", query)
	r := &rawConn{c, t, bufio.NewReader(c)}
	resp, err := http.ReadResponse(r.br, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	return r
}

// frame is a masked frame, with a mask of zeros.
func frame(head byte, payload []byte) []byte {
	f := []byte{head}
	switch n := len(payload); {
	case n < 126:
		f = append(f, 0x80|byte(n))
	case n < 1<<16:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|127), uint64(n))
	}
	return append(append(f, 0, 0, 0, 0), payload...)
}

// read returns the opcode and the payload of the next frame.
func (r *rawConn) read() (opcode byte, payload []byte, err error) {
	var head [2]byte
	_, err = io.ReadFull(r.br, head[:])
	if err != nil {
		return 0, nil, err
	}
	n := int(head[1])
	if n == 126 {
		var long [2]byte
		_, err = io.ReadFull(r.br, long[:])
		if err != nil {
			return 0, nil, err
		}
		n = int(binary.BigEndian.Uint16(long[:]))
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r.br, payload)
	return head[0] & 0x0f, payload, err
}

// closeCode reads until the gateway closes and returns the close code; 0 if it
// cut the connection without one.
func (r *rawConn) closeCode() int {
	for {
		opcode, payload, err := r.read()
		if err != nil {
			return 0
		}
		if opcode == 8 && len(payload) >= 2 {
			return int(binary.BigEndian.Uint16(payload))
		}
	}
}

const (
	textFrame, fragment, continuation, ping, pong = 0x81, 0x01, 0x00, 0x89, 0x8a
)

// Frames without content are bounded by their total bytes.
func TestFlood_OfFramesWithoutContent(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for _, c := range []struct {
		name         string
		begin, flood []byte
	}{
		{"pings", nil, frame(ping, nil)},
		{"pings with data", nil, frame(ping, bytes.Repeat([]byte("x"), 125))},
		{"pongs", nil, frame(pong, nil)},
		{"empty continuations", frame(fragment, nil), frame(continuation, nil)},
		{"bytes", frame(fragment, []byte(" ")), frame(continuation, []byte(" "))},
		{"pings in a message", frame(fragment, []byte(" ")), frame(ping, nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := dialRaw(t, g, "")
			written := make(chan int, 1)
			go func() { // ends with the connection
				n, _ := r.Write(c.begin)
				block := bytes.Repeat(c.flood, 4096/len(c.flood))
				for n < 64<<20 {
					m, err := r.Write(block)
					n += m
					if err != nil {
						break
					}
				}
				written <- n
			}()
			code := r.closeCode()
			_ = r.Close()
			if n := <-written; n >= 64<<20 {
				t.Errorf("%d bytes were taken", n)
			}
			if code != 1008 && code != 0 { // 0: cut while the peer was still writing
				t.Errorf("closed with %d", code)
			}
		})
	}
}

// A message in fragments, pings between them, and many small messages stay
// below the bound.
func TestFragments_OfUsualSize(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(meuptest.Config, "message_bytes: 1MiB", "message_bytes: 4MiB", 1))
	r := dialRaw(t, g, "ack=true&echo=false")
	acks := make(chan string, 1)
	const small = 20_000
	go func() { // ends with the connection, or with the last ack
		for {
			_, payload, err := r.read()
			var e struct {
				Kind          string
				CorrelationID string `json:"correlationId"`
			}
			if err != nil || json.Unmarshal(payload, &e) == nil && e.Kind == "system.ack" && (e.CorrelationID == "large" || e.CorrelationID == fmt.Sprint("s", small-1)) {
				acks <- e.CorrelationID
				if err != nil || e.CorrelationID != "large" {
					return
				}
			}
		}
	}()
	message := fmt.Appendf(nil, `{"id":"large","kind":"x.y","payload":{"a":%q}}`, strings.Repeat("x", 3<<20))
	var out bytes.Buffer
	for head := byte(fragment); len(message) > 0; head = continuation {
		n := min(len(message), 4096)
		out.Write(frame(head, message[:n]))
		message = message[n:]
		if len(message)/4096%50 == 0 {
			out.Write(frame(ping, []byte("are you there")))
		}
	}
	out.Write(frame(0x80, nil))
	if _, err := r.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	if id := <-acks; id != "large" {
		t.Fatalf("the large message was not admitted: %q", id)
	}
	out.Reset()
	for i := range small {
		out.Write(frame(textFrame, fmt.Appendf(nil, `{"id":"s%d","kind":"x.y"}`, i)))
	}
	if _, err := r.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	if id := <-acks; id != fmt.Sprint("s", small-1) {
		t.Errorf("the last message was not admitted: %q", id)
	}
}

// A connection whose envelopes are rejected is closed when they reach the bytes
// that the participant may send in admitted ones. After that, neither another
// connection of the participant nor HTTP costs the gateway anything.
func TestRefused_BytesAreBounded(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"invalid JSON", strings.Repeat("[", 200_000)},
		{"invalid payload", `{"kind":"chat","payload":{"a":"` + strings.Repeat("x", 200_000) + `"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := meuptest.Start(t, `
limits: {bytes_per_second: 100KiB}
violations: {max: 0}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
`)
			begun := time.Now()
			refused := floodRefused(t, g, c.text)
			// 16 MiB, and what is permitted again while a busy machine takes its time.
			if most := 95 + int(time.Since(begun).Seconds()); refused > most || refused == 0 {
				t.Errorf("%d envelopes were refused before the end, at most %d may be", refused, most)
			}
			// A busy machine takes so long between two of them that some bytes are permitted again.
			testkit.Eventually(t, "another connection and HTTP are refused", func() bool {
				return floodRefused(t, g, c.text) <= 1 && refusedOverHTTP(t, g)
			})
		})
	}
}

// refusedOverHTTP reports whether a chat of alice is refused for the bytes of rejected ones.
func refusedOverHTTP(t *testing.T, g *meuptest.Gateway) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+"/api/spaces/lab/envelopes",
		strings.NewReader(`{"kind":"chat","payload":{"message":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusTooManyRequests && strings.Contains(string(body), "refused_bytes")
}

// floodRefused sends a text repeatedly until the gateway closes with 1008, and
// returns the number of errors received.
func floodRefused(t *testing.T, g *meuptest.Gateway, text string) (refused int) {
	t.Helper()
	r := dialRaw(t, g, "")
	written := make(chan struct{})
	go func() { // ends with the connection
		defer close(written)
		for range 200 {
			if _, err := r.Write(frame(textFrame, []byte(text))); err != nil {
				return
			}
		}
	}()
	defer func() {
		_ = r.Close()
		<-written
	}()
	for {
		opcode, payload, err := r.read()
		switch {
		case err != nil:
			t.Errorf("no close frame: %v", err)
			return refused
		case opcode == 8:
			if code := binary.BigEndian.Uint16(payload); code != 1008 {
				t.Errorf("closed with %d", code)
			}
			return refused
		case strings.Contains(string(payload), "system.error"):
			refused++
		}
	}
}
