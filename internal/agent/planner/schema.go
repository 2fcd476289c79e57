package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// schema is the part of a JSON Schema that is needed to build arguments.
type schema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type    any             `json:"type"`
	Enum    []any           `json:"enum"`
	Const   json.RawMessage `json:"const"`
	Default json.RawMessage `json:"default"`
	Format  string          `json:"format"`
}

func parseSchema(raw json.RawMessage) schema {
	var s schema
	_ = json.Unmarshal(raw, &s) // an invalid schema has no parameters
	return s
}

// param is a parameter that the rules have a value for: its possible names, and
// the type that it must allow.
type param struct {
	names []string
	typ   string
}

var (
	pathParam    = param{[]string{"path", "directory", "dir", "folder", "file", "file_path", "filepath", "filename", "uri"}, "string"}
	patternParam = param{[]string{"pattern", "glob"}, "string"}
	queryParam   = param{[]string{"query", "q", "question", "text", "search", "search_query", "term", "keywords", "prompt", "message", "topic"}, "string"}
	headParam    = param{[]string{"head", "limit", "max_lines", "lines"}, "number"}
)

// find returns the schema's name for the parameter.
func (s schema) find(p param) (string, bool) {
	for _, name := range p.names {
		if prop, ok := s.Properties[name]; ok && admits(prop.Type, p.typ) {
			return name, true
		}
	}
	return "", false
}

func admits(declared any, typ string) bool {
	switch d := declared.(type) {
	case string:
		return d == typ || typ == "number" && d == "integer"
	case []any:
		return slices.ContainsFunc(d, func(x any) bool { return admits(x, typ) })
	}
	return declared == nil
}

// fills reports whether the schema has these parameters and requires no others.
func (s schema) fills(params ...param) bool {
	var names []string
	for _, p := range params {
		name, ok := s.find(p)
		if !ok {
			return false
		}
		names = append(names, name)
	}
	return !slices.ContainsFunc(s.Required, func(r string) bool { return !slices.Contains(names, r) })
}

// value is an argument. An optional one is left out if the tool has no such
// parameter.
type value struct {
	param    param
	value    any
	optional bool
}

// build returns a tool's arguments with sorted keys, so that equal calls have
// equal arguments.
func (t *Tool) build(values ...value) (json.RawMessage, error) {
	s := parseSchema(t.InputSchema)
	args := make(map[string]any, len(values))
	for _, v := range values {
		name, ok := s.find(v.param)
		if ok {
			args[name] = v.value
		} else if !v.optional {
			return nil, fmt.Errorf("build arguments of %s: no parameter like %q", t.Name, v.param.names[0])
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("build arguments of %s: %w", t.Name, err)
	}
	if err := Validate(t.InputSchema, raw); err != nil {
		return nil, fmt.Errorf("build arguments of %s: %w", t.Name, err)
	}
	return raw, nil
}

// argument returns the value of the parameter in a call, or "".
func argument(c contextwindow.Call, p param) string {
	var args map[string]any
	if json.Unmarshal(c.Arguments, &args) != nil {
		return ""
	}
	for _, name := range p.names {
		if s, ok := args[name].(string); ok {
			return s
		}
	}
	return ""
}

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
	if err := checkNumbers(doc.Root()); err != nil {
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
			out = append(out, fmt.Sprintf("%s: %s", orRoot(e.InstanceLocation), e.Message))
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(invalid)
	sort.Strings(out)
	return fmt.Sprint(out)
}

func orRoot(pointer string) string {
	if pointer == "" {
		return "the object"
	}
	return pointer
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
	s, err := compileSchema(raw)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxSchemas {
		c.m = make(map[string]*jsonschema.Schema)
	}
	c.m[string(raw)] = s
	return s, nil
}

func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := protocol.ParseJSON(raw, maxArgumentDepth)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if err := checkNumbers(doc.Root()); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) { // a tool's owner must not be able to make this process read files or connect to hosts
		return nil, fmt.Errorf("reference to %s is not followed", url)
	}
	const name = "mem:///input.json"
	if err := c.AddResource(name, bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return s, nil
}
