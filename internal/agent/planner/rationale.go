package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

const (
	rationaleName = "rationale"
	rationaleSpec = `{"type":"string","description":"one sentence for people: why this call now"}`
	maxReason     = 500     // characters
	maxArguments  = 1 << 20 // bytes of one call
)

// unsupportedKeywords lists keywords of a schema's outermost level that providers reject or
// that an additional property would violate. The arguments are still validated
// against the tool's own schema.
var unsupportedKeywords = []string{"$schema", "$id", "maxProperties", "minProperties", "propertyNames"}

// combiningKeywords lists keywords that providers reject and that a model still needs
// to know.
var combiningKeywords = []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "dependentRequired", "dependencies"}

// withRationale returns a schema with an additional property for the reason of
// the call. It is the first property, since text that is written first
// influences the rest. name is that property; rest holds the keywords that were
// removed from the schema.
func withRationale(raw json.RawMessage) (schema json.RawMessage, name, rest string) {
	fields, err := readSchema(raw)
	if err != nil || fields == nil {
		fields = make(map[string]json.RawMessage)
	}
	for _, key := range unsupportedKeywords {
		delete(fields, key)
	}
	removed := make(map[string]json.RawMessage)
	for _, key := range combiningKeywords {
		if v, ok := fields[key]; ok {
			removed[key] = v
			delete(fields, key)
		}
	}
	if len(removed) > 0 {
		rest = string(llm.Marshal(removed))
	}
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(fields["properties"], &properties) // properties stays empty on an error
	name = rationaleName
	for taken := true; taken; {
		_, taken = properties[name]
		if taken {
			name = "meup_" + name
		}
	}
	fields["type"] = json.RawMessage(`"object"`)
	members := fmt.Sprintf("{%q:%s", name, rationaleSpec)
	if len(properties) > 0 {
		members += "," + string(bytes.TrimSpace(fields["properties"])[1:])
	} else {
		members += "}"
	}
	fields["properties"] = json.RawMessage(members)
	var required []string
	_ = json.Unmarshal(fields["required"], &required)
	fields["required"] = llm.Marshal(append([]string{name}, required...))
	return llm.Marshal(fields), name, rest
}

// strip splits the arguments that a model wrote into the tool's own, whose keys are sorted,
// and the reason. The error is for the model to read.
func (o *offered) strip(written json.RawMessage) (json.RawMessage, string, error) {
	if len(bytes.TrimSpace(written)) == 0 {
		written = json.RawMessage("{}") // some models write nothing for no arguments
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
	_ = json.Unmarshal(fields[o.rationale], &said) // ignore a value that is not a string
	if o.rationale != "" {
		delete(fields, o.rationale)
	}
	args := llm.Marshal(fields)
	if len(args) > maxArguments {
		return nil, "", errors.New("arguments: too long")
	}
	return args, sentence(said), nil
}

// sentence formats a reason for display: one line, bounded, never empty.
func sentence(s string) string {
	s = OneLine(s)
	if s == "" {
		return DefaultReason
	}
	return textutil.ShortenChars(s, maxReason)
}

// OneLine replaces every run of spaces and control characters by one space.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
