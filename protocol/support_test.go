package protocol

import (
	"bytes"
	"encoding/json"
	"time"
)

var allDialects = []Dialect{DialectMEUP01, DialectMEUP02, DialectMEW04}

// noon is the timestamp of envelopes in these tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)

// tb is the part of a test that helpers use; rapid's tests implement it too.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// decodeFrame is Decode with the type of its errors.
func decodeFrame(frame []byte, d Dialect, contextDepth int) (*Inbound, *Error) {
	in, err := Decode(frame, d, contextDepth)
	return in, AsError(err)
}

// decode decodes a valid frame.
func decode(t tb, d Dialect, frame string) *Inbound {
	t.Helper()
	in, err := decodeFrame([]byte(frame), d, DefaultContextDepth)
	if err != nil {
		t.Fatalf("decode %s: %v (path %q, %s)", frame, err, err.Path, err.Detail)
	}
	return in
}

// refused decodes an invalid frame.
func refused(t tb, d Dialect, frame string) (*Inbound, *Error) {
	t.Helper()
	in, err := decodeFrame([]byte(frame), d, DefaultContextDepth)
	if err == nil {
		t.Fatalf("decode %s: no error", frame)
	}
	return in, err
}

// stamped is the envelope as the gateway delivers it.
func stamped(in *Inbound) *Envelope {
	e := in.Envelope
	e.From, e.TS, e.Seq = "alice", noon, 7
	if e.ID == "" {
		e.ID = "given"
	}
	return &e
}

func parse(t tb, text string) Value {
	t.Helper()
	doc, err := ParseJSON([]byte(text), MaxDepth)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return doc.Root()
}

// decodeAny decodes JSON with the standard library and preserves numbers.
func decodeAny(t tb, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("encoding/json does not read %q: %v", text, err)
	}
	return v
}
