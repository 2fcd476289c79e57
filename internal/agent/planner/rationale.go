package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/meup-protocol/meup/protocol"
)

const (
	rationaleName = "rationale"
	rationaleSpec = `{"type":"string","description":"one sentence for people: why this call now"}`
	maxReason     = 500     // characters
	maxArguments  = 1 << 20 // bytes of one call
)

// awkward are the keywords of a schema's outermost level that providers refuse
// or that one more property would break. The arguments are held against the
// tool's own schema in any case.
var awkward = []string{"$schema", "$id", "maxProperties", "minProperties", "propertyNames"}

// combining are those that providers refuse and that a model should still know.
var combining = []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "dependentRequired", "dependencies"}

// withRationale returns a schema that asks for the reason of the call besides,
// as the first of the properties, since what is written first guides what
// follows. name is that property; rest is what the schema no longer says.
func withRationale(raw json.RawMessage) (schema json.RawMessage, name, rest string) {
	fields, err := readSchema(raw)
	if err != nil || fields == nil {
		fields = make(map[string]json.RawMessage)
	}
	for _, key := range awkward {
		delete(fields, key)
	}
	rest = takeOut(fields, combining)
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(fields["properties"], &properties) // none, then
	name = rationaleName
	for taken := true; taken; {
		if _, taken = properties[name]; taken {
			name = "meup_" + name
		}
	}
	fields["type"] = json.RawMessage(`"object"`)
	fields["properties"] = before(fmt.Sprintf("%q:%s", name, rationaleSpec), fields["properties"], len(properties))
	var required []string
	_ = json.Unmarshal(fields["required"], &required)
	fields["required"] = marshal(append([]string{name}, required...))
	return marshal(fields), name, rest
}

// takeOut removes the keys and returns them as a text; "" if none was there.
func takeOut(fields map[string]json.RawMessage, keys []string) string {
	out := make(map[string]json.RawMessage)
	for _, key := range keys {
		if v, ok := fields[key]; ok {
			out[key] = v
			delete(fields, key)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return string(marshal(out))
}

// before puts a member in front of the n that an object has.
func before(member string, object json.RawMessage, n int) json.RawMessage {
	if n == 0 {
		return json.RawMessage("{" + member + "}")
	}
	return json.RawMessage("{" + member + "," + string(bytes.TrimSpace(object)[1:]))
}

// marshal writes what is known to have a JSON form, without the escapes that
// only HTML needs.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("{}")
	}
	return bytes.TrimSpace(b.Bytes())
}

// take splits what a model wrote into the tool's own arguments, which are held
// against its schema, and the reason. The error is for the model to read.
func (o *offered) take(written json.RawMessage) (args json.RawMessage, reason string, err error) {
	args, reason, err = o.strip(written)
	if err != nil {
		return nil, "", err
	}
	if err := Validate(o.tool.InputSchema, args); err != nil {
		return nil, "", err
	}
	return args, reason, nil
}

// strip takes the reason out of the arguments. Its result has its keys sorted.
func (o *offered) strip(written json.RawMessage) (json.RawMessage, string, error) {
	if len(bytes.TrimSpace(written)) == 0 {
		written = json.RawMessage("{}") // how some say that there are none
	}
	if len(written) > maxArguments {
		return nil, "", fmt.Errorf("arguments: %d bytes are more than the %d that are taken", len(written), maxArguments)
	}
	doc, err := protocol.ParseJSON(written, maxArgumentDepth)
	if err != nil {
		return nil, "", fmt.Errorf("arguments: %w", err)
	}
	if doc.Root().Type() != protocol.TypeObject {
		return nil, "", fmt.Errorf("arguments: expected an object, not %s", doc.Root().Type())
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(written, &fields); err != nil {
		return nil, "", fmt.Errorf("arguments: %w", err)
	}
	var said string
	_ = json.Unmarshal(fields[o.rationale], &said) // anything else says nothing
	delete(fields, o.rationale)
	args := marshal(fields)
	if len(args) > maxArguments {
		return nil, "", errors.New("arguments: too long")
	}
	return args, sentence(said), nil
}

// sentence is a reason as people are shown it: one line, bounded, never empty.
func sentence(s string) string {
	s = oneLine(s)
	if s == "" {
		return DefaultReason
	}
	return cut(s, maxReason)
}

// oneLine replaces every run of spaces and control characters by one space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
