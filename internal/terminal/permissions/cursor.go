package permissions

import (
	"path"
	"regexp"
	"strings"
)

// cursorSettings are settings of Cursor beside its rules.
var cursorSettings = map[string]string{
	"approvalMode": "a mode allows or asks without rules; only rules are translated",
	"sandbox":      "what its sandbox allows without a question is no rule",
	"autoRun":      "instructions in words are no rules",
}

// cursor translates a configuration of Cursor's CLI, or the permissions.json of its editor.
func (t *translation) cursor(f *File) error {
	if path.Base(slashes(f.Path)) == "permissions.json" {
		f.Text = withoutComments(f.Text)
	}
	root, err := document(f)
	if err != nil {
		return err
	}
	in := root.Get("permissions")
	for _, effect := range []string{allow, deny} {
		rules, err := t.rules(f, effect, "permissions."+effect, in.Get(effect))
		if err != nil {
			return err
		}
		for _, r := range rules {
			t.cursorRule(r)
		}
	}
	commands, err := t.rules(f, allow, "terminalAllowlist", root.Get("terminalAllowlist"))
	if err != nil {
		return err
	}
	for _, r := range commands {
		t.cursorCommand(r, r.Text, true)
	}
	tools, err := t.rules(f, allow, "mcpAllowlist", root.Get("mcpAllowlist"))
	if err != nil {
		return err
	}
	for _, r := range tools {
		t.cursorMCP(r, r.Text)
	}
	t.settings(f, root, cursorSettings, "approvalMode", "sandbox", "autoRun")
	return nil
}

var cursorRule = regexp.MustCompile(`(?s)^\s*([A-Za-z]+)\s*\((.*)\)\s*$`)

// cursorRule translates a rule of Cursor's CLI, which is Type(pattern).
func (t *translation) cursorRule(r Rule) {
	parts := cursorRule.FindStringSubmatch(r.Text)
	if parts == nil {
		t.leave(r, "it is not of the form Type(pattern)")
		return
	}
	kind, pattern := parts[1], strings.TrimSpace(parts[2])
	switch {
	case pattern == "":
		t.leave(r, "it has no pattern")
	case kind == "Shell":
		t.cursorCommand(r, pattern, false)
	case kind == "Read" || kind == "Write":
		t.cursorFiles(r, kind, pattern)
	case kind == "WebFetch":
		t.host(r, pattern)
	case kind == "Mcp":
		t.cursorMCP(r, pattern)
	default:
		t.leave(r, "its type is not Shell, Read, Write, WebFetch or Mcp")
	}
}

// cursorCommand translates a command: a program, or program:arguments. prefix is set if
// further words may be a part of the program.
func (t *translation) cursorCommand(r Rule, pattern string, prefix bool) {
	program, arguments, split := strings.Cut(strings.TrimSpace(pattern), ":")
	command := program + " " + arguments
	if !split {
		command = program + " *"
	}
	switch {
	case strings.Trim(program, "* ") == "" && strings.Trim(arguments, "* ") == "":
		note := "every command"
		if r.Effect == allow {
			note = "any command"
		}
		t.add(r, []string{"Shell"}, nil, note)
	case r.Effect != allow:
		t.restrict(r, "Shell", command)
	case strings.Contains(program, " ") && !prefix:
		t.leave(r, "it is not clear whether Cursor compares more than the first word; write Shell(program:arguments)")
	default:
		out, note, err := t.allowed(command)
		if err != nil {
			t.leave(r, "%s", err)
			return
		}
		t.command(r, "Shell", out, note)
	}
}

func (t *translation) cursorFiles(r Rule, kind, pattern string) {
	p, err := t.path(pattern)
	if r.Effect == allow {
		if err == nil {
			err = p.check()
		}
		if err != nil {
			t.leave(r, "%s", err)
			return
		}
		t.add(r, []string{kind}, object{{"file_path", p.below()}}, p.note())
		return
	}
	tools := []string{"Glob", "Grep", "Read"}
	if kind == "Write" {
		tools = []string{"Delete", "Edit", "Write"}
	}
	matcher, ok := p.restricted(t.o.Windows)
	if err != nil || !ok {
		t.add(r, tools, nil, "every call")
		return
	}
	// The names of these arguments are not documented.
	t.add(r, tools, []any{object{{"*file*", matcher}}, object{{"*path*", matcher}}}, "")
}

// cursorMCP translates server:tool. The hooks of Cursor name the tool alone.
func (t *translation) cursorMCP(r Rule, pattern string) {
	server, tool, ok := strings.Cut(pattern, ":")
	if !ok {
		server, tool, ok = strings.Cut(pattern, ",")
	}
	tool = strings.TrimSpace(tool)
	switch {
	case !ok || tool == "" || !toolGlob.MatchString(tool):
		t.leave(r, "it is not of the form server:tool")
	case r.Effect == allow && strings.Trim(server, "* ") != "":
		t.leave(r, "the hooks of Cursor do not name the server of a tool")
	case r.Effect == allow:
		t.add(r, []string{"MCP:" + singleStars(tool)}, nil, "")
	case strings.Trim(server, "* ") != "":
		t.add(r, []string{"MCP:" + doubleStars(tool), doubleStars(tool)}, nil, "of all servers")
	default:
		t.add(r, []string{"MCP:" + doubleStars(tool), doubleStars(tool)}, nil, "")
	}
}

// withoutComments replaces the comments of JSON, and commas at the end of objects and lists,
// by spaces.
func withoutComments(text []byte) []byte {
	out := append([]byte(nil), text...)
	comma := -1 // the last one, with nothing after it but white space and comments
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(out); i++ {
		rest := string(out[i:min(i+2, len(out))])
		switch {
		case out[i] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			comma = -1
		case rest == "//":
			end := i
			for end < len(out) && out[end] != '\n' {
				end++
			}
			blank(i, end)
		case rest == "/*":
			end := strings.Index(string(out[i+2:]), "*/")
			if end < 0 {
				return out
			}
			blank(i, i+2+end+2)
		case out[i] == ',':
			comma = i
		case out[i] == '}' || out[i] == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case strings.IndexByte(" \t\r\n", out[i]) < 0:
			comma = -1
		}
	}
	return out
}
