package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// unmasked builds a server's frame.
func unmasked(op byte, body []byte) []byte {
	f := clientFrames(body, 1)
	head := headerSize(f)
	f[0], f[1] = op, f[1]&0x7f
	return append(f[:head:head], f[head+4:]...)
}

// TestWebSocket_Feed checks that frames are found regardless of block boundaries.
func TestWebSocket_Feed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		var want []string
		for range rapid.IntRange(1, 6).Draw(t, "frames") {
			op := rapid.SampledFrom([]byte{textFrame, pingFrame}).Draw(t, "op")
			body := bytes.Repeat([]byte{'x'}, rapid.SampledFrom([]int{0, 1, 125, 126, 400, 65_535, 65_536}).Draw(t, "size"))
			stream = append(stream, unmasked(op, body)...)
			want = append(want, fmt.Sprint(op, len(body)))
		}
		var s, counting webSocketReader
		var got []string
		count := 0
		for len(stream) > 0 {
			n := min(len(stream), rapid.SampledFrom([]int{1, 2, 3, 7, 1000, 100_000}).Draw(t, "block"))
			s.feed(stream[:n], true, func(op byte, body []byte) { got = append(got, fmt.Sprint(op, len(body))) })
			counting.feed(stream[:n], false, func(byte, []byte) { count++ })
			stream = stream[n:]
		}
		if !slices.Equal(got, want) || count != len(want) {
			t.Fatalf("got %v and %d, want %v", got, count, want)
		}
	})
}

// TestNATS_Feed checks that messages are found regardless of block boundaries.
func TestNATS_Feed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte("INFO {}\r\n")
		var want []string
		for i := range rapid.IntRange(1, 6).Draw(t, "messages") {
			body := bytes.Repeat([]byte{'x'}, rapid.SampledFrom([]int{0, 1, 9, 400, 70_000}).Draw(t, "size"))
			op := rapid.SampledFrom([]byte{textFrame, ackFrame}).Draw(t, "op")
			head := map[byte]string{textFrame: "s-%d 1 $JS.ACK.2 %d", ackFrame: "acks.%d 2 %d"}[op]
			stream = fmt.Appendf(stream, "MSG "+head+"\r\n%s\r\nPING\r\n", i, len(body), body)
			want = append(want, fmt.Sprint(op, len(body)+2))
		}
		var s, counting natsReader
		var got []string
		count := 0
		for len(stream) > 0 {
			n := min(len(stream), rapid.SampledFrom([]int{1, 2, 3, 7, 1000, 100_000}).Draw(t, "block"))
			s.feed(stream[:n], true, func(op byte, body []byte) { got = append(got, fmt.Sprint(op, len(body))) })
			counting.feed(stream[:n], false, func(op byte, body []byte) {
				if (op == ackFrame) != (body != nil) {
					t.Fatalf("op %x has the body %.20q", op, body)
				}
				count++
			})
			stream = stream[n:]
		}
		if !slices.Equal(got, want) || count != len(want) {
			t.Fatalf("got %v and %d, want %v", got, count, want)
		}
	})
}
