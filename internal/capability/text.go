package capability

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/kit/glob"
)

// Mode is how a pattern is read.
type Mode uint8

// The readings of an allowing rule, and of a deny rule, for which a possible match
// is a match.
const (
	modeAllow Mode = 0
	modeDeny  Mode = 1 << 0
	modeDeep  Mode = 1 << 1 // below "**": absence matches nothing
	// modeCommand is the mode of an allowing rule for a call whose arguments have a command, by one of
	// commandKeys, which a shell may run.
	modeCommand Mode = 1 << 2
	// modeSeen beside modeDeny: what may be there but cannot be seen, such as the commands that a
	// program runs, is no match.
	modeSeen Mode = 1 << 3
)

// commandKeys are the names of the arguments in which tools take the command of a shell.
var commandKeys = []string{"command", "commands", "cmd", "cmds", "command_line", "commandLine", "shell_command", "shellCommand", "shell", "script", "scripts"}

func (m Mode) deny() bool { return m&modeDeny != 0 }

// Work has the steps that a decision may still take, so that many patterns over a large
// payload cannot stop the gateway. Below zero, allowing rules match nothing and deny rules
// everything. A step takes about 20 ns.
type Work struct {
	left      int
	unbounded bool           // as [Request.Unbounded]
	place     argument.Place // of the paths in the request
	// The command that was parsed last, which several rules match.
	text    string
	command *argument.Command
}

// Spend takes n steps and reports whether they were left.
func (w *Work) Spend(n int) bool {
	w.left -= n
	return w.left >= 0
}

// parse parses a command, and reports whether the steps for that were left.
func (w *Work) parse(text string) (*argument.Command, bool) {
	if w.command != nil && w.text == text {
		return w.command, w.Spend(1)
	}
	if !w.Spend(100 + 6*min(len(text), argument.MaxCommand)) {
		return nil, false
	}
	w.text, w.command = text, argument.Parse(text)
	return w.command, true
}

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
	exact  string    // textExact, and the source of a textRegexp
	glob   glob.Glob // textGlob
	prefix string    // textGlob: literal prefix of its texts
	re     *regexp.Regexp
	weight int // steps for 64 bytes of text
}

// parseText compiles a text pattern.
func (p *patternParser) parseText(s string) (text, error) {
	var t text
	body := s
	if rest, ok := strings.CutPrefix(s, "!"); ok {
		if strings.HasPrefix(rest, "!") {
			return text{}, errors.New("a negation cannot be negated")
		}
		t.negate, body = true, rest
	}
	if source, ok := regexpSource(body); ok {
		re, size, err := p.compileRegexp(source)
		if err != nil {
			return text{}, err
		}
		t.class, t.exact, t.re, t.weight = textRegexp, source, re, 16*size
		return t, nil
	}
	if !glob.HasStar(body) {
		t.exact = body
		return t, nil
	}
	if len(body) > maxTextBytes {
		return text{}, fmt.Errorf("a glob has at most %d bytes", maxTextBytes)
	}
	t.class, t.glob, t.prefix = textGlob, glob.Compile(body), body[:strings.IndexByte(body, '*')]
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
func (p *patternParser) compileRegexp(source string) (re *regexp.Regexp, size int, err error) {
	if len(source) > maxTextBytes {
		return nil, 0, fmt.Errorf("a regexp has at most %d bytes", maxTextBytes)
	}
	p.regexps++
	if p.regexps > maxRegexps {
		return nil, 0, fmt.Errorf("a capability has at most %d regexps", maxRegexps)
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
	p.Program += len(prog.Inst)
	re, err = regexp.Compile(source)
	return re, len(prog.Inst), err
}

// matches reports whether the pattern, negation aside, matches s.
func matches[T string | []byte](t *text, s T) bool {
	switch t.class {
	case textExact:
		return string(s) == t.exact
	case textGlob:
		return glob.Match(t.glob, s)
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
func holds[T string | []byte](t *text, s T, m Mode, w *Work) bool {
	steps := 1
	if len(s) >= len(t.prefix) && string(s[:len(t.prefix)]) == t.prefix {
		steps += len(s) * t.weight / 64
	}
	if t.negate {
		steps += len(s) / 64
	}
	if t.class == textRegexp && len(s) > maxRegexpText && !w.unbounded || !w.Spend(steps) {
		return m.deny() && m&modeSeen == 0
	}
	return matches(t, s) != t.negate && !(t.class == textGlob && !m.deny() && uncertain(s, m))
}

// uncertain reports whether a text may name another file or run another command than the one it
// looks like, so that no glob of an allowing rule says anything about it.
func uncertain[T string | []byte](s T, m Mode) bool {
	for i := range len(s) {
		if m&modeCommand != 0 && strings.IndexByte(";&|<>$`()\n\r", s[i]) >= 0 {
			return true
		}
		if i > 0 && !isEdge(s[i-1]) {
			continue
		}
		first := dot(s[i:])
		if first == 0 {
			continue
		}
		if second := dot(s[i+first:]); second > 0 && (i+first+second == len(s) || isEdge(s[i+first+second])) {
			return true
		}
	}
	return false
}

// dot returns the length of the dot with which a text begins, as URLs may write it; 0: none.
func dot[T string | []byte](s T) int {
	switch {
	case len(s) > 0 && s[0] == '.':
		return 1
	case len(s) > 2 && s[0] == '%' && s[1] == '2' && s[2]|0x20 == 'e':
		return 3
	}
	return 0
}

// isEdge reports whether a segment of a path may begin or end at the byte.
func isEdge(c byte) bool { return strings.IndexByte("/\\?#%=:,;\"' \t\n\r", c) >= 0 }
