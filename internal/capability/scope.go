package capability

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

// Scope is a capability that may be granted together with the approval of a call.
type Scope struct {
	ID         string // same, similar or any
	Title      string // in words; it contains texts of the call
	Capability *Capability
}

// Scopes returns what the sender of a call may be allowed beyond it, the least general first:
//
//	same     this call; a description and a timeout beside a command may be others
//	similar  calls that are like it by what their commands, paths and URLs mean: texts
//	         such as the content of a file may be others, and all else is as in this call
//	any      all calls of the tool
//
// Each scope allows the call itself. One that no capability expresses is left out: an array has
// no exact pattern, nor has a long text with stars. No capability asks that an argument is
// absent, so every scope allows calls with further arguments.
//
// dir is the working directory that the sender names for a call to itself; "": none. The first
// scope is bound to it, and so is the second if it is about a command, or a path on a drive:
// other paths are made absolute, and for a URL the directory makes no difference.
func Scopes(r *Request, dir string) []Scope {
	params := r.Payload.Get("params")
	c := scoped{request: r, method: r.Payload.Get("method").Text(), args: params, dir: dir}
	if c.method == "tools/call" {
		c.tool, c.args = params.Get("name").Text(), params.Get("arguments")
	}
	tool, ok := exactText(c.tool)
	if !ok || c.method == "tools/call" && c.tool == "" {
		return nil
	}
	c.fixed = map[string]any{}
	whole := map[string]any{}
	if c.tool != "" {
		whole["name"], c.fixed["name"] = tool, tool
	}
	everything := c.compile(whole)
	if everything == nil {
		return nil
	}
	var out []Scope
	if c.fix(params) {
		out = append(out, c.same()...)
		out = append(out, c.similar()...)
	}
	out = slices.DeleteFunc(out, func(s Scope) bool { return s.Capability == nil || s.Capability.String() == everything.String() })
	return append(out, Scope{"any", c.anything(), everything})
}

// scoped is a call for which scopes are derived.
type scoped struct {
	request *Request
	method  string
	tool    string         // of tools/call
	args    protocol.Value // of the tool, or the parameters of another method
	dir     string
	fixed   map[string]any // exact patterns of the parameters that are no arguments
}

// compile returns the capability for calls with such parameters; nil: there is none, or it does
// not allow the call.
func (c *scoped) compile(params map[string]any) *Capability {
	method, ok := exactText(c.method)
	payload := map[string]any{"method": method}
	if len(params) > 0 {
		payload["params"] = params
	}
	var text bytes.Buffer
	w := json.NewEncoder(&text)
	w.SetEscapeHTML(false)
	err := w.Encode(struct {
		Kind    protocol.Kind            `json:"kind"`
		To      []protocol.ParticipantID `json:"to"`
		Payload map[string]any           `json:"payload"`
	}{protocol.KindMCPRequest, c.request.To, payload})
	if err != nil || !ok {
		return nil
	}
	x, err := ParseJSON(bytes.TrimSpace(text.Bytes()))
	if err != nil || !NewSet(x).Decide(c.request).Allowed {
		return nil
	}
	return x
}

// fix makes the exact patterns of the parameters of a tool call that are no arguments, as the
// metadata of its sender is not.
func (c *scoped) fix(params protocol.Value) bool {
	if c.tool == "" {
		return true
	}
	for name, v := range params.Members {
		key := name.Text()
		if key == "name" || key == "arguments" || key == "_meta" {
			continue
		}
		pattern, ok := exactPattern(v)
		if !ok || !isPlainKey(key) {
			return false
		}
		c.fixed[key] = pattern
	}
	return true
}

// params returns the patterns of the parameters of a call with such arguments, in a directory.
func (c *scoped) params(args map[string]any, dir any) map[string]any {
	out := maps.Clone(c.fixed)
	switch {
	case c.tool == "":
		maps.Copy(out, args)
	case len(args) > 0:
		out["arguments"] = args
	}
	if dir != nil {
		out["_meta"] = map[string]any{protocol.MetaWorkingDirectory: dir}
	}
	return out
}

// in names the directory at the end of a title.
func (c *scoped) in() string {
	if c.dir == "" {
		return ""
	}
	return ", in " + c.dir
}

// open are the arguments beside a command, a path or a URL that may be others in similar calls.
// They do not change which command is run, or which file or host is used.
var open = map[string][]string{
	"$shell": {"description", "explanation", "justification", "timeout", "timeout_ms"},
	"$path": {
		"content", "contents", "file_text", "old_string", "new_string", "oldText", "newText", "old_str", "new_str", "new_source", "edits",
		"description", "pattern", "offset", "limit", "head", "tail", "view_range", "insert_line",
	},
	"$url": {"prompt", "description", "timeout", "max_length"},
}

func (c *scoped) same() []Scope {
	title, command := "exactly this call", hasCommand(c.args)
	if command {
		title = "exactly this command"
	}
	args := map[string]any{}
	for name, v := range c.args.Members {
		key := name.Text()
		if command && slices.Contains(open["$shell"], key) || c.tool == "" && key == "_meta" {
			continue
		}
		pattern, ok := exactPattern(v)
		if !ok || !isPlainKey(key) {
			return nil
		}
		args[key] = pattern
	}
	var dir any
	if c.dir != "" {
		pattern, ok := exactText(c.dir)
		if !ok {
			return nil
		}
		dir = pattern
	}
	return []Scope{{"same", title + c.in(), c.compile(c.params(args, dir))}}
}

// similar returns the scope of calls with other operands of the same commands, in the same
// folder, or of the same host.
func (c *scoped) similar() []Scope {
	args := map[string]any{}
	var free []string
	command := false
	for name, v := range c.args.Members {
		key := name.Text()
		var value map[string]any
		matcher := ArgumentMatcher(key)
		switch matcher {
		case "$shell":
			value = similarCommand(v.Text(), c.dir)
			command = true
		case "$path":
			value = folderOf(key, v.Text(), c.dir)
		case "$url":
			value = hostOf(v.Text())
		default:
			continue
		}
		if value == nil {
			return nil // nothing limits this argument
		}
		args[key] = map[string]any{matcher: value}
		free = append(free, open[matcher]...)
	}
	like := c.compile(c.params(args, nil)) // it says what the typed patterns mean
	if len(args) == 0 || like == nil {
		return nil
	}
	for name, v := range c.args.Members {
		key := name.Text()
		if args[key] != nil || slices.Contains(free, key) || c.tool == "" && key == "_meta" {
			continue
		}
		pattern, ok := exactPattern(v)
		if !ok || !isPlainKey(key) {
			return nil
		}
		args[key] = pattern
	}
	title := strings.Join(like.Words(), "; ")
	if !command {
		title = c.name() + " for " + title
	}
	var dir any
	if c.dir != "" && (command || !strings.HasPrefix(c.dir, "/")) {
		dir = map[string]any{"$path": map[string]any{"below": c.dir}}
		title += c.in()
	}
	return []Scope{{"similar", title, c.compile(c.params(args, dir))}}
}

// similarCommand returns the value of $shell for commands like this one; nil: there is none, or
// it allows only the same words.
func similarCommand(text, dir string) map[string]any {
	value, ok := argument.Similar(argument.Parse(text))
	commands, _ := value["commands"].([]string)
	if !ok || !slices.ContainsFunc(commands, func(p string) bool { return strings.HasSuffix(p, " **") }) {
		return nil
	}
	for _, key := range []string{"write", "read"} {
		files, ok := value[key].(map[string]any)
		if !ok {
			continue
		}
		below, _ := files["below"].([]string)
		for i := range below {
			below[i] = absolute(below[i], dir)
		}
		files["not"] = argument.Spared()
	}
	return value
}

// absolute returns a path as seen from a directory, if that is known.
func absolute(name, dir string) string {
	if strings.HasPrefix(dir, "/") && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") {
		return path.Join(dir, name)
	}
	return name
}

// folderOf returns the value of $path for the files in the folder of a file; nil: that is the
// root of all paths. An argument that may be a folder is one unless its name has a dot.
func folderOf(key, name, dir string) map[string]any {
	name = path.Clean(absolute(name, dir))
	mayBeFolder := key == "path" || key == "directory" || key == "absolute_path"
	if !mayBeFolder || strings.Contains(path.Base(name), ".") {
		name = path.Dir(name)
	}
	if name == "/" || name == "~" {
		return nil
	}
	return map[string]any{"below": name, "not": argument.Spared()}
}

// hostOf returns the value of $url for the URLs of a host; nil: there is none.
func hostOf(text string) map[string]any {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	value := map[string]any{"scheme": u.Scheme, "host": u.Hostname()}
	port, err := strconv.Atoi(u.Port())
	if err == nil {
		value["port"] = port
	}
	return value
}

// name names the tool or the method in a title.
func (c *scoped) name() string {
	if c.tool != "" {
		return c.tool
	}
	return c.method
}

// anything returns the title of all calls.
func (c *scoped) anything() string {
	for _, kind := range []struct{ matcher, title string }{
		{"$shell", "any command"}, {"$path", c.name() + " for any file"}, {"$url", c.name() + " for any URL"},
	} {
		for key := range c.args.Members {
			if ArgumentMatcher(key.Text()) == kind.matcher {
				return kind.title
			}
		}
	}
	return "any call of " + c.name()
}

// exactPattern returns a pattern that matches only this value, as far as objects have no further
// members. Arrays have none.
func exactPattern(v protocol.Value) (any, bool) {
	switch v.Type() {
	case protocol.TypeString:
		return exactText(v.Text())
	case protocol.TypeArray:
		return nil, false
	case protocol.TypeObject:
		out := map[string]any{}
		for name, x := range v.Members {
			pattern, ok := exactPattern(x)
			if !ok || !isPlainKey(name.Text()) {
				return nil, false
			}
			out[name.Text()] = pattern
		}
		return out, true
	}
	return json.RawMessage(v.Raw()), true
}

// exactText returns a pattern that matches only this text, which may have the form of another
// pattern.
func exactText(s string) (string, bool) {
	t, err := (&patternParser{}).parseText(s)
	if err == nil && t.class == textExact && !t.negate {
		return s, true
	}
	pattern := "/^" + regexp.QuoteMeta(s) + "$/"
	_, err = (&patternParser{}).parseText(pattern)
	return pattern, err == nil
}

// isPlainKey reports whether a key of a pattern is a name.
func isPlainKey(key string) bool { return !strings.HasPrefix(key, "$") && !strings.Contains(key, "*") }
