package config

import (
	"path"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Space returns the configured space that a name belongs to: the one of that
// name, or else the most specific glob that matches. The bool is false if there
// is none.
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

// validSpaceKey reports whether a key of spaces is a space's name, or one with
// stars for any text.
func validSpaceKey(key string) bool {
	return protocol.ValidSpaceName(strings.ReplaceAll(key, "*", "x"))
}

// globMatches reports whether a glob stands for a space's name. The characters
// of names leave no other meaning for path.Match to see: no slash, no bracket.
func globMatches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil && protocol.ValidSpaceName(name)
}

// moreSpecific orders globs: the one that says more characters goes first, then
// the one with fewer stars, then by the alphabet, so that there is one answer.
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
