package reasoner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// conditions is a list of conditions that must all hold. In JSON it is a single
// condition or a list.
//
// A condition is PATH, which holds if the value exists and is not false, 0,
// empty or null; !PATH, its negation; or PATH OP VALUE with a JSON value and
// one of == != < <= > >= contains. PATH begins with outputs, params or memory.
type conditions []string

// maxChecks bounds the conditions that one transition evaluates.
const maxChecks = 1000

// UnmarshalJSON accepts a string, a list or null.
func (c *conditions) UnmarshalJSON(raw []byte) error {
	var one string
	if isNull(raw) {
		return nil
	}
	if json.Unmarshal(raw, &one) == nil {
		*c = conditions{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(c))
}

// hold reports whether all conditions hold. It also returns the first one that
// does not, or all of them if they hold.
func (c conditions) hold(v *values) (holds bool, which string, err error) {
	for _, text := range c {
		v.checks++
		if v.checks > maxChecks {
			return false, "", Invalid(definitionPath, fmt.Sprintf("There are more than %d conditions between this node and the next: remove some.", maxChecks))
		}
		holds, err := holdsOne(text, v)
		if err != nil {
			return false, "", Invalid(definitionPath, fmt.Sprintf("The condition %s is invalid: %v.", quoted(text), err))
		}
		if !holds {
			return false, quoted(text), nil
		}
	}
	list := make([]string, len(c))
	for i, text := range c {
		list[i] = quoted(text)
	}
	return true, strings.Join(list, " and "), nil
}

func holdsOne(text string, v *values) (bool, error) {
	path, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	path, negated := strings.CutPrefix(path, "!")
	if root, _, _ := strings.Cut(path, "."); root != "outputs" && root != "params" && root != "memory" {
		return false, errors.New("expected a path that begins with outputs, params or memory")
	}
	have, _ := v.lookup(path)
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return truthy(have) != negated, nil
	}
	if negated {
		return false, errors.New("expected nothing after !PATH")
	}
	op, raw, _ := strings.Cut(rest, " ")
	if !json.Valid([]byte(raw)) {
		return false, errors.New("expected a JSON value after the operator, with text in quotation marks")
	}
	want := decoded(json.RawMessage(raw))
	switch op {
	case "==":
		return equal(have, want), nil
	case "!=":
		return !equal(have, want), nil
	case "contains":
		return contains(have, want), nil
	case "<", "<=", ">", ">=":
		a, okA := number(have)
		b, okB := number(want)
		if !okA || !okB {
			return false, nil // values that are not numbers are unordered
		}
		switch op {
		case "<":
			return a < b, nil
		case "<=":
			return a <= b, nil
		case ">":
			return a > b, nil
		}
		return a >= b, nil
	}
	return false, errors.New("expected one of == != < <= > >= contains after the path")
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		x, okX := number(a)
		y, okY := number(b)
		return okX && okY && x == y
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b // null, booleans and text
}

func contains(have, want any) bool {
	switch have := have.(type) {
	case string:
		s, ok := want.(string)
		return ok && strings.Contains(have, s)
	case []any:
		for _, x := range have {
			if equal(x, want) {
				return true
			}
		}
	case map[string]any:
		s, ok := want.(string)
		_, there := have[s]
		return ok && there
	}
	return false
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	return f, err == nil
}

func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, ok := number(v)
		return !ok || f != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}
