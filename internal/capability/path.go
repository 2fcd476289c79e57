package capability

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

// pathSyntax matches a step of a path: .name or ..name, [0], ['name'] or ["name"].
var pathSyntax = regexp.MustCompile(`^(?:\.\.?(\*|[\w\-\x{80}-\x{10ffff}]+)|(?:\.\.)?\[(?:(\*|0|[1-9]\d{0,8})|` +
	`'((?:[^'\\]|\\[\\'"])*)'|"((?:[^"\\]|\\[\\'"])*)")\])`)

var unescapeName = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`)

// parsePath reads a JSONPath: $ and then any of
//
//	.name   ['name']   ["name"]   [0]   [*]   .*   ..name   ..*   ..['name']
//
// where a name after a dot consists of letters, digits, _ and -, and in quotes a
// backslash escapes a quote or a backslash. Slices, filters, unions and negative
// indexes are errors. The returned keys select in sequence.
func parsePath(s string) ([]key, error) {
	var keys []key
	for rest := s[1:]; rest != "" || keys == nil; {
		m := pathSyntax.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("path %q: character %d begins none of .name, ['name'], [0], [*], .* and ..name", s, len(s)-len(rest)+1)
		}
		if strings.HasPrefix(rest, "..") {
			keys = append(keys, key{class: keyDeep, source: "**"})
		}
		k := key{class: keyName, source: m[1] + m[2] + unescapeName.Replace(m[3]+m[4])}
		switch {
		case m[1] == "*" || m[2] == "*":
			k.class = keyChild
		case m[2] != "":
			k.class = keyIndex
			k.index, _ = strconv.Atoi(m[2]) // it matches a number
		default:
			k.name = k.source
		}
		keys = append(keys, k)
		if len(keys) > maxPathSteps {
			return nil, fmt.Errorf("path %q: more than %d steps", s, maxPathSteps)
		}
		rest = rest[len(m[0]):]
	}
	return keys, nil
}

// parseKey compiles a key of an object pattern.
func parseKey(v protocol.Value) ([]key, error) {
	s := v.Text()
	switch {
	case strings.HasPrefix(s, "$"):
		return parsePath(s)
	case s == "**":
		return []key{{class: keyDeep, source: s}}, nil
	case !glob.HasStar(s):
		return []key{{class: keyName, name: s, source: s}}, nil
	case len(s) > maxTextBytes:
		return nil, fmt.Errorf("a glob has at most %d bytes", maxTextBytes)
	}
	return []key{{class: keyGlob, glob: glob.CompileFlat(s), folded: glob.CompileFlat(fold(s)), source: s}}, nil
}
