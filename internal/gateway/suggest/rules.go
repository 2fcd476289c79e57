package suggest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

// The levels of rules that are derived from a call, from the most to the least general.
const (
	levelAny     = "any"     // the tool
	levelSimilar = "similar" // commands, folders and hosts like this
	levelFile    = "file"    // this file, or this path at a host
	levelExact   = "exact"   // this command, word by word
	levelSame    = "same"    // this call
)

// rule is a capability for a kind of calls, with its JSON value, so that it can be changed.
type rule struct {
	tree map[string]any
	cap  *capability.Capability
}

// compile returns the rule with a value; nil: it is not valid, or too long.
func compile(tree map[string]any) *rule {
	c, err := capability.ParseJSON([]byte(compact(tree)))
	if err != nil {
		return nil
	}
	return &rule{tree, c}
}

func decode(c *capability.Capability) map[string]any {
	d := json.NewDecoder(strings.NewReader(c.String()))
	d.UseNumber()
	var tree map[string]any
	if d.Decode(&tree) != nil {
		return nil // a string: the kind alone
	}
	return tree
}

// allows reports whether the rule allows a call. A rejected call that does not name its host
// may have been meant for the host of the rule.
func (x *rule) allows(c *call, host protocol.ParticipantID) bool {
	r := c.request
	if r.To == nil {
		r.To = []protocol.ParticipantID{host}
	}
	return capability.NewSet(x.cap).Decide(&r).Allowed
}

// levels returns the rules that allow calls like c.
func (c *call) levels() map[string]*rule {
	if c.scopes != nil {
		return c.scopes
	}
	// Calls with the same text have the same rules.
	key := string(c.proposal.From) + "\n" + string(c.host()) + "\n" + c.dir + "\n" + string(c.payload.Get("method").Raw()) + string(c.payload.Get("params").Raw())
	c.scopes = c.known[key]
	if c.scopes != nil {
		return c.scopes
	}
	c.scopes = map[string]*rule{}
	c.known[key] = c.scopes
	if c.host() == "" {
		return c.scopes
	}
	for _, s := range capability.Scopes(&c.request, c.dir) {
		c.scopes[s.ID] = &rule{decode(s.Capability), s.Capability}
	}
	wider := cmp.Or(c.scopes[levelSimilar], c.scopes[levelSame])
	if wider == nil {
		return c.scopes
	}
	if _, ok := c.command(); !ok {
		c.narrow(levelFile, wider, func(key, text string, value map[string]any) any {
			switch capability.ArgumentMatcher(key) {
			case "$path":
				if strings.HasPrefix(c.dir, "/") && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~") {
					text = path.Join(c.dir, text)
				}
				file := map[string]any{"below": text}
				if value["not"] != nil { // it may be a folder
					file["not"] = value["not"]
				}
				return file
			case "$url":
				u, err := url.Parse(text)
				if err == nil && value != nil && u.Path != "" && !glob.HasStar(u.Path) {
					value = maps.Clone(value)
					value["path"] = []any{u.EscapedPath()}
				}
			}
			return value
		})
		return c.scopes
	}
	c.narrow(levelExact, wider, func(key, text string, value map[string]any) any {
		commands := argument.Exact(argument.Parse(text))
		if capability.ArgumentMatcher(key) != "$shell" || len(commands) == 0 {
			return value
		}
		list := make([]any, len(commands))
		for i := range commands {
			list[i] = commands[i]
		}
		return map[string]any{"commands": list}
	})
	return c.scopes
}

// narrow derives a rule from a wider one, by other values for its typed patterns. They are named
// by the argument, of which the text is given. A rule that does not differ, or does not allow the
// call, is none.
func (c *call) narrow(level string, wider *rule, change func(key, text string, value map[string]any) any) {
	x := compile(rewrite(wider.tree, func(key string, v any) any {
		matcher := capability.ArgumentMatcher(key)
		text := c.arguments().Get(key).Text()
		m, typed := v.(map[string]any)
		if matcher == "" || text == "" {
			return v
		}
		value, _ := m[matcher].(map[string]any)
		changed := change(key, text, value)
		if !typed && reflect.DeepEqual(changed, value) {
			return v
		}
		return map[string]any{matcher: changed}
	}))
	if x != nil && !reflect.DeepEqual(x.tree, wider.tree) && x.allows(c, c.host()) {
		c.scopes[level] = x
	}
}

// rewrite returns a copy of an object in which change has replaced values; it is called with
// each member.
func rewrite(tree map[string]any, change func(key string, v any) any) map[string]any {
	out := make(map[string]any, len(tree))
	for key, v := range tree {
		v = change(key, v)
		if m, ok := v.(map[string]any); ok {
			v = rewrite(m, change)
		}
		out[key] = v
	}
	return out
}

// join returns the rule for what two rules allow and no more; nil: there is none.
func join(a, b *rule) *rule {
	merged, ok := merge(a.tree, b.tree, "")
	tree, isObject := merged.(map[string]any)
	if !ok || !isObject {
		return nil
	}
	return compile(tree)
}

// merge returns a value that matches what two values of patterns match and no more: they
// differ in one place, in which one of several may stand. false: there is none.
func merge(a, b any, key string) (any, bool) {
	x, isObject := a.(map[string]any)
	y, other := b.(map[string]any)
	if isObject && other {
		different := ""
		for k := range x {
			if reflect.DeepEqual(x[k], y[k]) {
				continue
			}
			if different != "" {
				return nil, false
			}
			different = k
		}
		if len(x) != len(y) || different == "" {
			return nil, false
		}
		v, ok := merge(x[different], y[different], different)
		if !ok {
			return nil, false
		}
		out := maps.Clone(x)
		out[different] = v
		return out, true
	}
	if isObject || other || a == nil || b == nil || key == "not" || key == "scheme" || key == "port" {
		return nil, false
	}
	list := slices.Clone(elements(a))
	for _, v := range elements(b) {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list, true
}

// elements returns the elements of an array, or a value as the only one.
func elements(v any) []any {
	list, ok := v.([]any)
	if ok {
		return list
	}
	return []any{v}
}
