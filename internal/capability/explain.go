package capability

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/protocol"
)

// Reason is how one capability applies to a request.
type Reason struct {
	Capability *Capability // nil: a granter holds none that selects the request
	// Holder holds the capability: the participant that asks, or one further
	// up the chain of grants. Of a Set it is empty.
	Holder protocol.ParticipantID
	Grant  protocol.ID // that the capability came with; empty for a configured one
	// Deny: it takes away. Either it is a deny rule, or it was taken from
	// another capability by a revocation.
	Deny bool
	// Selected: it selects the request.
	Selected bool
	// The first failure, if not Selected: its place in the capability and the
	// envelope ("/payload/params/name"), the pattern there as JSON, and the
	// value as JSON, shortened; Value is "" for an absent value.
	Pointer string
	Pattern string
	Value   string
	// Sentence is all that in words.
	Sentence string
}

// Explain returns for each capability of the set why it selects the request, or
// the first failure. The result contains values of the payload: show it to
// participants that may see the envelope, do not log it.
func (s *Set) Explain(r *Request) []Reason {
	if s == nil {
		return nil
	}
	var out []Reason
	for _, d := range s.denies {
		out = append(out, d.explain(r, modeDeny))
	}
	for _, c := range s.allows {
		out = append(out, c.explain(r, modeAllow))
	}
	return out
}

// Explain is [Set.Explain] for all that the participant holds. A granted
// capability that selects the request is followed by the chain of capabilities
// by which its granter may make it, up to a configured one.
func (h Rights) Explain(r *Request) []Reason {
	q := query{ledger: h.ledger, now: h.now, request: r, work: newWork(r)}
	holder := h.ledger.holder(h.holder)
	out := h.ledger.base(h.holder).Explain(r)
	for _, v := range holder.revoked {
		if reason := v.rule.explain(r, modeDeny); reason.Selected {
			out = append(out, reason)
		}
	}
	for i := range out {
		out[i].Holder = h.holder
	}
	for _, g := range holder.grants {
		if g.expired(h.now) {
			continue
		}
		reasons := g.set.Explain(r)
		for i := range reasons {
			reasons[i].Holder, reasons[i].Grant = h.holder, g.ID
		}
		out = append(out, reasons...)
		if q.choose(g.set.allows).by != nil {
			out = append(out, q.chain(g)...)
		}
	}
	return out
}

// chain returns by which capabilities the granter of g may make the request.
func (q *query) chain(g *record) []Reason {
	var out []Reason
	for depth := 1; g != nil; depth++ {
		f := q.find(g.Granter, g.position, depth)
		reason := Reason{Holder: g.Granter, Capability: f.obstacle, Deny: f.obstacle != nil, Selected: f.obstacle != nil}
		switch {
		case f.by != nil:
			reason = f.by.explain(q.request, modeAllow)
			reason.Holder = g.Granter
		case f.obstacle != nil:
			reason.Sentence = reason.sentence()
		default:
			reason.Sentence = fmt.Sprintf("grant %s gives nothing: %s does not hold it", g.ID, g.Granter)
		}
		if g = f.grant; g != nil {
			reason.Grant = g.ID
		}
		out = append(out, reason)
	}
	return out
}

func (c *Capability) explain(r *Request, m mode) Reason {
	reason := Reason{Capability: c, Deny: m.deny()}
	w := newWork(r)
	switch {
	case !c.kind.Match(r.Kind):
		reason.fail("/kind", string(quote(c.kind.String())), string(quote(string(r.Kind))))
	case c.to != nil && !c.to.matchTo(r.To, m, &w):
		reason.fail("/to", c.to.source, addressees(r.To))
	case c.context != nil && !c.context.matchContext(r.Context, m, &w):
		reason.fail("/context", c.context.source, string(quote(string(r.Context))))
	case c.payload != nil && !c.payload.match(payloadOf(r), m, &w):
		c.payload.explain(&reason, "/payload", payloadOf(r), m, &w)
	default:
		reason.Selected = true
	}
	reason.Sentence = reason.sentence()
	return reason
}

func (r *Reason) fail(pointer, pattern, value string) {
	r.Pointer, r.Pattern, r.Value = pointer, textutil.Shorten(pattern, maxShown), textutil.Shorten(value, maxShown)
}

func (r *Reason) sentence() string {
	verb := "allows"
	if r.Deny {
		verb = "denies"
	}
	text := textutil.Shorten(r.Capability.String(), maxShown)
	switch {
	case r.Selected:
		return fmt.Sprintf("%s %s it", text, verb)
	case r.Value == "":
		return fmt.Sprintf("%s does not apply: there is no %s for %s to match", text, r.Pointer, r.Pattern)
	}
	return fmt.Sprintf("%s does not apply: %s is %s, which %s does not match", text, r.Pointer, r.Value, r.Pattern)
}

// explain finds the part of p that did not match v.
func (p *pattern) explain(r *Reason, pointer string, v protocol.Value, m mode, w *work) {
	if p.class != classObject || v.Type() != protocol.TypeObject {
		r.fail(pointer, p.source, string(v.Raw()))
		return
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.match(v, m, w) {
			continue
		}
		at := pointer + "/" + protocol.EscapePointer(f.key.source)
		if x, ok := f.single(v, m); ok {
			f.value.explain(r, at, x, m, w)
			return
		}
		r.fail(at, f.value.source, "")
		return
	}
}

// single returns the value that a named key selects, the first one in a deny
// rule.
func (f *field) single(v protocol.Value, m mode) (protocol.Value, bool) {
	if f.key.class == keyName {
		for k, x := range v.Members {
			if f.key.selects(k, m) {
				return x, true
			}
		}
	}
	return protocol.Value{}, false
}

func addressees(to []protocol.ParticipantID) string {
	if len(to) == 0 {
		return ""
	}
	quoted := make([]string, len(to))
	for i, id := range to {
		quoted[i] = string(quote(string(id)))
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

const maxShown = 120
