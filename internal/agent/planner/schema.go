package planner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// maxArgumentDepth bounds the nesting of arguments and schemas, since the
// validator recurses.
const maxArgumentDepth = protocol.MaxDepth

// Validate checks a call's arguments against the tool's input schema. A tool
// without a schema accepts any object. The error names every violation. Numbers
// of more than 1,000 characters, or with an exponent beyond 400, are always
// invalid.
func Validate(inputSchema, arguments json.RawMessage) error {
	doc, err := protocol.ParseJSON(arguments, maxArgumentDepth)
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if doc.Root().Type() != protocol.TypeObject {
		return fmt.Errorf("arguments: expected an object, not %s", doc.Root().Type())
	}
	if noSchema(inputSchema) {
		return nil
	}
	if err := schemas.CheckNumbers(doc.Root()); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	compiled, err := compiledSchemas.get(inputSchema)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if err := compiled.Validate(v); err != nil {
		return fmt.Errorf("arguments do not fit: %s", faults(err))
	}
	return nil
}

// noSchema reports whether a tool has no input schema.
func noSchema(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}

// faults lists the violations, without the validator's own addresses.
func faults(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	var out []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			out = append(out, fmt.Sprintf("%s: %s", cmp.Or(e.InstanceLocation, "the object"), e.Message))
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(invalid)
	sort.Strings(out)
	return fmt.Sprint(out)
}

// schemaCache holds compiled schemas. A full cache is cleared: a set of tools
// has few schemas.
type schemaCache struct {
	mu sync.Mutex
	m  map[string]*jsonschema.Schema
}

var compiledSchemas schemaCache

const maxSchemas = 512

func (c *schemaCache) get(raw json.RawMessage) (*jsonschema.Schema, error) {
	c.mu.Lock()
	s := c.m[string(raw)]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	doc, err := protocol.ParseJSON(raw, maxArgumentDepth)
	if err == nil {
		err = schemas.CheckNumbers(doc.Root())
	}
	if err == nil {
		s, err = schemas.Compile(jsonschema.NewCompiler(), raw)
	}
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxSchemas {
		c.m = make(map[string]*jsonschema.Schema)
	}
	c.m[string(raw)] = s
	return s, nil
}
