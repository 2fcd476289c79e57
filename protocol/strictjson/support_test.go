package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse compares the parser with encoding/json.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,-2.5e3,"x\n\ud83d\ude00",true,null,{"b":{}}]}`), uint8(64))
	f.Add([]byte(`{"a":1,"\u0061":2}`), uint8(2))
	f.Add([]byte(nested(5)), uint8(4))
	f.Fuzz(func(t *testing.T, text []byte, maxDepth uint8) {
		sameAsStandard(t, text, int(maxDepth))
	})
}

// tb is the part of a test that helpers use; rapid's tests implement it too.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func parse(t tb, text string) Value {
	t.Helper()
	doc, err := Parse([]byte(text), maxDepth)
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
	depth++
	if depth > maxDepth {
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
