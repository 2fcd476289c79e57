package capability

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// Reason says what one capability has to do with a request.
type Reason struct {
	Capability *Capability
	// Deny: it takes away. Either it is a deny rule, or it was taken from
	// another capability of the set, by a revocation or with a delegation.
	Deny bool
	// Selected: it selects the request.
	Selected bool
	// What failed first, if not Selected: where in the capability and the
	// envelope ("/payload/params/name"), the pattern there as JSON, and the
	// value as JSON, shortened; Value is "" where there is none.
	Pointer string
	Pattern string
	Value   string
	// Sentence says all that in words.
	Sentence string
}

// Explain says of every capability in the set why it selects the request or
// what failed first. Values of the payload appear in it: it is for people who
// may see the envelope, not for logs.
func (s *Set) Explain(r *Request) []Reason {
	if s == nil {
		return nil
	}
	var out []Reason
	for _, d := range s.denies {
		out = append(out, d.explain(r, modeDeny))
	}
	for i := range s.rules {
		u := &s.rules[i]
		reason := u.cap.explain(r, modeAllow)
		out = append(out, reason)
		if !reason.Selected {
			continue
		}
		for _, x := range u.except {
			out = append(out, x.explain(r, modeDeny))
		}
	}
	return out
}

func (c *Capability) explain(r *Request, m mode) Reason {
	reason := Reason{Capability: c, Deny: m.deny()}
	w := newWork()
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
	r.Pointer, r.Pattern, r.Value = pointer, shorten(pattern), shorten(value)
}

func (r *Reason) sentence() string {
	verb := "allows"
	if r.Deny {
		verb = "denies"
	}
	text := shorten(r.Capability.String())
	switch {
	case r.Selected:
		return fmt.Sprintf("%s %s it", text, verb)
	case r.Value == "":
		return fmt.Sprintf("%s does not apply: there is no %s for %s to match", text, r.Pointer, r.Pattern)
	}
	return fmt.Sprintf("%s does not apply: %s is %s, which %s does not match", text, r.Pointer, r.Value, r.Pattern)
}

// explain finds what in p failed to match v.
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
		at := pointer + "/" + escapePointer(f.key.source)
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

// shorten cuts what is shown of a long text.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
