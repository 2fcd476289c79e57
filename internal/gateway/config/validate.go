package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/schemas"
)

// validate reports the violations of schemas/config.schema.json and marks the
// invalid values. It quotes keys, but no value, which may be a misplaced token.
func (r *report) validate(root *node) {
	var incomplete []schemas.Violation
	for _, v := range schemas.Config(root.value) {
		switch {
		case v.Schema != nil && (strings.HasSuffix(v.Schema.Location, "/capability") || strings.HasSuffix(v.Schema.Location, "/call")):
			// Package capability checks these, with better messages.
		case v.Keyword == "required" || v.Keyword == "oneOf":
			incomplete = append(incomplete, v)
		default:
			if m, last := root.follow(v.Path, true); !last.invalid {
				r.violation(m, v)
			}
		}
	}
	// A key that is missing may be misspelled, which has been reported.
	for _, v := range incomplete {
		if m, last := root.follow(v.Path, false); !last.faulty {
			r.violation(m, v)
		}
	}
}

// follow returns the entry at a path, and its value. It optionally marks the
// values on the way as faulty. The schema library omits empty keys from paths;
// then the result is the last value that exists.
func (n *node) follow(path []string, faulty bool) (member, *node) {
	m := member{value: n}
	n.faulty = n.faulty || faulty
	for _, key := range path {
		next := m.value.member(key)
		if next.value == nil {
			break
		}
		m = next
		m.value.faulty = m.value.faulty || faulty
	}
	return m, m.value
}

func (r *report) violation(m member, v schemas.Violation) {
	n := m.value
	switch v.Keyword {
	case "additionalProperties":
		known := slices.Sorted(maps.Keys(v.Schema.Properties))
		for _, m := range n.members {
			if !slices.Contains(known, m.key.text) {
				r.errorf(m.key, "unknown key %q; %s", textutil.Shorten(m.key.text, 40), textutil.Suggest(m.key.text, known))
			}
		}
		return // the other keys are valid
	case "propertyNames":
		r.errorf(m.key, "%q is not %s", textutil.Shorten(m.key.text, 40), v.Schema.Description)
		return
	case "required", "oneOf":
		at := n
		if m.key != nil {
			at = m.key
		}
		if one := schemas.Alternatives(v.Schema); len(one) > 0 {
			r.errorf(at, "%s needs exactly one of %s", n.name(), strings.Join(one, ", "))
			return
		}
		missing := slices.DeleteFunc(slices.Clone(v.Schema.Required), func(key string) bool { return n.get(key) != nil })
		r.errorf(at, "%s needs %s", n.name(), strings.Join(missing, " and "))
		return
	}
	n.invalid = true
	r.errorf(n, "%s must be %s", n.name(), expected(v, n))
}

// name returns the path for a message.
func (n *node) name() string {
	if n.path == "" {
		return "the file"
	}
	return n.path
}

// expected describes the values that a schema allows.
func expected(v schemas.Violation, n *node) string {
	s := v.Schema
	switch v.Keyword {
	case "type":
		want := typeNames[s.Types[0]]
		if s.Types[0] == "string" && len(n.members) == 0 && n.value != nil {
			return fmt.Sprintf("%s, not %s; put it in quotes", want, n.typeName())
		}
		return fmt.Sprintf("%s, not %s", want, n.typeName())
	case "enum":
		words := schemas.Words(s)
		text := "one of " + strings.Join(words, ", ")
		if len(words) == 1 {
			text = words[0]
		}
		if n.text != "" {
			text += fmt.Sprintf(", not %q", textutil.Shorten(n.text, 40))
		}
		if hint := textutil.Suggest(n.text, words); n.value == n.text && strings.HasPrefix(hint, "did") {
			text += "; " + hint
		}
		return text
	case "minimum", "maximum":
		if s.Minimum != nil && s.Maximum != nil {
			least, _ := s.Minimum.Float64()
			return fmt.Sprintf("from %s to %s", strconv.FormatFloat(least, 'f', -1, 64), s.Maximum.RatString())
		}
		return "at least " + s.Minimum.RatString()
	}
	// The first sentence of a description is a noun phrase.
	text, _, _ := strings.Cut(strings.TrimSuffix(s.Description, "."), ". ")
	if len(text) > 1 && text[1] == strings.ToLower(text)[1] {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

var typeNames = map[string]string{
	"null": "nothing", "boolean": "a boolean", "integer": "a whole number", "number": "a number",
	"string": "text", "array": "a list", "object": "a mapping",
}

func (n *node) typeName() string {
	switch n.value.(type) {
	case bool:
		return typeNames["boolean"]
	case int64:
		return typeNames["integer"]
	case float64:
		return typeNames["number"]
	case string:
		return typeNames["string"]
	case []any:
		return typeNames["array"]
	case map[string]any:
		return typeNames["object"]
	}
	return typeNames["null"]
}
