package capability

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

// kindPattern is the pattern of a capability's kind.
type kindPattern struct {
	protocol.KindPattern
	weight int // steps for a byte of a kind; 0 but for a regexp
}

// Spend charges for a match with a kind of n bytes.
func (a *kindPattern) Spend(n int, w *Work) bool { return a.weight == 0 || w.Spend(n*a.weight) }

// IsCheap reports whether a match costs nothing.
func (a *kindPattern) IsCheap() bool { return a.weight == 0 }

// Covers reports whether a selects every kind that b selects.
func (a *kindPattern) Covers(b *kindPattern) bool {
	if kind, ok := b.Literal(); ok {
		return a.Match(kind)
	}
	x, y := canonicalKind(a), canonicalKind(b)
	if x == y || x == "*" || x == "**" {
		return true
	}
	if y == "*" || y == "**" {
		return false
	}
	if x[0] == '!' && y[0] != '!' && !strings.HasSuffix(x, "/") {
		excluded, err := protocol.ParseKindPattern(x[1:])
		return err == nil && (&kindPattern{KindPattern: excluded}).Apart(b)
	}
	if y == "reasoning.step" {
		y = "reasoning.*"
	}
	xs, xName, xNamed := strings.Cut(x, ".")
	ys, yName, yNamed := strings.Cut(y, ".")
	return isKindGlob(x) && isKindGlob(y) && xNamed == yNamed &&
		glob.CompileFlat(xs).Covers(glob.CompileFlat(ys)) && glob.CompileFlat(xName).Covers(glob.CompileFlat(yName))
}

// Apart reports whether clearly no kind is selected by both.
func (a *kindPattern) Apart(b *kindPattern) bool {
	if kind, ok := a.Literal(); ok {
		return !b.Match(kind)
	}
	if kind, ok := b.Literal(); ok {
		return !a.Match(kind)
	}
	x, y := canonicalKind(a), canonicalKind(b)
	xs, _, xNamed := strings.Cut(x, ".")
	ys, _, yNamed := strings.Cut(y, ".")
	return isKindGlob(x) && isKindGlob(y) && xNamed && yNamed && !glob.HasStar(xs) && !glob.HasStar(ys) && xs != ys
}

// canonicalKind returns the text of a pattern with a dot as its first
// separator; a regexp as it is.
func canonicalKind(p *kindPattern) string {
	s := p.String()
	if i := strings.IndexAny(s, "./"); i > 0 && s[i] == '/' && s[0] != '!' {
		return s[:i] + "." + s[i+1:]
	}
	return s
}

// isKindGlob reports whether a pattern is neither a negation nor a regexp.
func isKindGlob(s string) bool { return s != "" && s[0] != '!' && s[0] != '/' }

// Kind compiles a kind pattern.
func (p *patternParser) Kind(pointer string, v protocol.Value) (k kindPattern) {
	if v.Type() != protocol.TypeString {
		p.Fail(pointer, fmt.Errorf("a kind pattern is a string, not %s", v.Type()))
		return k
	}
	s := v.Text()
	if source, ok := regexpSource(strings.TrimPrefix(s, "!")); ok {
		_, size, err := p.compileRegexp(source)
		if err != nil {
			p.Fail(pointer, err)
			return k
		}
		k.weight = 1 + size/2 // it is tried on both spellings
	}
	var err error
	k.KindPattern, err = protocol.ParseKindPattern(s)
	if err != nil {
		p.Fail(pointer, err)
	}
	return k
}

// Slash returns the text of the pattern with a slash as its first separator, unless
// that would turn an odd one (".x/") into a regexp.
func (a *kindPattern) Slash() string {
	s := a.KindPattern.Slash()
	if _, regexp := regexpSource(strings.TrimPrefix(s, "!")); regexp {
		return a.String()
	}
	return s
}
