package ws

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// clientFrame is a masked frame as a client sends it.
func clientFrame(first byte, n int) []byte {
	f := []byte{first}
	switch {
	case n < 126:
		f = append(f, 0x80|byte(n))
	case n <= 0xFFFF:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|127), uint64(n))
	}
	return append(f, make([]byte, 4+n)...)
}

func TestFrameBuffered(t *testing.T) {
	const text, binaryFrame, fragment, ping, closing = 0x81, 0x82, 0x01, 0x89, 0x88
	for _, n := range []int{0, 1, 125, 126, 1000, 0xFFFF, 0x10000} {
		whole := clientFrame(text, n)
		for _, c := range []struct {
			name string
			data []byte
			want bool
		}{
			{"whole", whole, true},
			{"whole and more", append(bytes.Clone(whole), text), true},
			{"binary", clientFrame(binaryFrame, n), true},
			{"without its last byte", whole[:len(whole)-1], false},
			{"a byte", whole[:1], false},
			{"nothing", nil, false},
			{"fragment", clientFrame(fragment, n), false},
		} {
			for _, buffered := range []int{0, 1, 2, 3, 9, 16} {
				if got := hasBufferedFrame(c.data, buffered); got != c.want {
					t.Errorf("%s of %d, %d of it buffered: %v", c.name, n, buffered, got)
				}
			}
		}
	}
	for _, control := range []byte{ping, closing} {
		if hasBufferedFrame(clientFrame(control, 5), 0) {
			t.Errorf("a control frame %#x counts as one", control)
		}
	}
	huge := binary.BigEndian.AppendUint64([]byte{text, 0x80 | 127}, 1<<63)
	if hasBufferedFrame(append(huge, make([]byte, 100)...), 0) {
		t.Error("a length beyond all counts as there")
	}
}

// hasBufferedFrame calls frameBuffered on a connection that has read data from the kernel,
// with a part of it in the library's buffer.
func hasBufferedFrame(data []byte, buffered int) bool {
	c := &conn{unread: data}
	c.br = bufio.NewReaderSize(c, 16)
	if n := min(buffered, len(data), 16); n > 0 {
		_, _ = c.br.Peek(n) // all of it is available
	}
	return c.frameBuffered()
}

// FuzzFrameBuffered checks that frameBuffered returns true exactly if a whole data
// frame is available, however the bytes are spread over the buffers.
func FuzzFrameBuffered(f *testing.F) {
	f.Add(clientFrame(0x81, 10), byte(3))
	f.Add(clientFrame(0x82, 300), byte(16))
	f.Add(clientFrame(0x89, 4), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, buffered byte) {
		if got, want := hasBufferedFrame(data, int(buffered%17)), wholeFrame(data); got != want {
			t.Errorf("%x: %v, want %v", data, got, want)
		}
	})
}

// wholeFrame is a second implementation of RFC 6455, section 5.2.
func wholeFrame(data []byte) bool {
	r := bytes.NewReader(data)
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0x81 && head[0] != 0x82 {
		return false
	}
	n := uint64(head[1] & 0x7f)
	if n >= 126 {
		wide := make([]byte, map[uint64]int{126: 2, 127: 8}[n])
		if _, err := io.ReadFull(r, wide); err != nil {
			return false
		}
		n = 0
		for _, b := range wide {
			n = n<<8 | uint64(b)
		}
	}
	return n < 1<<32 && uint64(r.Len()) >= n+4
}

// Bytes that the HTTP server had read come first, and blocks are borrowed only
// while they hold data.
func TestConn_ReadsBufferedBytes(t *testing.T) {
	server, client := tcpPair(t)
	c := newConn(server, []byte("before "))
	if _, err := client.Write([]byte("behind")); err != nil {
		t.Fatal(err)
	}
	got, p := "", make([]byte, 3)
	for got != "before behind" {
		n, err := c.Read(p)
		if err != nil {
			t.Fatal(err)
		}
		got += string(p[:n])
		if !strings.HasPrefix("before behind", got) {
			t.Fatalf("read %q", got)
		}
	}
	if c.block != nil {
		t.Error("it holds a block with nothing in it")
	}
	_ = client.Close()
	if _, err := c.Read(p); !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
	if c.block != nil {
		t.Error("it holds a block behind the end")
	}
}

// A write that blocks on a peer that does not read returns soon after the
// connection starts to close.
func TestExpediteClose_WriteReturns(t *testing.T) {
	server, _ := tcpPair(t)
	c := newConn(server, nil)
	written := make(chan error, 1)
	go func() { // ends with the write that fails
		big := make([]byte, 1<<20)
		for {
			b := newWriteBuffers()
			b.frames = net.Buffers{big, big}
			if c.tryFrames(b) {
				continue
			}
			if err := c.finishFrames(b, time.Hour); err != nil {
				written <- err
				return
			}
		}
	}()
	c.expediteClose()
	var timeout net.Error
	if err := <-written; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("write: %v", err)
	}
}

// A control frame of the library does not come between the parts of frames that were cut where the socket
// was full.
func TestFrames_AreNotCutByControlFrames(t *testing.T) {
	server, client := tcpPair(t)
	c := newConn(server, nil)
	b := newWriteBuffers()
	defer b.free()
	var want []byte
	for i := range 4 {
		frame := bytes.Repeat([]byte{byte('a' + i)}, 8<<20)
		b.frames = append(b.frames, frame)
		want = append(want, frame...)
	}
	if c.tryFrames(b) {
		t.Fatal("the socket takes 32 MB")
	}
	pong := []byte{0x8a, 0}
	written := make(chan error, 2)
	go func() { // ends with the write
		_, err := c.Write(pong)
		written <- err
	}()
	other := newWriteBuffers()
	defer other.free()
	other.frames = net.Buffers{[]byte("other")}
	if c.tryFrames(other) {
		t.Error("frames were written between the parts of others")
	}
	go func() { written <- c.finishFrames(b, time.Hour) }() // ends with the write
	got := make([]byte, len(want)+len(pong))
	if _, err := io.ReadFull(client, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[:len(want)], want) || !bytes.Equal(got[len(want):], pong) {
		t.Error("the frames are not whole")
	}
	for range 2 {
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
}

// deadlined records the write deadline.
type deadlined struct {
	net.Conn
	write time.Time
}

func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.write = t
	return nil
}

func (d *deadlined) Write(p []byte) (int, error) { return len(p), nil }

// A deadline that a write did not reach does not end a later one, unless the connection is closing.
func TestFinishFrames_ClearsTheDeadline(t *testing.T) {
	d := &deadlined{}
	c := newConn(d, nil)
	finish := func() {
		t.Helper()
		b := newWriteBuffers()
		defer b.free()
		b.frames = net.Buffers{[]byte("a"), []byte("b")}
		if c.tryFrames(b) {
			t.Fatal("written without a socket")
		}
		if err := c.finishFrames(b, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	finish()
	if !d.write.IsZero() {
		t.Errorf("the deadline is %v", d.write)
	}
	c.expediteClose()
	finish()
	if d.write.IsZero() || time.Until(d.write) > expediteTimeout {
		t.Errorf("the deadline of a connection that is closing is %v", d.write)
	}
}

func tcpPair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = (&net.Dialer{}).DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return server, client
}

// The frames of a delivery are written in order, frames that are adjacent in
// memory as one buffer.
func TestGather(t *testing.T) {
	block := []byte("first|second|third|")
	d := space.Delivery{Control: []byte("own|")}
	got := gather(nil, &d, protocol.DialectMEUP01)
	if len(got) != 1 || string(bytes.Join(got, nil)) != "own|" {
		t.Errorf("own frames alone: %q", got)
	}
	a, b, c := block[0:6], block[6:13], block[13:19]
	for _, test := range []struct {
		a, b []byte
		want bool
	}{
		{a, b, true}, {b, c, true}, {a, c, false}, {b, a, false}, {a[:6:6], b, false}, {a, nil, false}, {nil, a, false},
		{a, bytes.Clone(b), false},
	} {
		if adjacent(test.a, test.b) != test.want {
			t.Errorf("%q and %q: %v", test.a, test.b, !test.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 123), strings.Repeat("ä", 200), "x" + strings.Repeat("€", 60)} {
		got := truncate(s)
		if len(got) > 123 || !utf8.ValidString(got) || !strings.HasPrefix(s, got) || len(s) <= 123 && got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// FuzzJoin checks that any first frame of an unauthenticated client is
// rejected, or names a space and carries a token.
func FuzzJoin(f *testing.F) {
	f.Add([]byte(`{"type":"join","space":"lab","participantId":"a","token":"t"}`))
	f.Add([]byte(`{"kind":"system/join","payload":{"space":"lab","token":"t"}}`))
	f.Add([]byte(`{"kind":"system.join","payload":7}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		j, refused := parseJoin(frame)
		if (refused == nil) != (protocol.ValidSpaceName(j.space) && j.token != "") {
			t.Errorf("%+v, %v", j, refused)
		}
	})
}

// What is written to a connection that is closing has a deadline of its own: the one that was set before may have
// passed while the session was queued.
func TestFrames_AfterTheDeadlineOfAClose(t *testing.T) {
	server, client := tcpPair(t)
	c := newConn(server, nil)
	c.expediteClose()
	if err := c.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	b := newWriteBuffers()
	defer b.free()
	b.frames = net.Buffers{[]byte("last")}
	if !c.tryFrames(b) {
		if err := c.finishFrames(b, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "last" {
		t.Errorf("%q, %v", got, err)
	}
}
