package capability

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// parsePath reads a JSONPath: $ and then any of
//
//	.name   ['name']   ["name"]   [0]   [*]   .*   ..name   ..*   ..['name']
//
// where a name after a dot consists of letters, digits, _ and -. Slices,
// filters, unions and negative indexes are errors. The returned keys select in
// sequence.
func parsePath(s string) ([]key, error) {
	p := pathParser{s: s, pos: 1}
	for p.pos < len(p.s) {
		if !p.step() {
			return nil, fmt.Errorf("path %q: %s at character %d", s, p.fault, p.pos+1)
		}
	}
	if len(p.keys) == 0 {
		return nil, fmt.Errorf("path %q: a step must follow the $ at character 2", s)
	}
	return p.keys, nil
}

type pathParser struct {
	s     string
	pos   int
	keys  []key
	fault string
}

func (p *pathParser) fail(fault string) bool {
	p.fault = fault
	return false
}

func (p *pathParser) add(k key, source string) bool {
	if len(p.keys) == maxPathSteps {
		return p.fail(fmt.Sprintf("more than %d steps", maxPathSteps))
	}
	k.source = source
	p.keys = append(p.keys, k)
	return true
}

func (p *pathParser) step() bool {
	rest := p.s[p.pos:]
	switch {
	case strings.HasPrefix(rest, ".."):
		if !p.add(key{class: keyDeep}, "**") {
			return false
		}
		p.pos += 2
		if strings.HasPrefix(p.s[p.pos:], "[") {
			return p.bracket()
		}
		return p.name()
	case rest[0] == '.':
		p.pos++
		return p.name()
	case rest[0] == '[':
		return p.bracket()
	}
	return p.fail("a step begins with . or [")
}

// name parses the name after a dot.
func (p *pathParser) name() bool {
	if strings.HasPrefix(p.s[p.pos:], "*") {
		p.pos++
		return p.add(key{class: keyChild}, "*")
	}
	end := p.pos
	for end < len(p.s) && isNameByte(p.s[end]) {
		end++
	}
	if end == p.pos {
		return p.fail("a name or * is missing")
	}
	name := p.s[p.pos:end]
	p.pos = end
	return p.add(key{class: keyName, name: name}, name)
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '-' || c >= 0x80
}

// bracket reads [*], [0], ['name'] or ["name"].
func (p *pathParser) bracket() bool {
	rest := p.s[p.pos+1:]
	if rest == "" {
		return p.fail("the bracket is not closed")
	}
	if rest[0] == '\'' || rest[0] == '"' {
		return p.quoted(rest[0])
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return p.fail("the bracket is not closed")
	}
	inner := rest[:end]
	k := key{class: keyChild}
	if inner != "*" {
		n, err := strconv.ParseUint(inner, 10, 31)
		if err != nil || strconv.FormatUint(n, 10) != inner {
			return p.fail("a bracket holds *, an index or a quoted name, not " + strconv.Quote(inner))
		}
		k = key{class: keyIndex, index: int(n)}
	}
	if !p.add(k, inner) {
		return false
	}
	p.pos += end + 2
	return true
}

// quoted parses a name in quotes, in which a backslash escapes a quote or a
// backslash.
func (p *pathParser) quoted(quote byte) bool {
	var name []byte
	for i := p.pos + 2; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '\\' && i+1 < len(p.s) && strings.IndexByte(`\'"`, p.s[i+1]) >= 0:
			i++
			name = append(name, p.s[i])
		case c == '\\':
			p.pos = i
			return p.fail("a backslash must stand before a quote or a backslash")
		case c != quote:
			name = append(name, c)
		case !strings.HasPrefix(p.s[i+1:], "]"):
			p.pos = i + 1
			return p.fail("the bracket is not closed")
		default:
			p.pos = i + 2
			return p.add(key{class: keyName, name: string(name)}, string(name))
		}
	}
	return p.fail("the quote is not closed")
}

// parseKey compiles a key of an object pattern.
func parseKey(v protocol.Value) ([]key, error) {
	s := v.Text()
	switch {
	case strings.HasPrefix(s, "$"):
		return parsePath(s)
	case s == "**":
		return []key{{class: keyDeep, source: s}}, nil
	case !hasStar(s):
		return []key{{class: keyName, name: s, source: s}}, nil
	case len(s) > MaxTextBytes:
		return nil, fmt.Errorf("a glob has at most %d bytes", MaxTextBytes)
	}
	return []key{{class: keyGlob, glob: compileKeyGlob(s), folded: compileKeyGlob(fold(s)), source: s}}, nil
}
