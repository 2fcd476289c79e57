package capability

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Finding is a part of a configuration that probably does not have the intended
// effect.
type Finding struct {
	Index   int // of the capability; -1: all of them
	Message string
	Mistake bool // nothing can match: a kind, a field or a value is misspelled or misplaced
}

// Lint looks for capabilities of a participant that can never match, that name
// unknown kinds or participants, and that make one another pointless. known
// lists the participants of the space; nil if they cannot be known.
func Lint(holder protocol.ParticipantID, caps []*Capability, known []protocol.ParticipantID) []Finding {
	l := linter{known: known, work: math.MaxInt}
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
	}
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

// unknownFields reports fields that MCP payloads do not have. Most of them are
// one level too high.
func (l *linter) unknownFields(kind protocol.Kind, p *Pattern) {
	if kind != protocol.KindMCPRequest && kind != protocol.KindMCPProposal && kind != protocol.KindMCPResponse {
		return
	}
	for _, name := range p.Names() {
		if !slices.Contains(rpcFields, name) {
			l.mistake("the payload of %s has no field %s; does it belong inside params?", kind, name)
		}
	}
}
