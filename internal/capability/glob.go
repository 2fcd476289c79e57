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

// literalGlob is the glob that matches s alone, stars included.
func literalGlob(s string) glob {
	g := make(glob, len(s))
	for i := range len(s) {
		g[i] = uint16(s[i])
	}
	return g
}

// below returns the glob of the paths that lie below those of g.
func (g glob) below() glob {
	return append(append(make(glob, 0, len(g)+2), g...), '/', starAny)
}

func (g glob) all() bool { return len(g) == 1 && g[0] == starAny }

// globMatch matches a whole text in time proportional to both lengths. It
// remembers the last star of each sort: the shortest text for a star is always
// the best choice, because whatever stands behind can only gain from it.
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
		if star >= 0 && starEnd < len(s) && s[starEnd] != '/' {
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

// nextStart returns where to try again what stands behind a ** and failed at
// pos. If a * was tried too, every start up to the next slash leads that star
// to the same end of its segment and fails alike; skipping them keeps a long
// segment from costing the square of its length.
func nextStart[T string | []byte](s T, pos int, starred bool) int {
	if !starred || pos < len(s) && s[pos] == '/' {
		return pos + 1
	}
	for pos++; pos < len(s); pos++ {
		if s[pos] == '/' {
			return pos
		}
	}
	return len(s) + 1
}

// globContains reports whether a matches every text that b matches: it lets a
// match the pattern b, whose stars only a star at least as wide can take.
func globContains(a, b glob) bool {
	return globWalk(a, b, func(x, y uint16, w *globPair) bool {
		if x < starSegment {
			return y == x && w.at(1, 1)
		}
		if w.at(1, 0) {
			return true
		}
		return takes(x, y) && w.at(0, 1)
	}, func(rest glob, first bool) bool { return first && onlyStars(rest) })
}

// globDisjoint reports whether no text matches both.
func globDisjoint(a, b glob) bool {
	return !globWalk(a, b, func(x, y uint16, w *globPair) bool {
		switch {
		case x >= starSegment && y >= starSegment:
			return w.at(1, 0) || w.at(0, 1)
		case x >= starSegment:
			return w.at(1, 0) || takes(x, y) && w.at(0, 1)
		case y >= starSegment:
			return w.at(0, 1) || takes(y, x) && w.at(1, 0)
		}
		return x == y && w.at(1, 1)
	}, func(rest glob, _ bool) bool { return onlyStars(rest) })
}

// takes reports whether the star x can take y, a byte or another star.
func takes(x, y uint16) bool {
	return x == starAny || y != starAny && y != '/'
}

func onlyStars(g glob) bool {
	for _, c := range g {
		if c < starSegment {
			return false
		}
	}
	return true
}

// globPair is a position in two globs, with what is known about those behind.
type globPair struct {
	known []bool
	width int
	i, j  int
}

func (w *globPair) at(di, dj int) bool { return w.known[(w.i+di)*w.width+w.j+dj] }

// globWalk fills a table from the ends of both globs to their beginnings.
// step decides a position from those behind it; end decides one where a glob
// has ended, from what is left of the other, first telling that it is of a.
func globWalk(a, b glob, step func(x, y uint16, w *globPair) bool, end func(rest glob, first bool) bool) bool {
	w := &globPair{known: make([]bool, (len(a)+1)*(len(b)+1)), width: len(b) + 1}
	for w.i = len(a); w.i >= 0; w.i-- {
		for w.j = len(b); w.j >= 0; w.j-- {
			var ok bool
			switch {
			case w.j == len(b):
				ok = end(a[w.i:], true)
			case w.i == len(a):
				ok = end(b[w.j:], false)
			default:
				ok = step(a[w.i], b[w.j], w)
			}
			w.known[w.i*w.width+w.j] = ok
		}
	}
	return w.known[0]
}

func hasStar(s string) bool { return strings.IndexByte(s, '*') >= 0 }
