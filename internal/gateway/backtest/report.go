package backtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// What the new configuration is compared with.
const (
	BaselineRecord  = "record"  // what happened
	BaselineCurrent = "current" // and what the configuration in force says
)

type groupKey struct {
	outcome     string
	people      string // what they decided on the calls, if that is not what becomes of them: approved, rejected
	participant protocol.ParticipantID
	kind        protocol.Kind
	rule, why   string
	before      string
}

// What people decided on a call.
const (
	approved = "approved"
	rejected = "rejected"
)

// saved is a proposal that nobody would have been asked about.
type saved struct {
	key     groupKey
	example api.BacktestExample
}

// differs counts an envelope.
func (r *run) differs(q *question, says, before verdict) {
	e := &q.entry.Envelope
	r.report.Different++
	switch says.outcome {
	case Allowed:
		r.report.Allowed++
	case Asked:
		r.report.Asked++
	case Masked:
		r.report.Masked++
	case Unmasked:
		r.report.Unmasked++
	default:
		r.report.Refused++
	}
	key := groupKey{says.outcome, "", e.From, e.Kind, says.rule, says.why, before.rule}
	x := api.BacktestExample{ID: e.ID, Seq: e.Seq, TS: e.TS}
	if says.outcome == Allowed || says.outcome == Refused && e.Kind == protocol.KindMCPProposal { // how it was decided follows
		x.What = r.describe(q)
		r.saved[e.ID] = &saved{key, x}
		return
	}
	r.count(key, x, func() string { return r.describe(q) })
}

// decided notes a decision on proposals that nobody would have been asked about.
func (r *run) decided(e *protocol.Envelope, payload protocol.Value) {
	for _, id := range e.Correlation.IDs {
		s := r.saved[id]
		switch {
		case s == nil || s.key.people != "":
		case e.Kind == protocol.KindMCPReject:
			s.key.people, s.example.Rejected = rejected, e.From
			s.example.Reason = exchange.OutcomeReason(r.shown(payload.Get("reason").Text()))
			if s.key.outcome == Allowed {
				r.report.LetThrough++
			}
		case e.Kind == protocol.KindMCPRequest && s.key.outcome == Refused && !payload.Get("edited").Bool():
			s.key.people, s.example.Approved = approved, e.From
		}
	}
}

func (r *run) count(key groupKey, x api.BacktestExample, what func() string) {
	g := r.groups[key]
	if g == nil {
		g = &api.BacktestGroup{
			Space: r.Space, Outcome: key.outcome, Participant: key.participant, Kind: key.kind, Rule: key.rule, Why: key.why, Before: key.before, Examples: []api.BacktestExample{},
		}
		r.groups[key] = g
	}
	g.Count++
	if x.Rejected != "" && !slices.Contains(g.RejectedBy, x.Rejected) {
		g.RejectedBy = append(g.RejectedBy, x.Rejected)
	}
	if x.Approved != "" && !slices.Contains(g.ApprovedBy, x.Approved) {
		g.ApprovedBy = append(g.ApprovedBy, x.Approved)
	}
	if len(g.Examples) < r.Examples {
		if x.What == "" {
			x.What = what()
		}
		g.Examples = append(g.Examples, x)
	}
}

// rank orders groups by how much they ask for attention.
func rank(g *api.BacktestGroup) int {
	if len(g.ApprovedBy) > 0 || g.Outcome == Allowed && len(g.RejectedBy) > 0 {
		return 0
	}
	return 1 + slices.Index([]string{Refused, Asked, Allowed, Masked, Unmasked}, g.Outcome)
}

// conclude puts the groups of a report in their order, and adds the summary.
func conclude(r *api.Backtest) {
	slices.SortFunc(r.Groups, func(a, b api.BacktestGroup) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Space, b.Space), cmp.Compare(a.Participant, b.Participant),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Before, b.Before))
	})
	r.Summary = summary(r)
}

// Add adds the report of another space.
func Add(r, o *api.Backtest) {
	if r.Envelopes == 0 || o.Envelopes > 0 && o.From.Before(r.From) {
		r.From = o.From
	}
	if o.To.After(r.To) {
		r.To = o.To
	}
	if o.Baseline == BaselineRecord {
		r.Baseline = BaselineRecord
	}
	r.Spaces = append(r.Spaces, o.Spaces...)
	r.Envelopes += o.Envelopes
	r.Different += o.Different
	r.Allowed += o.Allowed
	r.Refused += o.Refused
	r.Asked += o.Asked
	r.Masked += o.Masked
	r.Unmasked += o.Unmasked
	r.LetThrough += o.LetThrough
	r.Unjudged += o.Unjudged
	r.Unseen += o.Unseen
	r.Groups = append(r.Groups, o.Groups...)
	conclude(r)
}

// maxWhat bounds the description of an envelope, in characters.
const maxWhat = 120

// describe describes an envelope in a line, without secrets that the new safety rules
// know.
func (r *run) describe(q *question) string {
	e := &q.entry.Envelope
	var text string
	if e.Kind == protocol.KindMCPRequest || e.Kind == protocol.KindMCPProposal {
		name, params := exchange.ShownCall(q.payload)
		text = name + " " + string(params)
	} else {
		for _, field := range []string{"text", "message", "content", "reason"} {
			text = q.payload.Get(field).Text()
			if text != "" {
				break
			}
		}
		if text == "" {
			text = string(q.payload.Raw())
		}
	}
	return termsafe.Cut(termsafe.Words(r.shown(text)), maxWhat)
}

// shown masks secrets in a text for people.
func (r *run) shown(text string) string { return r.new.policy.Safety.Text(text) }

// summary says in a sentence what the configuration would have changed.
func summary(r *api.Backtest) string {
	var parts []string
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, textutil.Count(n, "envelope")))
		}
	}
	times := func(n int, text string) {
		if n > 0 {
			parts = append(parts, "asked "+textutil.Count(n, "time")+" "+text)
		}
	}
	times(r.Allowed, "fewer")
	times(r.Asked, "more")
	if r.LetThrough > 0 {
		parts = append(parts, "let through "+count(r.LetThrough, "call that was", "calls that were")+" rejected")
	}
	if r.Refused > 0 {
		parts = append(parts, "refused "+refused(r))
	}
	add(r.Masked, "masked text in %s")
	add(r.Unmasked, "left text in %s unmasked")
	if len(parts) == 0 {
		return "This configuration would have decided all of them as now."
	}
	return "This configuration would have " + and(parts) + "."
}

// refused says what is refused, and what people decided on it.
func refused(r *api.Backtest) string {
	var parts []string
	rest := r.Refused
	for _, was := range []string{approved, rejected} {
		n := 0
		for i := range r.Groups {
			g := &r.Groups[i]
			if g.Outcome == Refused && (was == approved && len(g.ApprovedBy) > 0 || was == rejected && len(g.RejectedBy) > 0) {
				n += g.Count
			}
		}
		if n > 0 {
			parts = append(parts, count(n, "call that was ", "calls that were ")+was)
		}
		rest -= n
	}
	if rest > 0 {
		parts = append(parts, textutil.Count(rest, "envelope"))
	}
	return and(parts)
}

// and joins the parts of a sentence.
func and(parts []string) string {
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return textutil.Thousands(int64(n)) + " " + more
}
