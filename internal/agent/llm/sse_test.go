package llm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(r io.Reader, maxSize int) ([]ServerEvent, error) {
	sse := newReader(r, maxSize)
	var out []ServerEvent
	for {
		ev, err := sse.next()
		if err != nil {
			return out, err
		}
		out = append(out, ev)
	}
}

func events(pairs ...string) []ServerEvent {
	var out []ServerEvent
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, ServerEvent{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	return out
}

func TestSSE(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []ServerEvent
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", events("", "a")},
		{"name", "event: ping\ndata: a\n\n", events("ping", "a")},
		{"no space after the colon", "data:a\n\n", events("", "a")},
		{"one space is taken, not two", "data:  a\n\n", events("", " a")},
		{"tab is no space", "data:\ta\n\n", events("", "\ta")},
		{"CRLF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", events("x", "a", "", "b")},
		{"CR", "event: x\rdata: a\r\rdata: b\r\r", events("x", "a", "", "b")},
		{"mixed ends", "data: a\r\ndata: b\rdata: c\n\r\n", events("", "a\nb\nc")},
		{"several lines of data", "data: a\ndata:\ndata: b\n\n", events("", "a\n\nb")},
		{"empty data is an event", "data\n\n", events("", "")},
		{"two empty data", "data\ndata\n\n", events("", "\n")},
		{"an event without data is none", "event: x\n\ndata: a\n\n", events("", "a")},
		{"the name is not kept", "event: x\ndata: a\n\ndata: b\n\n", events("x", "a", "", "b")},
		{"comments", ": OPENROUTER PROCESSING\n\n:\ndata: a\n:x\n\n", events("", "a")},
		{"colons in the value", "data: a:b: c\n\n", events("", "a:b: c")},
		{"id, retry and strangers", "id: 1\nretry: 9\nfoo: x\nfoo\ndata: a\n\n", events("", "a")},
		{"field names are exact", "Data: a\n data: b\ndata : c\n\n", nil},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n", events("", "a")},
		{"a mark elsewhere is content", "data: a\n\n\xEF\xBB\xBFdata: b\n\n", events("", "a")},
		{"half an event at the end", "data: a\n\ndata: b\n", events("", "a")},
		{"half a line at the end", "data: a\n\ndata: b", events("", "a")},
		{"many empty lines", "\n\n\ndata: a\n\n\n\n", events("", "a")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{
				"whole":         strings.NewReader(tc.in),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(tc.in)),
				"data with EOF": iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				got, err := readAll(r, maxEvent)
				if !errors.Is(err, io.EOF) || !reflect.DeepEqual(got, tc.want) {
					t.Errorf("%s: got %q, %v; want %q, EOF", kind, got, err, tc.want)
				}
			}
		})
	}
}

// An event is returned at its empty line: after a CR, the reader does not wait
// for an LF.
func TestSSE_EventEndsAtCR(t *testing.T) {
	r, w := io.Pipe()
	sse := newReader(r, maxEvent)
	go w.Write([]byte("data: a\r\r")) // and no more data
	ev, err := sse.next()
	if err != nil || string(ev.Data) != "a" {
		t.Fatalf("got %q, %v", ev.Data, err)
	}
	w.Close()
}

func TestSSEBounds(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, in := range map[string]string{
		"a line":               "data: " + long + "\n\n",
		"a line without end":   "data: " + long,
		"a comment":            ":" + long,
		"an event":             strings.Repeat("data: 0123456789\n", 12),
		"behind a whole event": "data: a\n\ndata: " + long + "\n\n",
	} {
		for kind, r := range map[string]io.Reader{
			"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in)),
		} {
			_, err := readAll(r, 64)
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s, %s: %v, want ErrTooLarge", name, kind, err)
			}
		}
	}
}

func TestSSE_CallerOwnsData(t *testing.T) {
	sse := newReader(strings.NewReader("data: first\n\ndata: other\n\n"), maxEvent)
	a, _ := sse.next()
	_, _ = sse.next()
	if string(a.Data) != "first" {
		t.Fatalf("the next event has overwritten the first: %q", a.Data)
	}
}

func TestSSE_PermanentError(t *testing.T) {
	sse := newReader(iotest.ErrReader(io.ErrUnexpectedEOF), maxEvent)
	for range 3 {
		if _, err := sse.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	if _, err := readAll(emptyReader{}, maxEvent); !errors.Is(err, io.ErrNoProgress) {
		t.Fatalf("a reader that brings nothing: %v", err)
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

// simple parses a complete stream with a simple implementation.
func simple(in []byte) []ServerEvent {
	in = bytes.TrimPrefix(in, []byte("\xEF\xBB\xBF"))
	text := strings.ReplaceAll(strings.ReplaceAll(string(in), "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	var out []ServerEvent
	var name string
	var data []string
	for _, line := range lines[:len(lines)-1] { // the last line has no end
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			out = append(out, ServerEvent{name, []byte(strings.Join(data, "\n"))})
			name, data = "", nil
		case line == "":
			name = ""
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return out
}

func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "event: x\r\ndata: a\r\n\r\n", "data\r\rdata: b\r\n\n", ":c\n\xEF\xBB\xBFdata: a\n\n",
		"\xEF\xBB\xBFdata: a\ndata\n\n", "event\ndata:\n\n", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		want := simple(in)
		for _, r := range []io.Reader{bytes.NewReader(in), &steps{in, int(step%7) + 1}} {
			got, err := readAll(r, maxEvent)
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Fatalf("%q: got %q, want %q", in, got, want)
			}
		}
	})
}

// steps reads a fixed number of bytes at a time.
type steps struct {
	in []byte
	n  int
}

func (s *steps) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(s.n, len(p))], s.in)
	s.in = s.in[n:]
	return n, nil
}
