package main

import (
	"bytes"
	"slices"
	"testing"
)

// TestServerFrames: the complete frames are unmasked, and the rest is left.
func TestServerFrames(t *testing.T) {
	mask := []byte{1, 2, 3, 4}
	var in []byte
	var want []string
	for _, size := range []int{0, 5, 126, 300} {
		body := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		f := clientFrames(body, 1)
		head := headerSize(f)
		copy(f[head:], mask)
		for i := range body {
			f[head+4+i] ^= mask[i%4]
		}
		in = append(in, f...)
		want = append(want, string(body))
	}
	out, used := serverFrames(append(in, 0x81, 0xFE))
	var got []string
	var s webSocketReader
	s.feed(out, true, func(_ byte, body []byte) { got = append(got, string(body)) })
	if !slices.Equal(got, want) || used != len(in) {
		t.Errorf("%d of %d bytes, got %q, want %q", used, len(in), got, want)
	}
}
