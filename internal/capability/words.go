package capability

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/meup-protocol/meup/internal/capability/argument"
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

// PlaceOf returns the folders of the paths in a call to a host with a root ("": unknown). The
// working directory that the sender names, and where links lead, count for calls to itself (own)
// alone, since no other host runs them there.
func PlaceOf(root string, call protocol.Value, own bool) argument.Place {
	if !own {
		return argument.Place{Root: root, Dir: root}
	}
	meta := call.Get("params").Get("_meta")
	dir := WorkingDirectory(call)
	at := argument.Place{Root: cmp.Or(root, dir), Dir: cmp.Or(dir, root)}
	for text, real := range meta.Get(protocol.MetaRealPaths).Members {
		if at.Real == nil {
			at.Real = make(map[string]string)
		}
		at.Real[text.Text()] = real.Text()
	}
	return at
}

// unreadable is no path: a rule about relative paths is not certain there.
const unreadable = "\x00"

// WorkingDirectory returns the directory that the sender of a call names; "": none. One that
// cannot be read is somewhere, and not in the root.
func WorkingDirectory(call protocol.Value) string {
	v := call.Get("params").Get("_meta").Get(protocol.MetaWorkingDirectory)
	if v.Exists() && v.Text() == "" {
		return unreadable
	}
	return v.Text()
}

var (
	inWord = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	// lasting are words in names of tools whose calls change what cannot be taken back.
	lasting = regexp.MustCompile(`(?i)delete|remove|destroy|deploy|publish|execute|transfer|truncate|terminate|uninstall|unlink|overwrite|payment|purchase|refund|revoke|withdraw|shutdown|` +
		`(^|[^a-z])(drop|send|push|exec|kill|wipe|purge|erase|evict|cancel|email|tweet|order|merge|reset|rollback|restore|eval|invoke|sudo)|(^|[^a-z])(pay|buy|rm|del|run|sql|post|charge|sign)([^a-z]|$)`)
)

// MayDestroy reports whether the name of a tool says that its calls may change what cannot be
// taken back.
func MayDestroy(tool string) bool {
	return lasting.MatchString(inWord.ReplaceAllString(tool, "${1}_$2"))
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
