package config

import (
	"path"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Space returns the configured space for a name: the space of that name, or the
// most specific glob that matches. The bool is false without a match.
func (c *Config) Space(name string) (*Space, bool) {
	var best *Space
	for i := range c.Spaces {
		s := &c.Spaces[i]
		if s.Name == name {
			return s, true
		}
		if isGlob(s.Name) && globMatches(s.Name, name) && (best == nil || moreSpecific(s.Name, best.Name)) {
			best = s
		}
	}
	return best, best != nil
}

func isGlob(name string) bool { return strings.Contains(name, "*") }

// validSpaceKey reports whether a key of spaces is a space's name or a glob.
func validSpaceKey(key string) bool {
	return protocol.ValidSpaceName(strings.ReplaceAll(key, "*", "x"))
}

// globMatches reports whether a glob matches a space's name. Names contain no
// other character that path.Match treats specially: no slash, no bracket.
func globMatches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil && protocol.ValidSpaceName(name)
}

// moreSpecific orders globs: more literal characters first, then fewer stars,
// then alphabetically, so that the order is total.
func moreSpecific(a, b string) bool {
	starsA, starsB := strings.Count(a, "*"), strings.Count(b, "*")
	if said := (len(a) - starsA) - (len(b) - starsB); said != 0 {
		return said > 0
	}
	if starsA != starsB {
		return starsA < starsB
	}
	return a < b
}
