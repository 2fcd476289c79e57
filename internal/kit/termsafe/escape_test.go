package termsafe

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
)

// hostileJSON has characters that must not reach a terminal.
const hostileJSON = "{\"a\u009b31m\":\"\u007f \u202egpj.exe \u2066x\u2069 \u200b\u2028 \U000e0041 \u0085 \\u001b[2J\", \"b\":\"größer 👩‍👧 \t漢\"}\n"

func TestJSON(t *testing.T) {
	for _, text := range []string{hostileJSON, `{"a":"plain"}`, "", "{\"a\":\"größer\"}\n"} {
		got := JSON([]byte(text))
		for _, r := range string(got) {
			if r > '~' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) || r == 0x7f || r == 0x1b {
				t.Errorf("%+q has %+q", got, r)
			}
		}
		var whole bytes.Buffer
		w := JSONWriter(&whole)
		for i := range len(text) { // byte by byte
			if n, err := w.Write([]byte{text[i]}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if whole.String() != string(got) {
			t.Errorf("in parts: %+q, whole: %+q", whole.String(), got)
		}
	}
	text := bytes.ReplaceAll([]byte(hostileJSON), []byte("\t"), nil)
	var before, after any
	if err := json.Unmarshal(text, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(JSON(text), &after); err != nil {
		t.Fatal(err)
	}
	if a, b := mustMarshal(t, before), mustMarshal(t, after); a != b {
		t.Errorf("%s became %s", a, b)
	}
	if got := JSON([]byte("{\"größer\":1}")); string(got) != "{\"größer\":1}" {
		t.Errorf("got %s", got)
	}
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
