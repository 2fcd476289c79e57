package capability

import "strings"

// glob is a compiled glob: bytes of text, and stars. No two stars are
// neighbours: a run of two or more is one ** .
type glob []uint16

const (
	starSegment uint16 = 256 + iota // any text without a slash
	starAny                         // any text
)

func compileGlob(s string) glob {
	g := make(glob, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '*':
			g = append(g, uint16(s[i]))
		case len(g) > 0 && g[len(g)-1] >= starSegment:
			g[len(g)-1] = starAny
		default:
			g = append(g, starSegment)
		}
	}
	return g
}

// compileKeyGlob compiles a glob for keys, which have no segments.
func compileKeyGlob(s string) glob {
	g := compileGlob(s)
	for i, c := range g {
		if c == starSegment {
			g[i] = starAny
		}
	}
	return g
}

// wideStar represents ** in the text of a glob. It occurs in no other text, since
// those are valid UTF-8.
const (
	wideStar   = 0xFE
	narrowStar = 0xFF // likewise for a *
)

// isBoundary reports whether a * does not match the byte.
func isBoundary(c byte) bool { return c == '/' || c == wideStar }

// asText returns the glob as a text for [glob.covers].
func (g glob) asText() []byte {
	out := make([]byte, len(g))
	for i, c := range g {
		switch c {
		case starSegment:
			out[i] = narrowStar
		case starAny:
			out[i] = wideStar
		default:
			out[i] = byte(c)
		}
	}
	return out
}

// mayCover reports whether the texts of both globs before their first stars
// agree, which is quick and rules out most pairs.
func (g glob) mayCover(h glob) bool {
	for i := range min(len(g), len(h)) {
		if g[i] >= starSegment {
			return true
		}
		if g[i] != h[i] {
			return false
		}
	}
	return true
}

// covers reports whether g clearly matches every text that h matches: it
// matches h itself, whose stars only a star at least as wide can match.
func (g glob) covers(h glob) bool { return globMatch(g, h.asText()) }

func (g glob) all() bool { return len(g) == 1 && g[0] == starAny }

// globMatch matches a whole text, in time bounded by the product of both
// lengths. It remembers the last star of each sort: the shortest text for a
// star is always the best choice, because the rest can only gain from it.
func globMatch[T string | []byte](g glob, s T) bool {
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
		case i < len(g) && j < len(s) && uint16(s[j]) == g[i]:
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

func hasStar(s string) bool { return strings.IndexByte(s, '*') >= 0 }
