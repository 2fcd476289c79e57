package agent

import (
	"encoding/json"

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
