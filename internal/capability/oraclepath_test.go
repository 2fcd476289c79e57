package capability

import (
	"regexp"
	"strconv"
	"strings"
)

var pathStep = regexp.MustCompile(`^(?:(\.\.)|\.?\*|\.?([\w-]+)|\[(\*)\]|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\])`)

// oracleSteps takes a key apart: n a name, g a glob, i an index, c any child,
// d anything below.
func oracleSteps(key string) []string {
	switch {
	case key == "**":
		return []string{"d"}
	case !strings.HasPrefix(key, "$") && strings.Contains(key, "*"):
		return []string{"g" + key}
	case !strings.HasPrefix(key, "$"):
		return []string{"n" + key}
	}
	var out []string
	for rest := key[1:]; rest != ""; {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			panic("path " + key + " at " + rest)
		}
		rest = rest[len(m[0]):]
		switch {
		case m[1] != "":
			out = append(out, "d")
		case m[2] != "":
			out = append(out, "n"+m[2])
		case m[4] != "":
			out = append(out, "i"+m[4])
		case strings.HasSuffix(m[0], "*") || m[3] != "":
			out = append(out, "c")
		default:
			out = append(out, "n"+m[5]+m[6])
		}
	}
	return out
}

// oracleField follows steps into v and matches the value. absence: in a deny
// rule, an absent value counts as a match.
func oracleField(steps []string, q, v any, deny, absence bool) bool {
	if steps[0] == "d" {
		return oracleBelow(steps[1:], q, v, deny)
	}
	found := oracleChildren(steps[0], v, deny)
	for _, x := range found {
		if oracleRest(steps[1:], q, x, deny, absence) {
			return true
		}
	}
	if len(found) > 0 || !deny || !absence {
		return false
	}
	for _, s := range steps {
		if s[0] != 'n' && s[0] != 'i' {
			return false
		}
	}
	return oracleAbsent(q)
}

// oracleRest matches x with the remaining steps. In a deny rule every element of
// an array may match in place of the array.
func oracleRest(steps []string, q, x any, deny, absence bool) bool {
	if len(steps) == 0 {
		if absence {
			return oracleValue(q, x, deny)
		}
		return oracleDeepValue(q, x, deny)
	}
	if oracleField(steps, q, x, deny, absence) {
		return true
	}
	if list, ok := x.([]any); ok && deny {
		for _, e := range list {
			if oracleRest(steps, q, e, deny, absence) {
				return true
			}
		}
	}
	return false
}

func oracleChildren(step string, v any, deny bool) []any {
	var out []any
	list, _ := v.([]any)
	if step[0] == 'i' {
		n, _ := strconv.Atoi(step[1:])
		if n < len(list) {
			out = append(out, list[n])
		}
	}
	if step[0] == 'c' {
		out = append(out, list...)
	}
	members, _ := v.(map[string]any)
	for k, x := range members {
		name := step[1:]
		if deny {
			k, name = strings.ToLower(k), strings.ToLower(name)
		}
		switch {
		case step[0] == 'c',
			step[0] == 'n' && k == name,
			step[0] == 'g' && cachedRegexp("(?s)^"+strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*")+"$").MatchString(k):
			out = append(out, x)
		}
	}
	return out
}

// oracleBelow looks at v and at everything below it.
func oracleBelow(steps []string, q, v any, deny bool) bool {
	if len(steps) > 0 {
		if isContainer(v) && oracleField(steps, q, v, deny, false) {
			return true
		}
	} else if oracleNode(q, v, deny) {
		return true
	}
	for _, x := range oracleChildren("c", v, deny) {
		if oracleBelow(steps, q, x, deny) {
			return true
		}
	}
	return false
}

func oracleNode(q, v any, deny bool) bool {
	switch q := q.(type) {
	case []any:
		for _, a := range q {
			if oracleNode(a, v, deny) {
				return true
			}
		}
		return false
	case map[string]any:
		return isContainer(v) && oracleFields(q, v, deny, false)
	}
	return q == "**" || !isContainer(v) && oracleSingle(q, v, deny)
}

// oracleDeepValue is oracleValue for values that are present: only objects inside
// the pattern and empty arrays differ.
func oracleDeepValue(q, x any, deny bool) bool {
	if !deny {
		return oracleValue(q, x, false)
	}
	if list, ok := x.([]any); ok && q != "**" {
		if m, isObject := q.(map[string]any); isObject && oracleFields(m, x, true, false) {
			return true
		}
		for _, e := range list {
			if oracleDeepValue(q, e, true) {
				return true
			}
		}
		return false
	}
	switch q := q.(type) {
	case map[string]any:
		return oracleFields(q, x, true, false)
	case []any:
		for _, a := range q {
			if oracleDeepValue(a, x, true) {
				return true
			}
		}
		return false
	}
	return oracleSingle(q, x, true)
}
