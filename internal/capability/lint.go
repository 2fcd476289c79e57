package capability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Finding is a part of a configuration that probably does not have the intended
// effect.
type Finding struct {
	Index   int // of the capability; -1: all of them
	Message string
	// Mistake: nothing can match, since a kind, a field or a value is misspelled or
	// misplaced; or a text stands for a command, a path or a URL of a tool that is known.
	Mistake bool
}

// Lint looks for capabilities of a participant that can never match, that name
// unknown kinds or participants, and that make one another pointless. known
// lists the participants of the space; nil if they cannot be known.
func Lint(holder protocol.ParticipantID, caps []*Capability, known []protocol.ParticipantID) []Finding {
	l := linter{known: known, work: Work{left: math.MaxInt}}
	useful := false
	for i, c := range caps {
		l.index = i
		if why := c.never(); why != "" {
			l.mistake("it can never match: %s", why)
			continue
		}
		l.capability(c)
		shadowed := l.shadowed(c, caps)
		l.redundant(caps)
		useful = useful || !shadowed && !c.deny
	}
	if !useful {
		l.index = -1
		l.report("%s can do nothing: no capability allows anything", holder)
	}
	return l.findings
}

// LintCall is Lint for a pattern of calls. deny: it has the sense of a deny rule.
func LintCall(c *Capability, deny bool, known []protocol.ParticipantID) []Finding {
	if deny {
		c = c.asDeny()
	}
	return slices.DeleteFunc(Lint("", []*Capability{c}, known), func(f Finding) bool { return f.Index < 0 })
}

type linter struct {
	known    []protocol.ParticipantID
	work     Work // a configuration is trusted: without a bound
	index    int
	findings []Finding
}

func (l *linter) report(format string, args ...any) {
	l.findings = append(l.findings, Finding{Index: l.index, Message: fmt.Sprintf(format, args...)})
}

func (l *linter) mistake(format string, args ...any) {
	l.findings = append(l.findings, Finding{Index: l.index, Message: fmt.Sprintf(format, args...), Mistake: true})
}

// capability looks at a capability by itself.
func (l *linter) capability(c *Capability) {
	l.unknownKind(c)
	if kind, ok := c.kind.Literal(); ok {
		if kind == observe && !c.plain && !c.deny {
			l.report("observe is a right to read only without payload, to and context")
		}
		if c.payload != nil {
			l.unknownFields(kind, c.payload)
		}
	}
	if c.to != nil && l.known != nil && c.to.NamesUnknown(l.known) {
		l.report("to %s names no participant of the space", c.to.Source)
	}
	for _, t := range []*target{c.to, c.context} {
		if t != nil {
			t.Suspicious(l.report)
		}
	}
	if c.payload != nil {
		c.payload.Suspicious(l.report)
		if !c.deny {
			l.arguments(c.payload, "", c.payload.tool())
		}
	}
}

// knownTools are tools of coding agents that run a text or open a path or a URL.
var knownTools = []string{
	"Bash", "Shell", "shell", "exec_command", "local_shell", "run_terminal_cmd", "run_shell_command", "execute_command",
	"Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "WebFetch", "web_fetch",
}

// RelativePaths reports whether the capability compares paths with relative ones.
func (c *Capability) RelativePaths() bool { return c.payload != nil && c.payload.relativePaths() }

func (p *Pattern) relativePaths() bool {
	if p.class == classTyped && (p.typed.path != nil && p.typed.path.Relative() || p.typed.shell != nil && p.typed.shell.Relative()) {
		return true
	}
	return slices.ContainsFunc(p.fields, func(f field) bool { return f.value.relativePaths() }) ||
		slices.ContainsFunc(p.alts, func(x Pattern) bool { return x.relativePaths() })
}

// tool returns the tool whose calls the pattern of a payload matches; "": several.
func (p *Pattern) tool() string {
	return p.named("params").named("name").exactly()
}

// named returns the pattern of a field; nil: there is none.
func (p *Pattern) named(name string) *Pattern {
	if p != nil {
		for i := range p.fields {
			if k := &p.fields[i].key; k.class == keyName && k.name == name {
				return &p.fields[i].value
			}
		}
	}
	return nil
}

// exactly returns the only text that the pattern matches; "": several, or none.
func (p *Pattern) exactly() string {
	if p != nil && p.class == classText && p.text.class == textExact && !p.text.negate {
		return p.text.exact
	}
	return ""
}

// arguments reports patterns of text for commands, paths and URLs, which may mean something
// else than they look like, and rules for commands that run other commands.
func (l *linter) arguments(p *Pattern, key, tool string) {
	for i := range p.fields {
		f := &p.fields[i]
		l.arguments(&f.value, cmp.Or(f.key.name, key), tool)
	}
	for i := range p.alts {
		l.arguments(&p.alts[i], key, tool)
	}
	if p.class == classTyped && p.typed.shell != nil {
		for _, name := range p.typed.shell.Runners() {
			l.report("%s runs commands that its words name or that are in a file, so it allows more than it shows", name)
		}
	}
	if p.class != classText || p.meant || p.text.class == textExact {
		return
	}
	var better string
	switch ArgumentMatcher(key) {
	case "$shell":
		words := strings.Fields(strings.ReplaceAll(p.text.glob.String(), "**", "*"))
		if len(words) > 0 && glob.HasStar(words[len(words)-1]) {
			words[len(words)-1] = "**"
		}
		better = `{$shell: {commands: ["` + strings.Join(words, " ") + `"]}}`
	case "$path":
		folder, _, _ := strings.Cut(p.text.glob.String(), "*")
		better = `{$path: {below: ` + quote(cmp.Or(strings.TrimSuffix(folder, "/"), ".")) + `}}`
	case "$url":
		better = `{$url: {host: […]}}`
	default:
		return
	}
	if p.text.class == textRegexp || p.text.negate {
		better, _, _ = strings.Cut(better, ":")
		better += ": …}"
	}
	report := l.report
	if slices.Contains(knownTools, tool) {
		report = l.mistake
	}
	report(`%s is compared as text, which may mean something else to the tool; write %s: %s, or {$text: …} if text is meant`, p.Source, key, better)
}

// never returns why the capability cannot select any request, or "" if it can
// or that is not clear.
func (c *Capability) never() string {
	if kind := c.kind.String(); kind == "!*" || kind == "!**" {
		return "it excludes every kind"
	}
	if c.to != nil && c.to.Never(c.deny, protocol.ValidParticipantID) {
		return "no to matches " + c.to.Source
	}
	if c.context != nil && c.context.Never(c.deny, validContext) {
		return "no context matches " + c.context.Source
	}
	if c.payload != nil && !c.payload.MayBeObject(c.mode(&Request{})) {
		return fmt.Sprintf("the payload is an object, which %s does not match", c.payload.Source)
	}
	return ""
}

func validContext(s string) bool {
	_, ok := protocol.ParseContextPath(s, protocol.MaxContextBytes)
	return ok || s == ""
}

func (l *linter) shadowed(c *Capability, all []*Capability) bool {
	if c.deny {
		return false
	}
	for _, d := range all {
		if d.deny && d.covers(c, &l.work) {
			l.report("it allows nothing: %s denies all of it", short(d.String()))
			return true
		}
	}
	return false
}

// redundant reports capabilities that another one covers: of two equal ones, the
// later.
func (l *linter) redundant(all []*Capability) {
	i := l.index
	c := all[i]
	for j, other := range all {
		if i == j {
			continue
		}
		if string(c.source) == string(other.source) {
			if j < i {
				l.report("it is a duplicate of an earlier one")
				return
			}
			continue
		}
		if l.contains(other, c) && (j < i || !l.contains(c, other)) {
			l.report("it adds nothing: %s allows all of it", short(other.String()))
			return
		}
	}
}

func (l *linter) contains(a, b *Capability) bool {
	return !a.deny && !b.deny && a.covers(b, &l.work)
}

var knownKinds = append(protocol.Kinds(), observe, Decide)

// unknownKind reports patterns that select no kind that means anything.
// Applications' own kinds (x.*) mean something, and so does any reasoning kind.
func (l *linter) unknownKind(c *Capability) {
	body := strings.TrimLeft(c.kind.String(), "/^")
	if strings.HasPrefix(c.kind.String(), "!") || slices.ContainsFunc(knownKinds, c.kind.Match) {
		return
	}
	if strings.HasPrefix(body, "x.") || strings.HasPrefix(body, "x/") || strings.HasPrefix(body, `x\.`) || strings.HasPrefix(body, "*") {
		return
	}
	kind, literal := c.kind.Literal()
	if literal && kind.IsReserved() {
		l.mistake("only the gateway may send %s", kind)
		return
	}
	if literal && kind.IsReasoning() {
		return
	}
	l.mistake("no kind of the protocol matches %s; kinds of applications begin with x.", c.kind.String())
}

// rpcFields are the fields of a JSON-RPC message.
var rpcFields = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// proposalFields are further fields of a proposal.
var proposalFields = []string{"participant_id", "expires_at"}

// callFields are the parameters of tools/call, likeCallFields those of other methods that are spelled like them.
var (
	callFields     = []string{"name", "arguments", "_meta", "task"}
	likeCallFields = []string{"argument", "taskId"}
)

// unknownFields reports fields that MCP payloads do not have. Most of them are
// one level too high.
func (l *linter) unknownFields(kind protocol.Kind, p *Pattern) {
	if kind != protocol.KindMCPRequest && kind != protocol.KindMCPProposal && kind != protocol.KindMCPResponse {
		return
	}
	for _, name := range p.Names() {
		if !slices.Contains(rpcFields, name) && (kind != protocol.KindMCPProposal || !slices.Contains(proposalFields, name)) {
			l.mistake("the payload of %s has no field %s; does it belong inside params?", kind, name)
		}
	}
	params, method := p.named("params"), p.named("method")
	if params == nil || method != nil && method.exactly() != "tools/call" {
		return
	}
	for _, name := range params.Names() {
		misspelled := method != nil || textutil.Closest(name, callFields) != "" && !slices.Contains(likeCallFields, name)
		if misspelled && !slices.Contains(callFields, name) {
			l.mistake("the parameters of a call have no field %s; %s", name, textutil.Suggest(name, callFields))
		}
	}
}
