package capability

import (
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// urlKeys are the names of the arguments in which tools take a URL.
var urlKeys = []string{"url", "uri"}

// ArgumentMatcher returns the typed pattern for an argument of a tool by its name: $shell,
// $path or $url; "": it is other text.
func ArgumentMatcher(name string) string {
	switch {
	case slices.Contains(commandKeys, name):
		return "$shell"
	case slices.Contains(protocol.PathArguments, name):
		return "$path"
	case slices.Contains(urlKeys, name):
		return "$url"
	}
	return ""
}

// Words describes the typed patterns of a capability to people, in the order of its text. They
// contain texts of its patterns.
func (c *Capability) Words() []string {
	if c.payload == nil {
		return nil
	}
	return c.payload.words(nil)
}

func (p *Pattern) words(out []string) []string {
	if p.class == classTyped {
		return append(out, p.typed.String())
	}
	for i := range p.alts {
		out = p.alts[i].words(out)
	}
	for i := range p.fields {
		out = p.fields[i].value.words(out)
	}
	return out
}
