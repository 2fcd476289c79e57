package capability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Explain returns a sentence for each capability of the set, for deny rules first: the
// capability, and why it selects a request, or the first part that does not match. It
// contains values of the payload: show it to participants that may see the envelope, do
// not log it.
func (s *Set) Explain(r *Request) []string {
	var out []string
	for _, c := range slices.Concat(s.denies, s.allows) {
		out = append(out, c.explain(r))
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
