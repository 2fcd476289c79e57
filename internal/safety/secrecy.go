package safety

import (
	"bytes"

	"github.com/meup-protocol/meup/protocol"
)

// secrecy says what the names above a value say about it.
type secrecy uint8

const (
	open   secrecy = iota
	itself         // it is a secret, and so is what is below it
	below          // it belongs to one: texts and long numbers are secrets
)

// longSecret is how many digits a number has that belongs to a secret and is
// taken for one; shorter ones are lengths, counts and ports.
const longSecret = 6

// parameters are the members whose values are the parameters of a tool.
var parameters = set("arguments", "parameters", "params", "args", "input", "tool_input")

// about is what is known of an object before its members are.
type about struct {
	secrecy secrecy
	pair    bool // a name and its value, and the name is one of a secret
	schema  bool // it describes a secret and has none
}

// aboutOf looks at an object that has this secrecy itself.
func (w *walk) aboutOf(v protocol.Value, s secrecy) about {
	a := about{secrecy: s}
	switch {
	case !w.fields:
	case s == open:
		a.pair = isPair(v)
	default:
		a.secrecy, a.schema = below, isSchema(v)
	}
	return a
}

// secrecyOf returns what the name of a member says about its value.
func (w *walk) secrecyOf(name []byte, a about) secrecy {
	switch {
	case !w.fields:
		w.fields = parameters[string(name)]
		return open
	case a.schema && describing[string(name)]:
		return open
	case a.secrecy != open:
		return below
	case a.pair && string(name) == "value":
		return itself
	case !secretName(name):
		return open
	case doubtful[string(bytes.ToLower(name))], len(name) > 1 && name[len(name)-1]|0x20 == 's':
		return below // also passwords, credentials
	}
	return itself
}

// isPair reports whether an object is a name and its value, as headers are
// often written, and the name one of a secret.
func isPair(v protocol.Value) bool {
	for k, x := range v.Members {
		if (k.EqualText("name") || k.EqualText("key")) && x.Type() == protocol.TypeString {
			return secretName(visible([]byte(x.Text())))
		}
	}
	return false
}

// describing are the members of a JSON Schema that say what a value looks like,
// and not what it is.
var describing = set("type", "format", "description", "title", "pattern", "$ref")

var schemaTypes = set("string", "number", "integer", "boolean", "object", "array", "null")

// isSchema reports whether an object describes a value, as the definitions of
// tools do.
func isSchema(v protocol.Value) bool {
	for k, x := range v.Members {
		if k.EqualText("type") && x.Type() == protocol.TypeString {
			return schemaTypes[x.Text()]
		}
	}
	return false
}

// array inspects the elements of an array. Among the parameters of a tool, one
// can be the name of the next: ["--password", "x"], ["Cookie", "x"], and
// [["token", "x"]], which is inner.
func (w *walk) array(v protocol.Value, key []byte, s secrecy, inner bool) {
	inner = inner && v.Len() == 2
	named := false // the element before names a secret
	for x := range v.Elements {
		as := s
		switch {
		case x.Type() == protocol.TypeArray:
			w.array(x, key, s, true)
			named = false
			continue
		case s != open || !w.fields:
		case x.Type() == protocol.TypeString:
			text := visible([]byte(x.Text()))
			if named && !isName(text) {
				as = itself
			}
			named = !named && (namesNext(text) || inner && isPlainName(text))
		case named:
			as, named = itself, false
		}
		w.value(x, key, as)
	}
}

// namesNext reports whether an element of a list is the name of a secret that
// comes next: an option, or a header. Lower case words may as well be a list of
// names.
func namesNext(text []byte) bool {
	return len(text) > 1 && (text[0] == '-' || text[0] >= 'A' && text[0] <= 'Z') && isPlainName(text)
}

// isPlainName reports whether a text is the name of a secret and nothing else,
// as a mark is.
func isPlainName(text []byte) bool {
	return len(text) <= maxName && len(bytes.Trim(text, letters+"0123456789-_")) == 0 && secretName(text)
}

// isName reports whether a text that follows a name is another one: an option,
// a header, or a name of a secret.
func isName(text []byte) bool {
	if len(text) > 0 && text[0] == '-' || isPlainName(text) {
		return true
	}
	return len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && len(bytes.Trim(text, letters+"-")) == 0
}

// visible returns a name without what nobody sees in it.
func visible(name []byte) []byte {
	if look(name)&carries == 0 {
		return name
	}
	return viewOf(name, sequences).text
}

// schemes are ways to sign in: under such a name they are no secret.
var schemes = set("basic", "bearer", "digest", "negotiate", "none", "oauth", "oauth2")

var schemeNames = set("auth", "scheme", "type", "method")

// isScheme reports whether a text says how one signs in.
func isScheme(key, text []byte) bool {
	return len(text) < 16 && schemeNames[string(key)] && schemes[string(bytes.ToLower(text))]
}
