package capability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/protocol"
)

// Reason is why a capability selects a request, or the first part of it that
// does not match. The sentence contains values of the payload: show it to
// participants that may see the envelope, do not log it.
type Reason struct {
	Capability *Capability
	Sentence   string
}

// Explain returns a reason for each capability of the set, for deny rules first.
func (s *Set) Explain(r *Request) []Reason {
	var out []Reason
	for _, c := range slices.Concat(s.denies, s.allows) {
		out = append(out, Reason{c, c.explain(r)})
	}
	return out
}

// mismatch is a part of a capability that does not match: its place in the
// capability and the envelope ("/payload/params/name"), the pattern there, and
// the value, both as JSON. An absent value is "".
type mismatch struct{ pointer, pattern, value string }

func (c *Capability) explain(r *Request) string {
	var x mismatch
	m, w := c.mode(), newWork(r)
	switch {
	case !c.kind.Match(r.Kind):
		x = mismatch{"/kind", quote(c.kind.String()), quote(string(r.Kind))}
	case c.to != nil && !c.to.matchTo(r.To, m, &w):
		x = mismatch{"/to", c.to.source, addressees(r.To)}
	case c.context != nil && !c.context.matchContext(r.Context, m, &w):
		x = mismatch{"/context", c.context.source, quote(string(r.Context))}
	case c.payload != nil && !c.payload.match(payloadOf(r), m, &w):
		x = c.payload.mismatch("/payload", payloadOf(r), m, &w)
	case c.deny:
		return short(c.String()) + " denies it"
	default:
		return short(c.String()) + " allows it"
	}
	if x.value == "" {
		return fmt.Sprintf("%s does not apply: there is no %s for %s to match", short(c.String()), x.pointer, short(x.pattern))
	}
	return fmt.Sprintf("%s does not apply: %s is %s, which %s does not match", short(c.String()), x.pointer, short(x.value), short(x.pattern))
}

// mismatch finds the part of p that did not match v.
func (p *pattern) mismatch(pointer string, v protocol.Value, m mode, w *work) mismatch {
	if p.class == classObject && v.Type() == protocol.TypeObject {
		for i := range p.fields {
			f := &p.fields[i]
			if f.match(v, m, w) {
				continue
			}
			pointer += "/" + protocol.EscapePointer(f.key.source)
			if x := f.single(v, m); x.Exists() {
				return f.value.mismatch(pointer, x, m, w)
			}
			return mismatch{pointer, f.value.source, ""}
		}
	}
	return mismatch{pointer, p.source, string(v.Raw())}
}

// single returns the value that a named key selects, the first one in a deny
// rule.
func (f *field) single(v protocol.Value, m mode) protocol.Value {
	if f.key.class == keyName {
		for k, x := range v.Members {
			if f.key.selects(k, m) {
				return x
			}
		}
	}
	return protocol.Value{}
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
