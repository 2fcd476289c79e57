package suggest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// words says what the rule of a candidate matches.
func (c *candidate) words() string {
	tool, dir := c.group.tool, ""
	plain := compile(rewrite(c.rule.tree, func(key string, v any) any {
		params, ok := v.(map[string]any)
		meta, inDir := params["_meta"].(map[string]any)
		if key != "params" || !ok || !inDir {
			return v
		}
		params = maps.Clone(params)
		delete(params, "_meta")
		dir = ", in " + folder(meta[protocol.MetaWorkingDirectory])
		return params
	}))
	if plain == nil {
		return termsafe.Exact(tool)
	}
	typed := plain.cap.Words()
	payload, _ := plain.tree["payload"].(map[string]any)
	params, _ := payload["params"].(map[string]any)
	args, ok := params["arguments"].(map[string]any)
	if !ok {
		args = maps.Clone(params)
		delete(args, "name")
	}
	var text string
	switch {
	case len(typed) > 0:
		text = tool + ": " + strings.Join(typed, "; ")
	case len(args) == 0:
		text = "any call of " + tool
	default:
		text = tool + " with " + compact(args)
	}
	return termsafe.Exact(text + dir)
}

// folder returns a pattern of a folder to people.
func folder(pattern any) string {
	m, ok := pattern.(map[string]any)
	if ok {
		value, _ := m["$path"].(map[string]any)
		pattern = value["below"]
	}
	var names []string
	for _, x := range elements(pattern) {
		names = append(names, fmt.Sprint(x))
	}
	return strings.Join(names, " or ")
}

// compact writes a value as JSON.
func compact(v any) string {
	var text bytes.Buffer
	w := json.NewEncoder(&text)
	w.SetEscapeHTML(false)
	if w.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(text.String())
}

// key writes a key of a configuration file.
func key(s string) string {
	if plainKey.MatchString(s) {
		return s
	}
	return string(protocol.AppendString(nil, s))
}

var plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
