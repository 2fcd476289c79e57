package schemas

import (
	"fmt"
	"net/url"
	"slices"
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

// Violation is a keyword of a schema that a document does not satisfy.
type Violation struct {
	Path    []string           // keys and indexes from the root of the document to the value
	Keyword string             // "type", "enum", "anyOf"; "propertyNames" if the last key itself is wrong
	Schema  *jsonschema.Schema // of the value at Path, with references followed; nil if there is none
	message string
}

// violations appends the violations of a failed validation, at most limit.
// Alternatives (anyOf, oneOf) are one violation.
func violations(list []Violation, root *jsonschema.Schema, e *jsonschema.ValidationError, limit int) []Violation {
	if len(list) >= limit {
		return list
	}
	keyword := e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]
	if len(e.Causes) > 0 && keyword != "anyOf" && keyword != "oneOf" {
		for _, cause := range e.Causes {
			list = violations(list, root, cause, limit)
		}
		return list
	}
	v := Violation{Path: pointer(e.InstanceLocation), Keyword: keyword, message: e.Message}
	v.Schema = walk(root, v.Path)
	if strings.Contains(e.KeywordLocation, "/propertyNames/") {
		v.Keyword = "propertyNames"
		if v.Schema == nil || v.Schema.PropertyNames == nil { // with an empty name, the library reports the parent
			v.Schema = walk(root, v.Path[:len(v.Path)-1])
		} else {
			v.Path = append(v.Path, "")
		}
		v.Schema = v.Schema.PropertyNames
	}
	return append(list, v)
}

// maxViolations bounds the violations that explain compares.
const maxViolations = 256

// explain selects the most informative violation: a wrong field before a
// missing one, the deepest first. The order is fixed here because the library
// iterates over maps.
func explain(root *jsonschema.Schema, payload protocol.Value, failed *jsonschema.ValidationError) fault {
	var best fault
	for i, v := range violations(nil, root, failed, maxViolations) {
		if f := v.explain(payload); i == 0 || moreInformative(f, best) {
			best = f
		}
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

func (v Violation) explain(payload protocol.Value) fault {
	f := fault{path: join(v.Path), detail: v.message}
	if v.Schema == nil {
		return f
	}
	value := find(payload, v.Path)
	f.advice = v.Schema.Description
	switch v.Keyword {
	case "required", "anyOf", "oneOf":
		return missingField(f, v.Schema, value)
	case "type":
		f.detail = "expected " + types(v.Schema.Types) + ", got " + value.Type().String()
	case "minLength":
		f.detail = "expected a string that is not empty"
	case "maxLength":
		f.detail = "expected a string of at most " + strconv.Itoa(v.Schema.MaxLength) + " characters"
	case "minItems":
		f.detail = "expected a list that is not empty"
	case "pattern", "format":
		f.detail, f.advice = "expected "+v.Schema.Description, ""
	case "minimum", "maximum", "exclusiveMinimum":
		f.detail = "expected a number " + interval(v.Schema)
	case "enum":
		f.detail = "expected " + strings.Join(Words(v.Schema), " or ")
	default:
		f.advice = ""
	}
	return f
}

// missingField names the first missing required field; if one of several would
// be sufficient, all of them.
func missingField(f fault, schema *jsonschema.Schema, value protocol.Value) fault {
	f.advice = ""
	var wanted []string
	for _, name := range schema.Required {
		if !value.Get(name).Exists() {
			wanted = []string{name}
			break
		}
	}
	if wanted == nil {
		wanted = Alternatives(schema)
		if slices.ContainsFunc(wanted, func(name string) bool { return value.Get(name).Exists() }) {
			f.detail = "expected " + strings.Join(wanted, " or ") + ", not both"
			return f
		}
	}
	if len(wanted) == 0 {
		return f
	}
	f.missing = strings.Join(wanted, " or ")
	f.detail = "expected " + f.missing
	f.path += "/" + wanted[0]
	// The description at the place itself precedes that of the definition it refers to.
	for s := schema.Properties[wanted[0]]; s != nil && f.advice == ""; s = s.Ref {
		f.advice = s.Description
	}
	return f
}

// Alternatives returns the fields of which a document needs one.
func Alternatives(s *jsonschema.Schema) []string {
	var fields []string
	for _, s := range slices.Concat(s.AnyOf, s.OneOf) {
		fields = append(fields, s.Required...)
	}
	return fields
}

// walk returns the schema at a path, with references followed; nil if the
// schema has no entry for that place.
func walk(s *jsonschema.Schema, path []string) *jsonschema.Schema {
	for _, key := range path {
		s = resolve(s)
		if s == nil {
			return nil
		}
		property := s.Properties[key]
		if property == nil {
			property, _ = s.AdditionalProperties.(*jsonschema.Schema)
		}
		if property == nil {
			property = s.Items2020
		}
		s = property
	}
	return resolve(s)
}

func resolve(s *jsonschema.Schema) *jsonschema.Schema {
	for s != nil && s.Ref != nil {
		s = s.Ref
	}
	return s
}

// find returns the value at a path.
func find(v protocol.Value, path []string) protocol.Value {
	for _, key := range path {
		if v.Type() == protocol.TypeArray {
			v = element(v, key)
		} else {
			v = v.Get(key)
		}
	}
	return v
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

// Words lists the values that an enum allows, except null and empty ones.
func Words(s *jsonschema.Schema) []string {
	words := make([]string, 0, len(s.Enum))
	for _, w := range s.Enum {
		if w != nil && w != "" {
			words = append(words, fmt.Sprint(w))
		}
	}
	return words
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
