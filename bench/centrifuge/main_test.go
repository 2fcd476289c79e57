package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/bench/wire"
)

// TestServe: a publication of one connection reaches all connections of its channel
// once, in the frames that bench reads.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = serve(l) }()
	defer func() { _ = l.Close(); <-ended }()

	var all []*client
	for _, channel := range []string{"a", "a", "b"} {
		c := connect(t, l.Addr().String(), channel)
		defer c.Close() //nolint:errcheck // ends with the test
		all = append(all, c)
	}
	for i, channel := range []string{"a", "b"} {
		if _, err := all[2*i].Write(wire.CentrifugeFrames(channel, []byte(`{"n":"`+channel+`"}`), 3)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{`{"n":"a"}`, `{"n":"a"}`, `{"n":"b"}`} {
		for _, got := range all[i].receive(t, 3) {
			if !strings.Contains(got, want) {
				t.Errorf("connection %d got %s, want %s", i, got, want)
			}
		}
	}
}

type client struct {
	net.Conn
	scan wire.Centrifuge
}

// connect opens a session and reads the reply.
func connect(t *testing.T, address, channel string) *client {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET /?space="+channel+" HTTP/1.1\r\nHost: "+address+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(c, 16) // a reply that comes too early does not fit
	for line := ""; line != "\r\n"; {
		line, err = r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
	}
	if r.Buffered() > 0 {
		t.Fatal("the server sent something before the session was opened")
	}
	if _, err := c.Write(wire.ClientFrames([]byte(wire.CentrifugeConnect), 1)); err != nil {
		t.Fatal(err)
	}
	var reply []byte
	for wire.WholeFrame(reply) == 0 {
		block := make([]byte, 4<<10)
		n, err := c.Read(block)
		if err != nil {
			t.Fatal(err)
		}
		reply = append(reply, block[:n]...)
	}
	if !bytes.Contains(reply, []byte(`"subs"`)) {
		t.Fatalf("%s", reply)
	}
	return &client{Conn: c}
}

// receive returns n publications.
func (c *client) receive(t *testing.T, n int) []string {
	t.Helper()
	var got []string
	block := make([]byte, 4<<10)
	for len(got) < n {
		read, err := c.Read(block)
		if err != nil {
			t.Fatal(err)
		}
		c.scan.Feed(block[:read], true, func(_ byte, body []byte) { got = append(got, string(body)) })
	}
	if len(got) > n {
		t.Errorf("%d publications of %d", len(got), n)
	}
	return got
}
