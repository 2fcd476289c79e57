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

// noon is when the gateway of these tests stamps its envelopes.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)

// tb is what a helper needs of a test, rapid's own among them.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// decode reads a frame that must be good.
func decode(t tb, d Dialect, frame string) *Inbound {
	t.Helper()
	in, err := Decode([]byte(frame), d, DefaultContextDepth)
	if err != nil {
		t.Fatalf("decode %s: %v (path %q, %s)", frame, err, err.Path, err.Detail)
	}
	return in
}

// refused reads a frame that must be bad.
func refused(t tb, d Dialect, frame string) (*Inbound, *Error) {
	t.Helper()
	in, err := Decode([]byte(frame), d, DefaultContextDepth)
	if err == nil {
		t.Fatalf("decode %s: no error", frame)
	}
	return in, err
}

// stamped is the envelope as the gateway passes it on.
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

// decodeAny reads JSON with the standard library, numbers as they are written.
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

// objection says why a text is refused though encoding/json takes it; "" when
// there is no reason.
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

// hasLoneSurrogate looks at the escapes of a text that is valid JSON: there
// are backslashes in strings alone.
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
