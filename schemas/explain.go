package schemas

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

// fault is an error in a payload.
type fault struct {
	path    string // JSON pointer from the payload
	detail  string // the expected value
	advice  string // the schema's description of the field
	missing string // the missing field, or the alternatives of which one is missing
}

// refusal converts a fault into the error for the sender.
func refusal(kind protocol.Kind, f fault) *protocol.Error {
	e := &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload" + f.path, Detail: f.detail}
	switch {
	case f.missing != "":
		e.Message = fmt.Sprintf("The payload of %s lacks %s: add %s.", kind, f.missing, f.advice)
	case f.advice != "":
		e.Message = fmt.Sprintf("The payload of %s is wrong at %s: %s. What belongs there: %s.", kind, e.Path, f.detail, f.advice)
	default:
		e.Message = fmt.Sprintf("The payload of %s is wrong at %s: %s.", kind, e.Path, f.detail)
	}
	return e
}

// explain selects the most informative fault: a wrong field before a missing
// one, the deepest first. The order is fixed here because the library iterates
// over maps.
func explain(root *jsonschema.Schema, payload protocol.Value, failed *jsonschema.ValidationError) fault {
	var best fault
	found := false
	for _, leaf := range leaves(nil, failed) {
		f := explainLeaf(root, payload, leaf)
		if !found || moreInformative(f, best) {
			best, found = f, true
		}
	}
	if best.detail == "" {
		best.detail = failed.Message
	}
	return best
}

func moreInformative(a, b fault) bool {
	if (a.missing == "") != (b.missing == "") {
		return a.missing == ""
	}
	depthA, depthB := strings.Count(a.path, "/"), strings.Count(b.path, "/")
	if depthA != depthB {
		return depthA > depthB
	}
	return a.path+a.detail < b.path+b.detail
}

// maxLeaves bounds the faults that are compared: each requires a walk from the
// root.
const maxLeaves = 256

func leaves(list []*jsonschema.ValidationError, e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(list) >= maxLeaves {
		return list
	}
	if len(e.Causes) == 0 {
		return append(list, e)
	}
	for _, cause := range e.Causes {
		list = leaves(list, cause)
	}
	return list
}

func explainLeaf(root *jsonschema.Schema, payload protocol.Value, leaf *jsonschema.ValidationError) fault {
	segments := pointer(leaf.InstanceLocation)
	schema, value := walk(root, payload, segments)
	f := fault{path: join(segments)}
	if schema == nil {
		f.detail = leaf.Message
		return f
	}
	switch keyword := leaf.KeywordLocation[strings.LastIndexByte(leaf.KeywordLocation, '/')+1:]; keyword {
	case "required":
		return missingField(f, schema, value)
	case "oneOf":
		f.detail = "expected " + strings.Join(alternatives(schema.OneOf), " or ") + ", not both"
	case "type":
		f.detail = "expected " + types(schema.Types) + ", got " + value.Type().String()
		f.advice = schema.Description
	case "minLength":
		f.detail, f.advice = "expected a string that is not empty", schema.Description
	case "minItems":
		f.detail, f.advice = "expected a list that is not empty", schema.Description
	case "pattern", "format":
		f.detail = "expected " + schema.Description
	case "minimum", "maximum", "exclusiveMinimum":
		f.detail, f.advice = "expected a number "+interval(schema), schema.Description
	case "enum":
		f.detail, f.advice = "expected "+enum(schema), schema.Description
	default:
		f.detail = leaf.Message
	}
	return f
}

// missingField names the first missing required field; if one of several would
// be sufficient, all of them.
func missingField(f fault, schema *jsonschema.Schema, value protocol.Value) fault {
	var wanted []string
	for _, name := range schema.Required {
		if !value.Get(name).Exists() {
			wanted = []string{name}
			break
		}
	}
	if wanted == nil {
		wanted = append(alternatives(schema.AnyOf), alternatives(schema.OneOf)...)
	}
	if len(wanted) == 0 {
		return f
	}
	f.missing = strings.Join(wanted, " or ")
	f.detail = "expected " + f.missing
	f.path += "/" + wanted[0]
	if property := schema.Properties[wanted[0]]; property != nil {
		f.advice = describe(property)
	}
	return f
}

// alternatives returns the fields of which a payload needs one.
func alternatives(list []*jsonschema.Schema) []string {
	var fields []string
	for _, s := range list {
		fields = append(fields, s.Required...)
	}
	return fields
}

// walk follows a pointer through a schema and a value. The schema is nil if the
// schema has no entry for that place.
func walk(s *jsonschema.Schema, v protocol.Value, segments []string) (*jsonschema.Schema, protocol.Value) {
	for _, segment := range segments {
		s = resolve(s)
		if s == nil {
			return nil, v
		}
		if v.Type() == protocol.TypeArray {
			s, v = s.Items2020, element(v, segment)
			continue
		}
		s, v = s.Properties[segment], v.Get(segment)
	}
	return resolve(s), v
}

func resolve(s *jsonschema.Schema) *jsonschema.Schema {
	for s != nil && s.Ref != nil {
		s = s.Ref
	}
	return s
}

func element(v protocol.Value, index string) protocol.Value {
	n, err := strconv.Atoi(index)
	if err != nil {
		return protocol.Value{}
	}
	for x := range v.Elements {
		if n == 0 {
			return x
		}
		n--
	}
	return protocol.Value{}
}

// describe returns the schema's description of a field; the description at the
// place itself precedes the description of the definition it refers to.
func describe(s *jsonschema.Schema) string {
	for ; s != nil; s = s.Ref {
		if s.Description != "" {
			return s.Description
		}
	}
	return ""
}

// types formats a list of JSON types: "a string or a number".
func types(list []string) string {
	words := make([]string, 0, len(list))
	for _, t := range list {
		switch t {
		case "null":
		case "array", "integer", "object":
			t = "an " + t
		default:
			t = "a " + t
		}
		words = append(words, t)
	}
	return strings.Join(words, " or ")
}

// interval formats the bounds of a number.
func interval(s *jsonschema.Schema) string {
	switch {
	case s.ExclusiveMinimum != nil:
		return "greater than " + s.ExclusiveMinimum.RatString()
	case s.Minimum != nil && s.Maximum != nil:
		return "from " + s.Minimum.RatString() + " to " + s.Maximum.RatString()
	case s.Minimum != nil:
		return "of at least " + s.Minimum.RatString()
	}
	return "of at most " + s.Maximum.RatString()
}

func enum(s *jsonschema.Schema) string {
	words := make([]string, 0, len(s.Enum))
	for _, w := range s.Enum {
		words = append(words, fmt.Sprint(w))
	}
	return strings.Join(words, " or ")
}

// pointer splits a location from the library, which additionally escapes
// segments as parts of a URL.
func pointer(location string) []string {
	if location == "" {
		return nil
	}
	segments := strings.Split(location[1:], "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			s = plain
		}
		segments[i] = protocol.UnescapePointer(s)
	}
	return segments
}

func join(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(protocol.EscapePointer(s))
	}
	return b.String()
}
