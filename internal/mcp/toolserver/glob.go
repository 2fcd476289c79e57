package toolserver

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// glob matches slash-separated paths: a segment as path.Match does, and ** for
// zero or more whole segments.
type glob []string

func compileGlobs(patterns []string) ([]glob, error) {
	globs := make([]glob, 0, len(patterns))
	for _, p := range patterns {
		g := glob(slices.Compact(strings.Split(strings.Trim(p, "/"), "/")))
		for _, segment := range g {
			if _, err := path.Match(segment, ""); err != nil {
				return nil, fmt.Errorf("pattern %q: %w", p, err)
			}
		}
		globs = append(globs, g)
	}
	return globs, nil
}

func matchAny(globs []glob, p string) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return g.match(p) })
}

// match backtracks only to the last **, so that the cost is bounded by the
// product of the numbers of segments.
func (g glob) match(p string) bool {
	segments := strings.Split(p, "/")
	i, star, mark := 0, -1, 0
	for j := 0; j < len(segments); {
		switch {
		case i < len(g) && g[i] == "**":
			star, mark = i, j
			i++
		case i < len(g) && matchSegment(g[i], segments[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(g) && g[i] == "**" {
		i++
	}
	return i == len(g)
}

func matchSegment(pattern, segment string) bool {
	ok, _ := path.Match(pattern, segment)
	return ok
}

// sortLines sorts a listing by name, directories and files together.
func sortLines(lines []string) {
	slices.SortFunc(lines, func(a, b string) int {
		_, x, _ := strings.Cut(a, " ")
		_, y, _ := strings.Cut(b, " ")
		return strings.Compare(x, y)
	})
}
