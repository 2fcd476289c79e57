package protocol

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// KindPattern selects kinds, in capabilities, filters and limits. Section 7.
//
// A pattern is a kind ("mcp.request"), a glob ("reasoning/*"; "*" alone selects
// every kind), a negation ("!chat"), or a regular expression between slashes
// ("/^x\\./", RE2). "reasoning/step" selects every reasoning kind except start,
// conclusion and cancel. Kinds and patterns may be written with a dot or a
// slash; a regular expression is matched against both spellings.
type KindPattern struct {
	source string
	negate bool
	class  kindClass
	kind   Kind           // classExact
	ns     string         // classGlob
	name   string         // classGlob
	named  bool           // classGlob: contains a separator, followed by a name
	re     *regexp.Regexp // classRegexp
	steps  int            // classRegexp: in its program
}

type kindClass uint8

const (
	classNone kindClass = iota
	classExact
	classAll
	classStep
	classGlob
	classRegexp
)

// ParseKindPattern compiles a pattern.
func ParseKindPattern(s string) (KindPattern, error) {
	p := KindPattern{source: s}
	body := s
	if strings.HasPrefix(body, "!") {
		p.negate, body = true, body[1:]
	}
	if len(s) > maxPatternBytes {
		return KindPattern{}, fmt.Errorf("kind pattern %.40q…: longer than %d bytes", s, maxPatternBytes)
	}
	if len(body) >= 3 && body[0] == '/' && body[len(body)-1] == '/' {
		compiled, steps, err := compileSmall(body[1 : len(body)-1])
		if err != nil {
			return KindPattern{}, fmt.Errorf("kind pattern %q: %w", s, err)
		}
		p.class, p.re, p.steps = classRegexp, compiled, steps
		return p, nil
	}
	if strings.Contains(body, "*") {
		if _, ok := ParseKind(strings.ReplaceAll(body, "*", "x")); !ok {
			return KindPattern{}, fmt.Errorf("kind pattern %q: a glob is made of A-Z a-z 0-9 . _ : - / and *", s)
		}
		if body == "*" || body == "**" {
			p.class = classAll
			return p, nil
		}
		p.class = classGlob
		p.ns, p.name, p.named = strings.Cut(canonicalSeparator(body), ".")
		return p, nil
	}
	kind, ok := ParseKind(body)
	if !ok {
		return KindPattern{}, fmt.Errorf("kind pattern %q: a kind is 1 to %d of A-Z a-z 0-9 . _ : - and /", s, MaxKindBytes)
	}
	p.class, p.kind = classExact, kind
	if kind == "reasoning.step" {
		p.class = classStep
	}
	return p, nil
}

// Bounds of a pattern. Patterns also come from clients and are matched against
// every envelope, and a few bytes ("a{1000}") can compile to many steps.
const (
	maxPatternBytes = 256
	maxPatternSteps = 500
)

func compileSmall(re string) (compiled *regexp.Regexp, steps int, err error) {
	tree, err := syntax.Parse(re, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, err
	}
	if len(program.Inst) > maxPatternSteps {
		return nil, 0, errors.New("the expression is too large")
	}
	compiled, err = regexp.Compile(re)
	return compiled, len(program.Inst), err
}

// Match reports whether the pattern selects the kind. The zero KindPattern
// selects nothing.
func (p *KindPattern) Match(k Kind) bool {
	switch p.class {
	case classExact:
		return (k == p.kind) != p.negate
	case classAll:
		return !p.negate
	case classStep:
		return k.IsStep() != p.negate
	case classGlob:
		ns, name, named := strings.Cut(string(k), ".")
		return (named == p.named && matchStars(p.ns, ns) && matchStars(p.name, name)) != p.negate
	case classRegexp:
		slash := k.Slash()
		return (p.re.MatchString(string(k)) || slash != string(k) && p.re.MatchString(slash)) != p.negate
	}
	return false
}

// matchStars matches a glob in which every run of stars matches any text.
func matchStars(pattern, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == s[j]:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}

// String returns the pattern as it was written.
func (p *KindPattern) String() string { return p.source }

// Slash returns the pattern with a slash as its first separator, for dialects
// that spell kinds with a slash. Regular expressions are unchanged.
func (p *KindPattern) Slash() string {
	if p.class == classRegexp {
		return p.source
	}
	return Kind(canonicalSeparator(p.source)).Slash()
}

// Literal returns the kind if the pattern selects exactly one.
func (p *KindPattern) Literal() (Kind, bool) {
	return p.kind, p.class == classExact && !p.negate
}
