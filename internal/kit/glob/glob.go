// Package glob matches texts with globs: * is any text within a segment of a path, ** any text
// across segments, and every other character is itself.
package glob

import (
	"regexp"
	"strings"
)

// Glob is a compiled glob: text, and stars as bytes that occur in no other text,
// since those are valid UTF-8. No two stars are neighbours: a run of two or more
// is one ** .
type Glob string

const (
	starAny     = 0xFE // any text
	starSegment = 0xFF // any text without a slash
)

var wideStars = regexp.MustCompile(`\*{2,}`)

// Compile compiles a glob.
func Compile(s string) Glob {
	return Glob(strings.ReplaceAll(wideStars.ReplaceAllLiteralString(s, "\xFE"), "*", "\xFF"))
}

// CompileFlat compiles a glob for texts without segments: * is any text.
func CompileFlat(s string) Glob {
	return Glob(strings.ReplaceAll(wideStars.ReplaceAllLiteralString(s, "*"), "*", "\xFE"))
}

// isBoundary reports whether a * does not match the byte.
func isBoundary(c byte) bool { return c == '/' || c == starAny }

// Covers reports whether g clearly matches every text that h matches: it
// matches h itself, whose stars only a star at least as wide can match.
func (g Glob) Covers(h Glob) bool { return Match(g, string(h)) }

// Match matches a whole text, in time bounded by the product of both
// lengths. It remembers the last star of each sort: the shortest text for a
// star is always the best choice, because the rest can only gain from it.
func Match[T string | []byte](g Glob, s T) bool {
	i, j := 0, 0
	star, starEnd := -1, 0 // last *, and where its text ends
	deep, deepEnd := -1, 0 // last **, likewise
	for {
		switch {
		case i == len(g) && j == len(s):
			return true
		case i < len(g) && g[i] == starSegment:
			star, starEnd = i, j
			i++
			continue
		case i < len(g) && g[i] == starAny:
			if i == len(g)-1 {
				return true
			}
			deep, deepEnd, star = i, j, -1
			i++
			continue
		case i < len(g) && j < len(s) && s[j] == g[i]:
			i++
			j++
			continue
		}
		if star >= 0 && starEnd < len(s) && !isBoundary(s[starEnd]) {
			starEnd++
			i, j = star+1, starEnd
			continue
		}
		if deep < 0 {
			return false
		}
		deepEnd = nextStart(s, deepEnd, star >= 0)
		if deepEnd > len(s) {
			return false
		}
		i, j, star = deep+1, deepEnd, -1
	}
}

// nextStart returns the next position at which the rest of the glob after a **
// can match, after a failure at pos. If a * was tried too, all starts up to the
// next slash lead that star to the same end of its segment and fail as well;
// skipping them avoids a cost quadratic in the length of a segment.
func nextStart[T string | []byte](s T, pos int, starred bool) int {
	if !starred || pos < len(s) && isBoundary(s[pos]) {
		return pos + 1
	}
	for pos++; pos < len(s); pos++ {
		if isBoundary(s[pos]) {
			return pos
		}
	}
	return len(s) + 1
}

// HasStar reports whether a text is a glob that matches more than itself.
func HasStar(s string) bool { return strings.IndexByte(s, '*') >= 0 }

// String returns the glob as it is written.
func (g Glob) String() string {
	return strings.NewReplacer("\xFE", "**", "\xFF", "*").Replace(string(g))
}
