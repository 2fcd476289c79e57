package permissions

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// claudeSettings are settings of Claude Code beside its rules.
var claudeSettings = map[string]string{
	"defaultMode":           "a mode allows or asks without rules; only rules are translated",
	"additionalDirectories": "Claude Code reads these folders without a rule; only rules are translated",
	"sandbox":               "what its sandbox allows without a question is no rule",
}

// claude translates the settings of Claude Code.
func (t *translation) claude(f *File) error {
	root, err := document(f)
	if err != nil {
		return err
	}
	in := root.Get("permissions")
	for _, effect := range []string{allow, ask, deny} {
		rules, err := t.rules(f, effect, "permissions."+effect, in.Get(effect))
		if err != nil {
			return err
		}
		for _, r := range rules {
			if effect == allow && t.managedOnly && !f.Managed {
				t.leave(r, "the managed settings use their own rules only")
				continue
			}
			t.claudeRule(f, r)
		}
	}
	t.settings(f, in, claudeSettings, "defaultMode", "additionalDirectories")
	t.settings(f, root, claudeSettings, "sandbox")
	return nil
}

var (
	claudeRule = regexp.MustCompile(`(?s)^([^()]+)(?:\((.*)\))?$`)
	toolName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
	toolGlob   = regexp.MustCompile(`^[A-Za-z0-9_.*:-][A-Za-z0-9_.*: -]*$`)
	parameter  = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*)\s*:\s*(.+)$`)
	scalar     = regexp.MustCompile(`^(true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?)$`)
)

// primary are the arguments that Claude Code compares with no value of a parameter.
var primary = map[string]string{
	"Bash": "command", "PowerShell": "command", "Read": "file_path", "Edit": "file_path", "Write": "file_path",
	"Grep": "path", "Glob": "path", "NotebookEdit": "notebook_path", "WebFetch": "url",
}

// claudeRule translates a rule of Claude Code, which is Tool or Tool(specifier).
func (t *translation) claudeRule(f *File, r Rule) {
	text := r.Text
	if r.Effect != allow {
		text = strings.TrimSpace(text)
	}
	parts := claudeRule.FindStringSubmatch(text)
	if parts == nil {
		t.leave(r, "it is neither Tool nor Tool(specifier)")
		return
	}
	tool, specifier := parts[1], parts[2]
	bare := !strings.HasSuffix(text, ")")
	all := specifier != "" && strings.Trim(specifier, "*") == "" && (tool == "Bash" || tool == "PowerShell")
	// It is parameter:value.
	hasParameter := parameter.MatchString(specifier) && !strings.HasSuffix(specifier, ":*") && !drive.MatchString(specifier) && tool != "WebFetch" && tool != "PowerShell" && tool != "Skill"
	switch {
	case r.Effect != allow && !bare && hasParameter:
		t.claudeParameter(f, r, tool, specifier)
	case strings.HasPrefix(tool, "mcp__"):
		t.claudeMCP(r, tool, bare)
	case bare || all:
		t.claudeTool(r, tool)
	default:
		t.claudeSpecifier(f, r, tool, specifier)
	}
}

// claudeTool translates a rule for all calls of a tool.
func (t *translation) claudeTool(r Rule, tool string) {
	switch {
	case tool == "Cd":
		t.leave(r, "it is about the command /cd, which is no call")
	case r.Effect == allow && !toolName.MatchString(tool):
		t.leave(r, "Claude Code ignores it: it names no tool")
	case !toolGlob.MatchString(tool):
		t.leave(r, "it names no tool")
	case r.Effect != allow && tool == "Edit":
		t.add(r, []string{"Edit", "MultiEdit", "NotebookEdit", "Write"}, nil, "")
	case r.Effect != allow && tool == "Read":
		t.add(r, []string{"Glob", "Grep", "Read"}, nil, "")
	case r.Effect == allow:
		t.add(r, toolNames(tool), nil, allCalls[tool])
	default:
		t.add(r, toolNames(tool), nil, "")
	}
}

// allCalls says what rules without a specifier allow.
var allCalls = map[string]string{
	"Bash": "any command", "PowerShell": "any command", "Read": "any file", "Edit": "any file", "Write": "any file", "WebFetch": "any URL",
}

// toolNames returns the patterns for the names of a tool, which may have stars.
func toolNames(tool string) []string {
	if tool == "Agent" || tool == "Task" {
		return []string{"Agent", "Task"}
	}
	return []string{doubleStars(tool)}
}

// claudeMCP translates a rule for tools of MCP servers: mcp__server or mcp__server__tool.
func (t *translation) claudeMCP(r Rule, tool string, bare bool) {
	server, name, one := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__")
	given := tool
	if !one {
		tool += "__*"
	}
	switch {
	case !toolGlob.MatchString(tool):
		t.leave(r, "it names no tool")
	case r.Effect != allow && strings.Contains(server, "*"):
		t.add(r, toolNames(given), nil, "")
	case r.Effect != allow:
		t.add(r, toolNames(tool), nil, "")
	case !bare:
		t.leave(r, "Claude Code ignores it: a rule of an MCP tool has no specifier")
	case server == "" || one && name == "" || strings.Contains(server, "*"):
		t.leave(r, "Claude Code ignores it: it names no server")
	default:
		t.add(r, []string{singleStars(tool)}, nil, "")
	}
}

// claudeParameter translates Tool(parameter:value), which only rules that ask or deny may be.
func (t *translation) claudeParameter(f *File, r Rule, tool, specifier string) {
	found := parameter.FindStringSubmatch(specifier)
	name, value := found[1], strings.TrimSpace(found[2])
	pattern, ok := textPattern(value)
	switch {
	case !toolGlob.MatchString(tool):
		t.leave(r, "it names no tool")
	case primary[tool] == name:
		t.leave(r, "Claude Code ignores it: write %s(%s)", tool, value)
	case !ok:
		t.add(r, toolNames(tool), nil, "every call")
	case scalar.MatchString(value):
		t.add(r, toolNames(tool), object{{name, []any{number(value), value}}}, "")
	default:
		t.add(r, toolNames(tool), object{{name, pattern}}, "")
		if primary[tool] != "" || tool == "Agent" || tool == "Task" { // or a text with a colon
			t.claudeSpecifier(f, r, tool, specifier)
		}
	}
}

// notAlone are programs that start other commands, with which Claude Code compares its rules,
// or about which it asks in any case; cd is one because it asks about it together with others.
var notAlone = []string{
	"builtin", "cd", "command", "flock", "ionice", "nice", "noglob", "nohup", "setsid", "stdbuf", "time", "timeout", "watch", "xargs",
}

// claudeSpecifier translates a rule for some calls of a tool.
func (t *translation) claudeSpecifier(f *File, r Rule, tool, specifier string) {
	switch tool {
	case "Bash":
		if r.Effect != allow {
			t.restrict(r, tool, specifier)
			return
		}
		pattern, note, err := t.allowed(specifier)
		program, _, _ := strings.Cut(pattern, " ")
		switch {
		case err != nil:
			t.leave(r, "%s", err)
		case slices.Contains(notAlone, path.Base(program)):
			t.leave(r, "Claude Code does not compare it with %s alone, but with further commands", program)
		default:
			t.command(r, tool, pattern, note)
		}
	case "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep":
		t.claudeFiles(f, r, tool, specifier)
	case "WebFetch":
		host, ok := strings.CutPrefix(specifier, "domain:")
		if !ok {
			t.leave(r, "expected WebFetch(domain:HOST)")
			return
		}
		t.host(r, host)
	case "Agent", "Task":
		pattern, ok := textPattern(specifier)
		switch {
		case r.Effect == allow && (!ok || strings.Contains(specifier, "*")):
			t.leave(r, "it does not name one agent")
		case !ok:
			t.add(r, toolNames(tool), nil, "every call")
		default:
			t.add(r, toolNames(tool), object{{"subagent_type", pattern}}, "")
		}
	case "Cd":
		t.claudeTool(r, tool)
	default:
		switch {
		case r.Effect == allow:
			t.leave(r, "the specifier of %s is not known", tool)
		case !toolGlob.MatchString(tool):
			t.leave(r, "it names no tool")
		default:
			t.add(r, toolNames(tool), nil, "every call")
		}
	}
}

// claudeFiles translates a rule for files. Claude Code looks at those of Read and Edit only.
func (t *translation) claudeFiles(f *File, r Rule, tool, specifier string) {
	p, err := t.claudePath(f, specifier)
	edits := []string{"Edit", "Write"}
	if r.Effect == allow {
		if err == nil {
			err = p.check()
		}
		switch {
		case tool != "Read" && tool != "Edit":
			t.leave(r, "Claude Code ignores it: write Edit(%s) or Read(%s)", specifier, specifier)
		case drive.MatchString(specifier):
			t.leave(r, "Claude Code ignores it: a drive is written //c/")
		case err != nil:
			t.leave(r, "%s", err)
		case tool == "Read":
			t.add(r, []string{"Read"}, object{{"file_path", p.below()}}, p.note())
		default:
			t.add(r, edits, object{{"file_path", p.below()}}, p.note())
			t.add(r, []string{"NotebookEdit"}, object{{"notebook_path", p.below()}}, p.note())
		}
		return
	}
	pattern, ok := p.restricted(t.o.Windows)
	file, note := func(key string) any { return object{{key, pattern}} }, ""
	if err != nil || !ok {
		file, note = func(string) any { return nil }, "every call"
	}
	edits = append(edits, "MultiEdit")
	switch tool {
	case "Read", "Glob", "Grep":
		read := []string{"Read"}
		if r.Effect == deny { // Claude Code lets nothing write what it may not read
			read = append(read, edits...)
		}
		t.add(r, read, file("file_path"), note)
		t.add(r, []string{"Glob", "Grep"}, file("path"), note)
	default:
		t.add(r, edits, file("file_path"), note)
		t.add(r, []string{"NotebookEdit"}, file("notebook_path"), note)
	}
}

var hostName = regexp.MustCompile(`^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// host adds a rule for the URLs of a host, "*.host" or "*".
func (t *translation) host(r Rule, host string) {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
	matcher := object{{"$url", object{{"host", host}}}}
	switch {
	case host == "*":
		t.add(r, []string{"WebFetch"}, nil, "any URL")
	case hostName.MatchString(host) && checkMatcher(matcher) == nil:
		t.add(r, []string{"WebFetch"}, object{{"url", matcher}}, "")
	case r.Effect == allow:
		t.leave(r, "it is neither a host nor *.HOST")
	case len(host) > maxGlob/4:
		t.add(r, []string{"WebFetch"}, nil, "any URL")
	default:
		texts := strings.Split(singleStars(host), "*")
		for i := range texts {
			texts[i] = regexp.QuoteMeta(texts[i])
		}
		t.add(r, []string{"WebFetch"}, object{{"url", "/(?i)" + strings.Join(texts, ".*") + "/"}}, "a text in the URL")
	}
}
