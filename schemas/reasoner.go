package schemas

import (
	"errors"
	"fmt"
	"path"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

// Fault describes an error in a document.
type Fault struct {
	Path    string // JSON pointer; empty for the whole document
	Message string // a sentence that names the expected value
	Syntax  bool   // not JSON, or not JSON that all parsers read alike
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Document checks a document of the Reasoning API, a response about turns,
// another one of the HTTP API, or the payload of a frame from the gateway, by the path of its schema:
// reasoner/agent_intent.request, turns/history, http/search and so on. The error is a *Fault if there is such a schema.
func Document(name string, raw []byte) error {
	compiled := reasoner
	switch path.Dir(name) {
	case "turns":
		compiled = turns
	case "http":
		compiled = answers
	case "frames":
		compiled = frames
	}
	schema, ok := compiled()[path.Base(name)]
	if !ok {
		return fmt.Errorf("there is no schema %s", name)
	}
	if tooMany(raw) {
		return &Fault{Message: fmt.Sprintf("The request has more than %d JSON values: send a shorter history, or results as text.", MaxValues)}
	}
	doc, err := protocol.ParseJSON(raw, protocol.MaxDepth)
	if err != nil {
		f := &Fault{Syntax: true, Message: "The request is not JSON: " + err.Error() + "."}
		var syntax *protocol.SyntaxError
		if errors.As(err, &syntax) {
			f.Path = syntax.Path
		}
		return f
	}
	if long := tooLong(schema, doc.Root()); long != nil {
		return long
	}
	err = schema.Validate(instance(doc.Root()))
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return &Fault{Message: "The request could not be checked: " + err.Error() + "."}
	}
	return describeFault(explain(schema, doc.Root(), failed))
}

// describeFault converts a fault into a sentence for the sender.
func describeFault(f fault) *Fault {
	place := "at " + f.path
	if f.path == "" {
		place = "as a whole"
	}
	out := &Fault{Path: f.path}
	switch {
	case f.missing != "":
		out.Message = fmt.Sprintf("The request lacks %s: add %s.", f.path, f.advice)
	case f.advice != "":
		out.Message = fmt.Sprintf("The request is wrong %s: %s. What belongs there: %s.", place, f.detail, f.advice)
	default:
		out.Message = fmt.Sprintf("The request is wrong %s: %s.", place, f.detail)
	}
	return out
}

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
			count++
			if count > MaxValues {
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

// Reasoner returns the schemas of the Reasoning API as they are published, by
// name: agent_intent.request and so on.
func Reasoner() map[string][]byte {
	all := make(map[string][]byte)
	for name := range reasoner() {
		text, err := files.ReadFile("reasoner/" + name + suffix)
		if err != nil {
			panic(err) // it was compiled
		}
		all[name] = text
	}
	return all
}
