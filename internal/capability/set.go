package capability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Set is a list of capabilities that allow and deny together. It is immutable
// and safe for concurrent use. The zero Set allows nothing.
type Set struct {
	given  []*Capability // all of them, in the order in which they were given
	allows []*Capability
	denies []*Capability
}

// Decision is the answer to a request.
type Decision struct {
	Allowed bool
	// By is the capability that allowed or denied; nil if none selects the
	// request.
	By *Capability
	// Grant is the grant that By came with; "" for a configured capability.
	Grant protocol.ID
}

// NewSet returns the set of these capabilities. A deny rule among them wins
// over all others.
func NewSet(caps ...*Capability) *Set {
	s := &Set{given: caps}
	for _, c := range caps {
		if c.deny {
			s.denies = append(s.denies, c)
		} else {
			s.allows = append(s.allows, c)
		}
	}
	return s
}

// Decide reports whether the set allows the request: a capability selects it
// and no deny rule does. It does not allocate, unless a pattern has to decode
// an escaped text.
func (s *Set) Decide(r *Request) Decision {
	q := query{request: r, work: newWork(r)}
	f := q.limit(finding{}, s.denies)
	if f.obstacle == nil {
		f = q.choose(s.allows)
	}
	return f.decision()
}

// Explain returns a sentence for each capability of the set, for deny rules first: the
// capability, and why it selects a request, or the first part that does not match. For typed
// patterns, a line for each part of a command, path and URL follows. It contains values of the payload: show it to participants that may see the envelope, do
// not log it.
func (s *Set) Explain(r *Request) []string {
	var out []string
	for _, c := range slices.Concat(s.denies, s.allows) {
		out = append(out, c.explain(r))
		if c.payload != nil && !c.deny && c.kind.Match(r.Kind) {
			w := newWork(r)
			out = append(out, c.payload.verdicts(payloadOf(r), c.mode(r), &w)...)
		}
	}
	return out
}

func (c *Capability) explain(r *Request) string {
	var x Mismatch
	m, w := c.mode(r), newWork(r)
	switch {
	case !c.kind.Match(r.Kind):
		x = Mismatch{Pointer: "/kind", Pattern: quote(c.kind.String()), Value: quote(string(r.Kind))}
	case c.to != nil && !c.to.MatchTo(r.To, m, &w):
		x = Mismatch{Pointer: "/to", Pattern: c.to.Source, Value: addressees(r.To)}
	case c.context != nil && !c.context.MatchContext(r.Context, m, &w):
		x = Mismatch{Pointer: "/context", Pattern: c.context.Source, Value: quote(string(r.Context))}
	case c.payload != nil && !c.payload.Match(payloadOf(r), m, &w):
		x = c.payload.Mismatch("/payload", payloadOf(r), m, &w)
	case c.claims != claimsIgnored && !c.claimed(r):
		return c.String() + " does not apply: " + c.unclaimed(r)
	case c.deny:
		return c.String() + " denies it"
	default:
		return c.String() + " allows it"
	}
	if x.Value == "" {
		return fmt.Sprintf("%s does not apply: there is no %s for %s to match", c.String(), x.Pointer, short(x.Pattern))
	}
	return fmt.Sprintf("%s does not apply: %s is %s, which %s does not match", c.String(), x.Pointer, short(x.Value), short(x.Pattern))
}

func addressees(to []protocol.ParticipantID) string {
	var quoted []string
	for _, id := range to {
		quoted = append(quoted, quote(string(id)))
	}
	if quoted == nil {
		return ""
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// quote writes s as a JSON string.
func quote(s string) string { return string(protocol.AppendString(nil, s)) }

// short shortens a part of a sentence.
func short(s string) string { return textutil.Shorten(s, 120) }

// Mismatch is a part of a capability that does not match: its place in the
// capability and the envelope ("/payload/params/name"), the pattern there, and
// the value, both as JSON. An absent value is "".
type Mismatch struct{ Pointer, Pattern, Value string }

// Mismatch finds the part of p that did not match v.
func (p *Pattern) Mismatch(pointer string, v protocol.Value, m Mode, w *Work) Mismatch {
	if p.class == classObject && v.Type() == protocol.TypeObject {
		for i := range p.fields {
			f := &p.fields[i]
			if f.match(v, m, w) {
				continue
			}
			pointer += "/" + protocol.EscapePointer(f.key.source)
			if x := f.single(v, m); x.Exists() {
				return f.value.Mismatch(pointer, x, m, w)
			}
			return Mismatch{pointer, f.value.Source, ""}
		}
	}
	return Mismatch{pointer, p.Source, string(v.Raw())}
}

// single returns the value that a named key selects, the first one in a deny
// rule.
func (f *field) single(v protocol.Value, m Mode) protocol.Value {
	if f.key.class == keyName {
		for k, x := range v.Members {
			if f.key.selects(k, m) {
				return x
			}
		}
	}
	return protocol.Value{}
}
