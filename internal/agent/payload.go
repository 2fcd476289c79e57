package agent

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// field is one member of an object; members keep their order.
type field struct {
	name  string
	value any
}

// object builds a JSON object. A value that cannot be marshaled becomes null;
// the callers pass none.
func object(fields ...field) json.RawMessage {
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = protocol.AppendString(out, f.name)
		out = append(out, ':')
		raw, err := json.Marshal(f.value)
		if err != nil {
			raw = []byte("null")
		}
		out = append(out, raw...)
	}
	return append(out, '}')
}

// cut truncates a text to max characters.
func cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max]) + "…"
}

// cutBytes truncates a text to max bytes, at a character boundary.
func cutBytes(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "")
}
