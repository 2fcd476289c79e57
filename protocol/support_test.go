package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"
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

// objection returns the reason to reject a text that encoding/json accepts; ""
// if there is no reason.
func objection(text []byte, maxDepth int) string {
	switch {
	case !utf8.Valid(text):
		return "invalid UTF-8"
	case hasLoneSurrogate(text):
		return "lone surrogate"
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	why, err := walk(d, 0, maxDepth)
	if err != nil {
		return ""
	}
	return why
}

// walk reads one value and reports duplicate keys and excessive depth in it.
func walk(d *json.Decoder, depth, maxDepth int) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	opening, ok := token.(json.Delim)
	if !ok {
		return "", nil
	}
	if depth++; depth > maxDepth {
		return "too deep", nil
	}
	seen := make(map[string]bool)
	for d.More() {
		if opening == '{' {
			key, err := d.Token()
			if err != nil {
				return "", err
			}
			name, _ := key.(string)
			if seen[name] {
				return "duplicate key", nil
			}
			seen[name] = true
		}
		if why, err := walk(d, depth, maxDepth); why != "" || err != nil {
			return why, err
		}
	}
	_, err = d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return "", err
}

// hasLoneSurrogate checks the escapes of a valid JSON text, in which only
// strings contain backslashes.
func hasLoneSurrogate(text []byte) bool {
	high := false
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		i++
		surrogate := byte(0)
		if text[i] == 'u' {
			if c := strings.ToLower(string(text[i+1 : i+3])); c[0] == 'd' && c[1] >= '8' {
				surrogate = c[1]
			}
			i += 4
		}
		isLow := surrogate >= 'c'
		if high != isLow {
			return true
		}
		high = surrogate != 0 && !isLow
	}
	return high
}
