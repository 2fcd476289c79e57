package capability

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"sync"
)

// The oracle decides from the JSON of the capabilities alone, slowly and
// plainly, and shares no code with the package. It is written along the table
// in the package's documentation.

type oracleRequest struct {
	kind    string
	payload any // decoded with json.Number
	to      []string
	context string
}

// oracleDecide judges a list of decoded capabilities.
func oracleDecide(caps []any, r oracleRequest) bool {
	allowed := false
	for _, c := range caps {
		if !oracleMatch(c, r) {
			continue
		}
		if oracleDenies(c) {
			return false
		}
		allowed = true
	}
	return allowed
}

func oracleDenies(c any) bool {
	m, ok := c.(map[string]any)
	return ok && m["deny"] == true
}

func oracleMatch(c any, r oracleRequest) bool {
	if s, ok := c.(string); ok {
		return oracleKind(s, r.kind)
	}
	m, deny := c.(map[string]any), oracleDenies(c)
	if !oracleKind(m["kind"].(string), r.kind) {
		return false
	}
	if p, ok := m["to"]; ok && !oracleTo(p, r.to, deny) {
		return false
	}
	if p, ok := m["context"]; ok && !oracleContext(p, r.context, deny) {
		return false
	}
	if p, ok := m["payload"]; ok && !oracleValue(p, r.payload, deny) {
		return false
	}
	return true
}

// canonical writes the first separator of a kind or pattern as a dot.
func canonical(s string) string {
	if i := strings.IndexAny(s, "./"); i >= 0 {
		return s[:i] + "." + s[i+1:]
	}
	return s
}

func oracleKind(pattern, kind string) bool {
	if rest, ok := strings.CutPrefix(pattern, "!"); ok {
		return !oracleKind(rest, kind)
	}
	if len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
		re := cachedRegexp(pattern[1 : len(pattern)-1])
		return re.MatchString(kind) || re.MatchString(strings.Replace(kind, ".", "/", 1))
	}
	if pattern == "*" || pattern == "**" {
		return true
	}
	p := canonical(pattern)
	if p == "reasoning.step" {
		switch kind {
		case "reasoning.start", "reasoning.conclusion", "reasoning.cancel":
			return false
		}
		return strings.HasPrefix(kind, "reasoning.")
	}
	if strings.Contains(p, ".") != strings.Contains(kind, ".") {
		return false
	}
	pp, kp := strings.SplitN(p, ".", 2), strings.SplitN(kind, ".", 2)
	for i := range pp {
		if !cachedRegexp("^" + strings.ReplaceAll(regexp.QuoteMeta(pp[i]), `\*`, ".*") + "$").MatchString(kp[i]) {
			return false
		}
	}
	return true
}

var regexps sync.Map

func cachedRegexp(s string) *regexp.Regexp {
	if re, ok := regexps.Load(s); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(s)
	regexps.Store(s, re)
	return re
}

// oracleText reports whether one text satisfies a pattern without negation.
func oracleText(p, s string) bool {
	if len(p) > 2 && p[0] == '/' && p[len(p)-1] == '/' {
		return cachedRegexp(p[1 : len(p)-1]).MatchString(s)
	}
	return cachedRegexp(globExpression(p)).MatchString(s)
}

func globExpression(p string) string {
	var b strings.Builder
	b.WriteString(`\A`)
	for i := 0; i < len(p); {
		stars := 0
		for i+stars < len(p) && p[i+stars] == '*' {
			stars++
		}
		switch stars {
		case 0:
			end := i
			for end < len(p) && p[end] != '*' {
				end++
			}
			b.WriteString(regexp.QuoteMeta(p[i:end]))
			i = end
		case 1:
			b.WriteString(`[^/]*`)
		default:
			b.WriteString(`(?s:.*)`)
		}
		i += stars
	}
	b.WriteString(`\z`)
	return b.String()
}

// tooLong reports whether a pattern is a regexp and the text exceeds its limit.
func tooLong(p, s string) bool {
	p = strings.TrimPrefix(p, "!")
	return len(p) > 2 && p[0] == '/' && p[len(p)-1] == '/' && len(s) > 64<<10
}

// oracleHolds is oracleText with negation.
func oracleHolds(p, s string, deny bool) bool {
	if tooLong(p, s) {
		return deny
	}
	rest, negated := strings.CutPrefix(p, "!")
	if !deny && strings.Contains(rest, "*") && strings.Trim(rest, "*") != "" && !(len(rest) > 2 && rest[0] == '/' && rest[len(rest)-1] == '/') && oracleClimbs.MatchString(s) {
		return false
	}
	return oracleText(rest, s) != negated
}

// oracleClimbs finds a text with a segment "..".
var oracleClimbs = regexp.MustCompile(`(?i)(^|[/\\?#%=:,;"'\s])(\.|%2e){2}($|[/\\?#%=:,;"'\s])`)

func oracleTo(p any, to []string, deny bool) bool {
	alts, array := p.([]any)
	if !array {
		alts = []any{p}
	}
	negated := false
	for _, a := range alts {
		negated = negated || strings.HasPrefix(a.(string), "!")
	}
	if len(to) == 0 {
		return deny && negated
	}
	count := 0
	for _, id := range to {
		for _, a := range alts {
			if oracleHolds(a.(string), id, deny) {
				count++
				break
			}
		}
	}
	if !deny && (array || negated) {
		return count == len(to)
	}
	return count > 0
}

func oracleContext(p any, context string, deny bool) bool {
	if alts, ok := p.([]any); ok {
		for _, a := range alts {
			if oracleContext(a, context, deny) {
				return true
			}
		}
		return false
	}
	body, negated := strings.CutPrefix(p.(string), "!")
	switch {
	case body == "":
		return (context == "") != negated
	case context == "":
		return deny && negated
	}
	within := false
	segments := strings.Split(context, "/")
	for i := range segments {
		within = within || oracleText(body, strings.Join(segments[:i+1], "/"))
	}
	return within != negated
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// oracleValue reports whether a present value matches.
func oracleValue(p, v any, deny bool) bool {
	if p == "**" {
		return true
	}
	list, isList := v.([]any)
	if !isList {
		return oracleSingle(p, v, deny)
	}
	if m, ok := p.(map[string]any); ok && oracleFields(m, v, deny, true) {
		return true
	}
	if deny {
		for _, e := range list {
			if oracleValue(p, e, true) {
				return true
			}
		}
		return len(list) == 0 && p != "!**" && oracleAbsent(p)
	}
	switch p.(type) {
	case []any, string:
	default:
		return false
	}
	count := 0
	for _, e := range list {
		if oracleElement(p, e) {
			count++
		}
	}
	return count > 0 && count == len(list)
}

// oracleElement matches an element of an array for an allowing rule.
func oracleElement(p, e any) bool {
	if _, nested := e.([]any); !nested {
		return oracleValue(p, e, false)
	}
	switch p := p.(type) {
	case string:
		return p == "**"
	case map[string]any:
		return oracleFields(p, e, false, true)
	case []any:
		for _, a := range p {
			if oracleElement(a, e) {
				return true
			}
		}
	}
	return false
}

func oracleSingle(p, v any, deny bool) bool {
	switch p := p.(type) {
	case string:
		s, isText := v.(string)
		switch {
		case p == "**":
			return true
		case p == "*":
			return !isContainer(v)
		case p == "!**":
			return false
		case p == "!*":
			return deny && isContainer(v)
		case isText:
			return oracleHolds(p, s, deny)
		}
		return deny && strings.HasPrefix(p, "!")
	case json.Number:
		n, ok := v.(json.Number)
		return ok && oracleNumber(p).Cmp(oracleNumber(n)) == 0
	case []any:
		for _, a := range p {
			if oracleValue(a, v, deny) {
				return true
			}
		}
		return false
	case map[string]any:
		return oracleFields(p, v, deny, true)
	}
	return p == v
}

func oracleNumber(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		panic("not a number: " + string(n))
	}
	return r
}

// oracleAbsent reports whether a deny rule matches an absent value.
func oracleAbsent(p any) bool {
	switch p := p.(type) {
	case string:
		return strings.HasPrefix(p, "!")
	case []any:
		for _, a := range p {
			if oracleAbsent(a) {
				return true
			}
		}
	case map[string]any:
		for k, q := range p {
			steps := oracleSteps(k)
			for _, s := range steps {
				if s[0] != 'n' && s[0] != 'i' {
					return false
				}
			}
			if !oracleAbsent(q) {
				return false
			}
		}
		return len(p) > 0
	}
	return false
}

// oracleFields matches the fields of an object. absent: absence may count.
func oracleFields(p map[string]any, v any, deny, absent bool) bool {
	if len(p) == 0 {
		_, ok := v.(map[string]any)
		return ok
	}
	for k, q := range p {
		if !oracleField(oracleSteps(k), q, v, deny, absent) {
			return false
		}
	}
	return true
}
