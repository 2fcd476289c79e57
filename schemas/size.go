package schemas

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

// MaxValues bounds the JSON values of a document of the Reasoning API. Each
// takes some hundred bytes while it is checked, and two bytes to send.
const MaxValues = 100_000

// tooMany reports whether a text has more than MaxValues values, names of
// fields among them. It counts what separates them, and reads nothing else: of
// a text that is not JSON it may say anything.
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
// would look at each of them first.
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
			return worded(fault{
				path: join([]string{name.Text()}), advice: property.Description,
				detail: fmt.Sprintf("expected at most %d elements, got %d", property.MaxItems, n),
			})
		}
	}
	return nil
}
