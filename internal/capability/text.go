package capability

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// mode is how a pattern is read.
type mode uint8

const (
	modeAllow mode = 0
	modeDeny  mode = 1 << 0 // a possible match is a match
	modeDeep  mode = 1 << 1 // below "**": absence matches nothing
)

// work is the number of steps that a decision may still take, so that many
// patterns over a large payload cannot stop the gateway. At zero, allowing rules
// match nothing and deny rules everything. A step takes about 20 ns.
type work struct{ left int }

// newWork returns the steps for deciding on r. They grow with its payload,
// which its sender is charged for.
func newWork(r *Request) work {
	return work{left: baseWork + workPerByte*len(r.Payload.Raw())}
}

func (w *work) spend(n int) bool {
	w.left -= n
	return w.left >= 0
}

func (m mode) deny() bool { return m&modeDeny != 0 }

type textClass uint8

const (
	textExact textClass = iota
	textGlob
	textRegexp
	textAny // "*" and "**"
)

// text is a compiled text pattern.
type text struct {
	class  textClass
	negate bool
	exact  string // textExact, and the source of a textRegexp
	glob   glob   // textGlob
	prefix string // textGlob: literal prefix of its texts
	re     *regexp.Regexp
	weight int // steps for 64 bytes of text
}

// parseText compiles a text pattern.
func (b *budget) parseText(s string) (text, error) {
	var t text
	body := s
	if rest, ok := strings.CutPrefix(s, "!"); ok {
		if strings.HasPrefix(rest, "!") {
			return text{}, errors.New("a negation cannot be negated")
		}
		t.negate, body = true, rest
	}
	if source, ok := regexpSource(body); ok {
		re, size, err := b.compileRegexp(source)
		if err != nil {
			return text{}, err
		}
		t.class, t.exact, t.re, t.weight = textRegexp, source, re, 16*size
		return t, nil
	}
	if !hasStar(body) {
		t.exact = body
		return t, nil
	}
	if len(body) > MaxTextBytes {
		return text{}, fmt.Errorf("a glob has at most %d bytes", MaxTextBytes)
	}
	t.class, t.glob, t.prefix = textGlob, compileGlob(body), body[:strings.IndexByte(body, '*')]
	t.weight = 4 * len(t.glob)
	if len(t.glob) == 1 {
		t.class = textAny
	}
	return t, nil
}

// regexpSource returns the text between the slashes of "/…/".
func regexpSource(s string) (string, bool) {
	if len(s) < 3 || s[0] != '/' || s[len(s)-1] != '/' {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// compileRegexp compiles a stranger's regexp within the bounds: RE2 matches in
// time proportional to text and program, so the program must stay small.
func (b *budget) compileRegexp(source string) (re *regexp.Regexp, size int, err error) {
	if len(source) > MaxTextBytes {
		return nil, 0, fmt.Errorf("a regexp has at most %d bytes", MaxTextBytes)
	}
	if b.regexps++; b.regexps > MaxRegexps {
		return nil, 0, fmt.Errorf("a capability has at most %d regexps", MaxRegexps)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, err
	}
	if len(prog.Inst) > maxProgram {
		return nil, 0, errors.New("the regexp is too large; count fewer repetitions")
	}
	b.program += len(prog.Inst)
	re, err = regexp.Compile(source)
	return re, len(prog.Inst), err
}

// matches reports whether the pattern, negation aside, matches s.
func matches[T string | []byte](t *text, s T) bool {
	switch t.class {
	case textExact:
		return string(s) == t.exact
	case textGlob:
		return globMatch(t.glob, s)
	case textRegexp:
		if b, ok := any(s).([]byte); ok {
			return t.re.Match(b)
		}
		return t.re.MatchString(string(s))
	}
	return true
}

// holds reports whether the pattern, negation included, holds for s. A glob whose
// prefix s does not have ends at once.
func holds[T string | []byte](t *text, s T, m mode, w *work) bool {
	steps := 1
	if len(s) >= len(t.prefix) && string(s[:len(t.prefix)]) == t.prefix {
		steps += len(s) * t.weight / 64
	}
	if t.class == textRegexp && len(s) > maxRegexpText || !w.spend(steps) {
		return m.deny()
	}
	return matches(t, s) != t.negate
}

// holdsValue is holds for a JSON string. It copies the text only if that was
// written with escapes.
func (t *text) holdsValue(v protocol.Value, m mode, w *work) bool {
	if b, ok := v.Plain(); ok {
		return holds(t, b, m, w)
	}
	return holds(t, v.Text(), m, w)
}
