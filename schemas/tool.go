package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the schemas of tools and of the arguments that are checked with them. A step
// of a check takes about a microsecond, and some 20 if it fails deep in the arguments.
const (
	MaxToolSchema = 32 << 10 // bytes; for those who keep them

	maxToolValues    = 2_000     // JSON values of a schema
	maxToolPatterns  = 1_000     // instructions of all its regular expressions
	maxToolArguments = 256 << 10 // bytes
	maxMatched       = 16 << 10  // bytes of arguments, if the schema has regular expressions
	maxArguments     = 1_024     // values
	maxArgumentDepth = 16        // of nesting: the library writes the way to each fault
	maxUnique        = 128       // items of an array, if the schema has uniqueItems
	maxToolSteps     = 10_000    // of one check

	maxWanted       = 300 // bytes of a detail
	maxAlternatives = 4   // that a detail names
)

// Work of a check and of a compilation, in the bytes that limits count.
const (
	workPerStep       = 512
	workPerSchemaByte = 32
)

// matchedPerStep is how many bytes of a text a step matches with one instruction of a regular
// expression.
const matchedPerStep = 128

// Tool is the input schema of a tool, compiled on the first check. Its author is not trusted:
// a schema that is too large, refers to another document, has a regular expression of another
// dialect, or takes too much work accepts everything. Methods may be called concurrently.
type Tool struct {
	mu       sync.Mutex
	raw      []byte // until it is compiled
	compiled *jsonschema.Schema
	steps    steps
	patterns bool // it has regular expressions
	unique   bool // it has uniqueItems
}

// NewTool returns a tool by its schema, which it keeps.
func NewTool(raw []byte) *Tool { return &Tool{raw: raw} }

// Check checks the arguments of a call of tools/call, which may be absent. It returns the work that it
// took, in bytes, and the error for the sender, a *protocol.Error with the code invalid_payload; nil if
// they fit or cannot be checked.
func (t *Tool) Check(arguments protocol.Value) (work int, refused error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.raw != nil {
		work = workPerSchemaByte * len(t.raw)
		t.compiled, _ = t.compile() // without a schema, everything fits
		t.raw = nil
	}
	if t.compiled == nil || !t.checks(arguments) {
		return work, nil
	}
	err := t.validate(arguments)
	work += len(arguments.Raw()) + workPerStep*min(t.steps.taken, maxToolSteps) // of more, the schema is to blame and not the caller
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return work, nil
	}
	return work, t.refusal(arguments, failed)
}

// checks reports whether arguments are within the bounds of a check.
func (t *Tool) checks(arguments protocol.Value) bool {
	size := len(arguments.Raw())
	if size > maxToolArguments || t.patterns && size > maxMatched {
		return false
	}
	count, deepest, longest := 0, 0, 0
	var walk func(v protocol.Value, depth int)
	walk = func(v protocol.Value, depth int) {
		count++
		deepest = max(deepest, depth)
		if v.Type() == protocol.TypeArray {
			longest = max(longest, v.Len())
			for x := range v.Elements {
				walk(x, depth+1)
			}
		}
		for _, x := range v.Members {
			walk(x, depth+1)
		}
	}
	walk(arguments, 0)
	return count <= maxArguments && deepest <= maxArgumentDepth && (!t.unique || longest <= maxUnique) && CheckNumbers(arguments) == nil
}

// errSteps ends a check that takes too long.
var errSteps = errors.New("the schema takes too many steps")

// validate runs the schema. One that takes too many steps is dropped.
func (t *Tool) validate(arguments protocol.Value) (err error) {
	var v any = map[string]any{}
	if arguments.Exists() && arguments.Type() != protocol.TypeNull { // no arguments are {}
		v, err = decode(arguments.Raw())
		if err != nil {
			return err
		}
	}
	t.steps.taken = 0
	defer func() {
		if r := recover(); r != nil { // the library passes on what it does not panic with itself
			if r != errSteps { //nolint:errorlint // the very value
				panic(r)
			}
			t.compiled, err = nil, errSteps
		}
	}()
	return t.compiled.Validate(v)
}

func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func (t *Tool) compile() (*jsonschema.Schema, error) {
	doc, err := protocol.ParseJSON(t.raw, protocol.MaxDepth)
	if err != nil {
		return nil, err
	}
	if err := CheckNumbers(doc.Root()); err != nil {
		return nil, err
	}
	source, err := decode(t.raw)
	if err != nil {
		return nil, err
	}
	r := reader{tool: t}
	if err := r.read(source); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(source) // without formats
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.RegisterExtension("steps", nil, &t.steps)
	return Compile(c, raw)
}

// Compile compiles a schema whose author is not trusted: it makes this process read no file and
// connect to no host.
func Compile(c *jsonschema.Compiler, raw []byte) (*jsonschema.Schema, error) {
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("reference to %s is not followed", url)
	}
	const name = "mem:///tool.json"
	if err := c.AddResource(name, bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// reader inspects a decoded schema before it is compiled.
type reader struct {
	tool         *Tool
	values       int
	instructions int
	inValues     bool // in a list of values, which stay as they are
}

var (
	errTooLarge = errors.New("the schema is too large")
	errInValue  = errors.New("a value in the schema has a format")
)

// read counts what a part of a schema has, and removes formats: by drafts from 2019-09 on
// they are remarks, and before, tools differ in what they check. It also removes lists of
// defaults and examples: only a reference could lead there.
func (r *reader) read(part any) error {
	r.values++
	if r.values > maxToolValues {
		return errTooLarge
	}
	switch part := part.(type) {
	case []any:
		for _, x := range part {
			if err := r.read(x); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, text := part["format"].(string); text {
			if r.inValues {
				return errInValue
			}
			delete(part, "format")
		}
		for key, x := range part {
			if _, isList := x.([]any); isList && (key == "default" || key == "examples") {
				delete(part, key)
				continue
			}
			if err := r.keyword(key, x); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) keyword(key string, x any) error {
	switch key {
	case "pattern":
		if p, isText := x.(string); isText {
			return r.pattern(p)
		}
	case "patternProperties":
		if list, isObject := x.(map[string]any); isObject {
			for p := range list {
				if err := r.pattern(p); err != nil {
					return err
				}
			}
		}
	case "uniqueItems":
		r.tool.unique = true
	case "enum", "const": // of values, unless a property has that name; a reference may make schemas of them
		if list, isList := x.([]any); isList && !r.inValues {
			r.inValues = true
			defer func() { r.inValues = false }()
			return r.read(list)
		}
	}
	return r.read(x)
}

// pattern counts the instructions of a regular expression, which must be one of Go.
func (r *reader) pattern(text string) error {
	r.tool.patterns = true
	n, err := instructionsOf(text)
	r.instructions += n
	if err == nil && r.instructions > maxToolPatterns {
		err = errTooLarge
	}
	return err
}

func instructionsOf(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}

// steps counts the work of a check. To the library it is a keyword that every part of a
// schema has.
type steps struct{ taken int }

// Compile returns the counter of a part of the schema.
func (s *steps) Compile(_ jsonschema.CompilerContext, part map[string]any) (jsonschema.ExtSchema, error) {
	c := &counter{steps: s, width: 1}
	for key, x := range part {
		switch x := x.(type) {
		case []any:
			c.width += len(x)
		case map[string]any:
			c.width += len(x)
			if key == "patternProperties" {
				for p := range x {
					c.names += instructions(p)
				}
			}
		case string:
			if key == "pattern" {
				c.text = instructions(x)
			}
		}
	}
	return c, nil
}

// instructions returns the instructions of a regular expression that was read before.
func instructions(pattern string) int {
	n, _ := instructionsOf(pattern)
	return n
}

type counter struct {
	steps       *steps
	width       int // of the part of the schema, in keywords and their items
	text, names int // instructions of its regular expressions, for a text and for the names of properties
}

// Validate counts the steps that a part of the schema took for a value: the library has
// applied it, but the parts that it is in not yet.
func (c *counter) Validate(_ jsonschema.ValidationContext, v any) error {
	n := c.width
	switch v := v.(type) {
	case []any:
		n += len(v)
	case map[string]any:
		n += len(v)
		for name := range v {
			n += len(name) * c.names / matchedPerStep
		}
	case string:
		n += len(v)/64 + len(v)*c.text/matchedPerStep
	}
	c.steps.taken += n
	if c.steps.taken > maxToolSteps {
		panic(errSteps)
	}
	return nil
}

// refusal returns the error for the sender of arguments that do not fit.
func (t *Tool) refusal(arguments protocol.Value, failed *jsonschema.ValidationError) *protocol.Error {
	var best fault
	for i, e := range leaves(nil, failed, maxViolations) {
		if f := t.fault(arguments, e); i == 0 || moreInformative(f, best) {
			best = f
		}
	}
	place, detail := "/payload/params/arguments"+best.path, textutil.Shorten(best.detail, maxWanted)
	return &protocol.Error{
		Code: protocol.CodeInvalidPayload, Path: place, Detail: detail,
		Message: fmt.Sprintf("The arguments do not fit the tool's input schema at %s: %s.", textutil.Shorten(place, maxWanted), detail),
	}
}

// leaves appends the causes of a failed validation that have none, at most limit.
// Alternatives (anyOf, oneOf) are one.
func leaves(list []*jsonschema.ValidationError, e *jsonschema.ValidationError, limit int) []*jsonschema.ValidationError {
	if len(list) >= limit {
		return list
	}
	if len(e.Causes) == 0 || chooses(e) {
		return append(list, e)
	}
	for _, cause := range e.Causes {
		list = leaves(list, cause, limit)
	}
	return list
}

// chooses reports whether an error is about alternatives.
func chooses(e *jsonschema.ValidationError) bool {
	return strings.HasSuffix(e.KeywordLocation, "/anyOf") || strings.HasSuffix(e.KeywordLocation, "/oneOf")
}

// fault describes one cause of a failed validation.
func (t *Tool) fault(arguments protocol.Value, e *jsonschema.ValidationError) fault {
	path := pointer(e.InstanceLocation)
	f := fault{path: join(path), detail: e.Message}
	switch {
	case chooses(e):
		var each []string
		for _, cause := range e.Causes {
			for _, x := range leaves(nil, cause, 1) {
				text := x.Message
				if x.InstanceLocation != e.InstanceLocation {
					text = join(pointer(x.InstanceLocation)) + ": " + text
				}
				if !slices.Contains(each, text) && len(each) < maxAlternatives {
					each = append(each, text)
				}
			}
		}
		if len(each) > 0 { // else more than one alternative fits
			f.detail = strings.Join(each, ", or ")
		}
	case strings.HasSuffix(e.KeywordLocation, "/required"):
		if s := walk(t.compiled, path); s != nil {
			f = missingField(f, s, find(arguments, path))
			if f.missing != "" {
				f.detail = f.missing + " is missing"
			}
		}
	}
	return f
}

// Bounds of numbers. The validator converts all numbers to fractions of
// arbitrary precision: 1e999999 costs it megabytes, and it panics at 1e9999999.
// Numbers within these bounds, in bytes and in exponent, are cheap and cover
// every float64.
const (
	maxNumber   = 1_000
	maxExponent = 400
)

// CheckNumbers returns an error if v contains a number that the schema library cannot
// be given.
func CheckNumbers(v protocol.Value) error {
	switch v.Type() {
	case protocol.TypeObject:
		for _, x := range v.Members {
			if err := CheckNumbers(x); err != nil {
				return err
			}
		}
	case protocol.TypeArray:
		for x := range v.Elements {
			if err := CheckNumbers(x); err != nil {
				return err
			}
		}
	case protocol.TypeNumber:
		s := string(v.Raw())
		if len(s) > maxNumber {
			return fmt.Errorf("a number of %d characters is longer than the %d that are taken", len(s), maxNumber)
		}
		at := strings.IndexAny(s, "eE")
		if at < 0 {
			return nil
		}
		e, err := strconv.Atoi(s[at+1:])
		if err != nil || e < -maxExponent || e > maxExponent {
			return fmt.Errorf("the number %.40s has an exponent beyond the %d that is taken", s, maxExponent)
		}
	}
	return nil
}
