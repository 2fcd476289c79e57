package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/meup-protocol/meup/protocol"
)

// Definition is the part of a tool that a model sees and decides by.
type Definition struct {
	Name        string
	Description string
	Schema      json.RawMessage // of the input; nil: none
}

var errNoTool = errors.New("it is no tool: expected an object with a name of 1 to 256 bytes")

// readDefinition reads the definition of a tool in the result of tools/list.
func readDefinition(tool protocol.Value) (Definition, error) {
	d := Definition{Name: tool.Get("name").Text(), Description: tool.Get("description").Text()}
	if d.Name == "" || len(d.Name) > maxName {
		return d, errNoTool
	}
	if schema := tool.Get("inputSchema"); schema.Exists() {
		d.Schema = compact(schema.Raw())
	}
	return d, nil
}

// Sum is the hash of a definition, in hexadecimal. Spaces and the order of
// members do not change it.
func (d Definition) Sum() string {
	text, err := json.Marshal([]string{d.Name, d.Description, canonical(d.Schema)})
	if err != nil {
		panic(err) // of texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// canonical returns a form of JSON that is the same for equal values.
func canonical(text json.RawMessage) string {
	if text == nil {
		return ""
	}
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		return string(text)
	}
	return string(doc.Root().AppendCanonical(nil))
}

// compact removes the spaces of JSON.
func compact(text []byte) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}

// Bounds of the shown parts of a definition.
const (
	maxName        = 256     // bytes
	maxDescription = 8 << 10 // bytes
	maxSchema      = 16 << 10
	shownDepth     = 8 // of a schema in an envelope
)

// shown is the form of a definition in the log. A part that is too large is left
// out; the hash holds for all of it.
type shown struct {
	Description *string         `json:"description,omitempty"`
	Schema      json.RawMessage `json:"inputSchema,omitempty"`
	LeftOut     []string        `json:"left_out,omitempty"`
}

// show returns the shown parts of a definition in an envelope of at most limit bytes.
func show(d Definition, limit int) shown {
	var s shown
	s.Description = &d.Description
	if len(d.Description) > min(maxDescription, limit/16) {
		s.Description, s.LeftOut = nil, append(s.LeftOut, "description")
	}
	if d.Schema == nil {
		return s
	}
	s.Schema = d.Schema
	if _, err := protocol.ParseJSON(d.Schema, protocol.MaxDepth-shownDepth); err != nil || len(d.Schema) > min(maxSchema, limit/8) {
		s.Schema, s.LeftOut = nil, append(s.LeftOut, "inputSchema")
	}
	return s
}

// hidden is s without its parts.
func (s shown) hidden() shown {
	if s.Description != nil {
		s.LeftOut = append(s.LeftOut, "description")
	}
	if s.Schema != nil {
		s.LeftOut = append(s.LeftOut, "inputSchema")
	}
	s.Description, s.Schema = nil, nil
	return s
}

// without removes the parts that are equal in another definition, and returns the
// names of the parts that differ.
func (s shown) without(other shown) (shown, []string) {
	var differ []string
	if s.Description != nil && other.Description != nil && *s.Description == *other.Description {
		s.Description = nil
	} else {
		differ = append(differ, "description")
	}
	if s.Schema != nil && canonical(s.Schema) == canonical(other.Schema) {
		s.Schema = nil
	} else if s.Schema != nil || other.Schema != nil || len(s.LeftOut)+len(other.LeftOut) > 0 {
		differ = append(differ, "inputSchema")
	}
	return s, differ
}
