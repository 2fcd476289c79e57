package schemas

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

// MaxValues bounds the JSON values of a document of the Reasoning API. A value
// takes some hundred bytes while it is checked, but only two bytes on the wire.
const MaxValues = 100_000

// tooMany reports whether a text has more than MaxValues values, including
// field names. It counts only separators; for a text that is not JSON the
// result is unspecified.
func tooMany(raw []byte) bool {
	count, quoted := 1, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',', c == ':', c == '[', c == '{':
			if count++; count > MaxValues {
				return true
			}
		}
	}
	return false
}

// tooLong finds a field with more elements than its schema allows. The library
// would first check each of them.
func tooLong(schema *jsonschema.Schema, doc protocol.Value) *Fault {
	if doc.Type() != protocol.TypeObject {
		return nil
	}
	for name, value := range doc.Members {
		property := schema.Properties[name.Text()]
		if property == nil || property.MaxItems < 0 || value.Type() != protocol.TypeArray {
			continue
		}
		if n := value.Len(); n > property.MaxItems {
			return describeFault(fault{
				path: join([]string{name.Text()}), advice: property.Description,
				detail: fmt.Sprintf("expected at most %d elements, got %d", property.MaxItems, n),
			})
		}
	}
	return nil
}
