package api

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/meup-protocol/meup/protocol"
)

// readAll reads events until the stream ends.
func readAll(t *testing.T, r io.Reader) []rawEvent {
	t.Helper()
	var list []rawEvent
	for events := newEventReader(r); ; {
		e, err := events.next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
}

func TestEventStream(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []rawEvent
	}{
		"one":                 {"event: a\nid: 1\ndata: x\n\n", []rawEvent{{"a", "1", []byte("x")}}},
		"all ends of lines":   {"data: x\r\n\r\ndata:y\r\rdata: z\n\n", []rawEvent{{"", "", []byte("x")}, {"", "", []byte("y")}, {"", "", []byte("z")}}},
		"data on lines":       {"data: x\ndata\ndata:  y\n\n", []rawEvent{{"", "", []byte("x\n\n y")}}},
		"comments, unknown":   {": \n\nfoo: bar\n:x\ndata: x\n\n", []rawEvent{{"", "", []byte("x")}}},
		"without data":        {"event: a\n\ndata: x\n\n", []rawEvent{{"", "", []byte("x")}}},
		"unfinished":          {"data: x\n\ndata: y\n", []rawEvent{{"", "", []byte("x")}}},
		"mark, zero in an id": {"\xef\xbb\xbfid: a\x00b\ndata: x\n\n", []rawEvent{{"", "", []byte("x")}}},
	} {
		got := readAll(t, strings.NewReader(c.text))
		if !slices.EqualFunc(got, c.want, same) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func same(a, b rawEvent) bool {
	return a.name == b.name && a.id == b.id && bytes.Equal(a.data, b.data)
}

// FuzzEventStream: the events do not depend on packet boundaries, and a line
// never moves from one event to another.
func FuzzEventStream(f *testing.F) {
	f.Add([]byte("retry: 2000\n\nevent: envelope\nid: 7\ndata: {\ndata: }\n\n: \n\n"))
	f.Add([]byte("\xef\xbb\xbfdata: x\r\n\r\ndata\rdata: \x00\r\r"))
	f.Fuzz(func(t *testing.T, text []byte) {
		whole := readAll(t, bytes.NewReader(text))
		pieces := readAll(t, iotest.OneByteReader(bytes.NewReader(text)))
		if !slices.EqualFunc(whole, pieces, same) {
			t.Fatalf("%q\n%q", whole, pieces)
		}
		for _, e := range whole {
			if bytes.ContainsRune(e.data, '\r') || strings.ContainsAny(e.name+e.id, "\r\n") {
				t.Fatalf("%q", e)
			}
			_, _ = (&Event{Name: e.name, Data: e.data}).Envelope()
			_, _ = (&Event{Name: e.name, Data: e.data}).Update()
		}
	})
}

// FuzzLines: decoded envelopes survive encoding and decoding unchanged.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"protocol\":\"meup/v0.1\",\"id\":\"a\",\"ts\":\"2026-11-20T09:15:00.000001Z\",\"from\":\"x\",\"to\":[\"y\"],\"kind\":\"chat\",\"correlationId\":[\"b\",\"c\"],\"context\":\"d/e\",\"payload\":{\"n\":1.00},\"z\":[ 1],\"seq\":9}\n\n"))
	f.Add([]byte(`{"kind":"reasoning/thought","payload":{},"correlationId":"b"}`))
	f.Add([]byte("[]\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := DecodeLines(bytes.Clone(text))
		if err != nil {
			return
		}
		for i := range list {
			line := protocol.OneLine(protocol.AppendEnvelope(nil, protocol.DialectMEUP01, &list[i]))
			again, err := DecodeEnvelope(bytes.Clone(line))
			if err != nil && !wellFormed(&list[i]) {
				continue // gateways do not send this
			}
			if err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			if once := protocol.AppendEnvelope(nil, protocol.DialectMEUP01, &again); wellFormed(&list[i]) && !bytes.Equal(protocol.OneLine(once), line) {
				t.Fatalf("%s\n%s", line, once)
			}
		}
	})
}

// wellFormed reports whether an envelope has the fields that every gateway
// sets.
func wellFormed(e *protocol.Envelope) bool {
	return len(e.Payload) > 0 && e.Payload[0] == '{' && e.TS.Year() >= 1 && e.TS.Year() <= 9999
}
