// Package permissions translates the permission rules of coding agents into
// capabilities.
//
// The hooks of an agent publish its calls as mcp.request to itself (docs/hooks.md), so a
// rule about a tool becomes a capability for such a request:
//
//	allow  allows the request
//	ask    denies the request; it can still be proposed, and another participant approves it
//	deny   denies the request and its proposal
//
// An allowing rule is translated to at most what it allows, or not at all; a rule that asks
// or denies to at least what it covers. What is left out is listed with the reason.
package permissions

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// The effects of rules. A setting is no rule, and never translated.
const (
	allow   = "allow"
	ask     = "ask"
	deny    = "deny"
	setting = "setting"
)

// Rule is a rule of an agent, or a setting beside its rules.
type Rule struct {
	Effect string `json:"effect"` // allow, ask, deny or setting
	Text   string `json:"rule"`
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
}

func (r *Rule) place() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// File is a file with rules.
type File struct {
	Path string // as it is shown
	// Root is the folder that a rule of Claude Code with one leading slash begins at.
	Root string
	// Managed is set for the settings of an administrator.
	Managed bool
	Text    []byte
}

// Options are what a translation depends on beside the rules.
type Options struct {
	Participant string
	Home        string // what ~ stands for
	Options     bool   // an allowed prefix of a command allows options after it
	Windows     bool   // the agent runs on Windows
}

// Result is the translation of the rules of an agent.
type Result struct {
	Program      string
	Participant  string
	Files        []string
	Capabilities []Capability
	Left         []Left
}

// Capability is a capability and the rules that it comes from.
type Capability struct {
	value   object
	Sources []Source
	// commands: the sources are those of the commands of a list, in its order.
	commands bool
}

// Source is a rule that was translated, and what is different about the translation.
type Source struct {
	Rule
	Note string `json:"note,omitempty"`
}

// Left is a rule or a setting that was not translated.
type Left struct {
	Rule
	Reason string `json:"reason"`
}

// Translate translates the rules of an agent, which is claude, codex or cursor.
func Translate(program string, files []File, o Options) (*Result, error) {
	t := &translation{o: o, seen: map[string]bool{}, Result: &Result{Program: program, Participant: o.Participant}}
	read := map[string]func(*File) error{"claude": t.claude, "codex": t.codex, "cursor": t.cursor}[program]
	if program == "claude" {
		for i := range files {
			root, err := document(&files[i])
			if err != nil {
				return nil, err
			}
			t.managedOnly = t.managedOnly || files[i].Managed && root.Get("allowManagedPermissionRulesOnly").Bool()
		}
	}
	for i := range files {
		t.Files = append(t.Files, files[i].Path)
		if err := read(&files[i]); err != nil {
			return nil, err
		}
	}
	for i := range t.commands {
		l := &t.commands[i]
		for from := 0; from < len(l.patterns); {
			to, size := from, 0
			for to < len(l.patterns) && to-from < maxCommands && (to == from || size <= maxCommandBytes) {
				size += len(encode(l.patterns[to]))
				to++
			}
			arguments := object{{"command", object{{"$shell", object{{"commands", slices.Clone(l.patterns[from:to])}}}}}}
			t.Capabilities = append(t.Capabilities, Capability{t.capability(l.effect, l.tool, arguments), l.sources[from:to], true})
			from = to
		}
	}
	order := []string{allow, ask, deny}
	slices.SortStableFunc(t.Capabilities, func(a, b Capability) int {
		return slices.Index(order, a.Sources[0].Effect) - slices.Index(order, b.Sources[0].Effect)
	})
	return t.Result, nil
}

type translation struct {
	*Result
	o Options
	// managedOnly is set if rules that allow count in managed settings alone.
	managedOnly bool
	commands    []commandList
	seen        map[string]bool // the texts of capabilities and commands
}

// first reports whether a text is the first one of its kind.
func (t *translation) first(parts ...string) bool {
	key := strings.Join(parts, "\x00")
	if t.seen[key] {
		return false
	}
	t.seen[key] = true
	return true
}

// commandList collects the commands of a tool, because a command line is allowed if each of
// its commands is in the same list.
type commandList struct {
	effect, tool string
	patterns     []string
	sources      []Source
}

// Bounds of a capability: of its text in bytes, of its commands, and of their text and of a
// glob in bytes.
const (
	maxBytes        = 4000
	maxCommands     = 64
	maxCommandBytes = 2500
	maxGlob         = 256
)

// command adds a pattern of a command.
func (t *translation) command(r Rule, tool, pattern, note string) {
	at := slices.IndexFunc(t.commands, func(l commandList) bool { return l.effect == r.Effect && l.tool == tool })
	if at < 0 {
		at = len(t.commands)
		t.commands = append(t.commands, commandList{effect: r.Effect, tool: tool})
	}
	l := &t.commands[at]
	if t.first(r.Effect, tool, pattern) {
		l.patterns = append(l.patterns, pattern)
		l.sources = append(l.sources, Source{r, note})
	}
}

// add adds a capability for calls of tools. Without arguments it is for all their calls.
func (t *translation) add(r Rule, tools []string, arguments any, note string) {
	var names any = tools
	if len(tools) == 1 {
		names = tools[0]
	}
	c := Capability{value: t.capability(r.Effect, names, arguments), Sources: []Source{{r, note}}}
	long := len(c.value.json()) > maxBytes
	switch {
	case slices.ContainsFunc(tools, func(name string) bool { return len(name) > maxGlob }), long && (r.Effect == allow || arguments == nil):
		t.leave(r, "it is too long")
	case long:
		t.add(r, tools, nil, "every call")
	case t.first(string(c.value.json())):
		t.Capabilities = append(t.Capabilities, c)
	}
}

func (t *translation) leave(r Rule, format string, args ...any) {
	t.Left = append(t.Left, Left{r, fmt.Sprintf(format, args...)})
}

func (t *translation) capability(effect string, tools, arguments any) object {
	params := object{{"name", tools}}
	if arguments != nil {
		params = append(params, member{"arguments", arguments})
	}
	payload := member{"payload", object{{"params", params}}}
	switch effect {
	case deny: // a proposal has no recipient
		return object{{"kind", "mcp.*"}, payload, {"deny", true}}
	case ask:
		return object{{"kind", "mcp.request"}, {"to", t.Participant}, payload, {"deny", true}}
	}
	return object{{"kind", "mcp.request"}, {"to", t.Participant}, payload}
}

// document parses a file of JSON; an empty one is an empty object.
func document(f *File) (protocol.Value, error) {
	f.Text = bytes.TrimPrefix(f.Text, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(f.Text)) == 0 {
		f.Text = []byte("{}")
	}
	doc, err := protocol.ParseForeignJSON(f.Text, protocol.MaxDepth)
	var syntax *protocol.SyntaxError
	if errors.As(err, &syntax) {
		return protocol.Value{}, fmt.Errorf("%s:%d: %s", f.Path, lineOf(f.Text, syntax.Offset), syntax.Detail)
	}
	if doc.Root().Type() != protocol.TypeObject {
		return protocol.Value{}, fmt.Errorf("%s: expected a JSON object", f.Path)
	}
	return doc.Root(), nil
}

func lineOf(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(offset, len(text))], []byte("\n"))
}

// rules returns the texts of a list of rules. Other values in it are left.
func (t *translation) rules(f *File, effect, name string, list protocol.Value) (out []Rule, err error) {
	switch list.Type() {
	case protocol.TypeNone, protocol.TypeNull:
		return nil, nil
	case protocol.TypeArray:
	default:
		return nil, fmt.Errorf("%s:%d: %s: expected an array of texts", f.Path, lineOf(f.Text, list.Offset()), name)
	}
	line, at := 1, 0
	for v := range list.Elements {
		line += bytes.Count(f.Text[at:v.Offset()], []byte("\n"))
		at = v.Offset()
		r := Rule{effect, v.Text(), f.Path, line}
		if v.Type() != protocol.TypeString {
			r.Text = string(v.Raw())
			t.leave(r, "it is no text")
			continue
		}
		out = append(out, r)
	}
	return out, nil
}

// settings leaves the settings beside the rules that decide about calls too.
func (t *translation) settings(f *File, in protocol.Value, reasons map[string]string, names ...string) {
	for _, name := range names {
		if v := in.Get(name); v.Exists() {
			t.leave(Rule{setting, name + ": " + string(v.Raw()), f.Path, lineOf(f.Text, v.Offset())}, "%s", reasons[name])
		}
	}
}

// textPattern returns a text pattern for a text in which stars are any text; false: there is
// none.
func textPattern(text string) (string, bool) {
	isRegexp := len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/'
	return doubleStars(text), !strings.HasPrefix(text, "!") && !isRegexp && len(text) <= maxGlob/2
}
