package ring

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func text(content string) []byte {
	return appendTextFrame(nil, func(dst []byte) []byte { return append(dst, content...) })
}

// TestAppendText compares the three forms of the length, at their bounds, with
// RFC 6455, section 5.2.
func TestAppendText(t *testing.T) {
	for n, header := range map[int][]byte{
		0:       {0x81, 0},
		1:       {0x81, 1},
		125:     {0x81, 125},
		126:     {0x81, 126, 0, 126},
		65_535:  {0x81, 126, 0xFF, 0xFF},
		65_536:  {0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0},
		100_000: {0x81, 127, 0, 0, 0, 0, 0, 1, 0x86, 0xA0},
	} {
		content := strings.Repeat("x", n)
		got := text(content)
		if want := append(slices.Clone(header), content...); !bytes.Equal(got, want) {
			t.Errorf("%d bytes: header % x, want % x; %d bytes in all", n, got[:min(len(got), maxFrameHeader)], header, len(got))
		}
		if string(framePayload(got)) != content {
			t.Errorf("%d bytes: the content does not come back", n)
		}
	}
}

func TestAppendTextBehindOthers(t *testing.T) {
	dst := append([]byte(nil), "before"...)
	for _, s := range []string{"a", strings.Repeat("b", 300)} {
		dst = appendTextFrame(dst, func(dst []byte) []byte { return append(dst, s...) })
	}
	want := slices.Concat([]byte("before"), text("a"), text(strings.Repeat("b", 300)))
	if !bytes.Equal(dst, want) {
		t.Errorf("got % x", dst)
	}
}

func TestContentOfNothing(t *testing.T) {
	for _, f := range [][]byte{nil, {0x81}} {
		if c := framePayload(f); c != nil {
			t.Errorf("% x holds %q", f, c)
		}
	}
}

func TestAll(t *testing.T) {
	long := strings.Repeat("l", 70_000)
	frames := slices.Concat(text("one"), PingFrame, AppendPongFrame(nil, []byte("ignored")), text(""), text(strings.Repeat("m", 200)), text(long))
	var got []string
	for content, ping := range SplitFrames(frames) {
		if ping {
			content = []byte("<ping>")
		}
		got = append(got, string(content))
	}
	if want := []string{"one", "<ping>", "", strings.Repeat("m", 200), long}; !slices.Equal(got, want) {
		t.Errorf("%d frames, %.60q", len(got), got)
	}
	for content := range SplitFrames(frames) {
		if string(content) != "one" {
			t.Error("it went on")
		}
		break
	}
}

// TestPong: a control frame carries at most 125 bytes.
func TestPong(t *testing.T) {
	if got := AppendPongFrame([]byte{1}, []byte("hi")); !bytes.Equal(got, []byte{1, 0x8A, 2, 'h', 'i'}) {
		t.Errorf("got % x", got)
	}
	if got := AppendPongFrame(nil, make([]byte, 1000)); len(got) != 127 || got[1] != 125 {
		t.Errorf("%d bytes, % x", len(got), got[:2])
	}
}

func TestAppendTextWithRoomDoesNotAllocate(t *testing.T) {
	content := make([]byte, 400)
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		dst = appendTextFrame(dst[:0], func(dst []byte) []byte { return append(dst, content...) })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzAll splits joined frames into the same payloads.
func FuzzAll(f *testing.F) {
	f.Add([]byte("a\x00bc\x00\x00"), uint16(0))
	f.Add([]byte("ping\x00pong"), uint16(126))
	f.Fuzz(func(t *testing.T, data []byte, pad uint16) {
		var frames []byte
		want := bytes.Split(data, []byte{0})
		want = append(want, bytes.Repeat([]byte{'.'}, int(pad)))
		for _, content := range want {
			frames = append(frames, text(string(content))...)
		}
		i := 0
		for content, ping := range SplitFrames(frames) {
			if ping || !bytes.Equal(content, want[i]) {
				t.Fatalf("frame %d: %q, want %q", i, content, want[i])
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%d frames of %d", i, len(want))
		}
	})
}
