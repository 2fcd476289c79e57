package reduce

import (
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// A part is a context whose reasoning.start, sent by one agent, asks another
// participant to reason in it. That participant's conclusion, or anyone's cancel,
// ends it. The page has the same rules (web/src/core/reduce/steps.ts).

// readAsked reads the participant that a nested reasoning.start asks.
func (it *Item) readAsked(p protocol.Value) {
	env := it.Env()
	who := protocol.ParticipantID(p.Get("participant_id").Text())
	if env.Context != "" && protocol.ValidParticipantID(string(who)) && who != env.From && (len(env.To) == 0 || env.AddressedTo(who)) {
		it.asked = protocol.ParticipantID(strings.Clone(string(who)))
	}
}

// reasoner is the participant that reasons in a context: its opener, or the one
// that the opener asked.
func (c *span) reasoner() protocol.ParticipantID {
	if c.asked != "" {
		return c.asked
	}
	return c.opener
}

// parts returns the parts that an agent asked others to take, the first ones.
func (b *Builder) parts(agent protocol.ParticipantID, d *Display) []api.Part {
	var list []api.Part
	spent := 0
	for _, c := range b.contexts {
		if c.asked == "" || c.opener != agent || len(list) == maxEntries {
			continue
		}
		info := b.part(c, d)
		spent += len(info.Question) + len(info.Conclusion) + len(info.Rationale)
		if spent > maxRationales {
			info.Question = textutil.Shorten(info.Question, shortRationale)
			info.Conclusion = textutil.Shorten(info.Conclusion, shortRationale)
			info.Rationale = textutil.Shorten(info.Rationale, shortRationale)
		}
		list = append(list, info)
	}
	return list
}

// part is the context of a part as it is shown. The end of a context around it ends it too.
func (b *Builder) part(c *span, d *Display) api.Part {
	shown := d.of(c.start)
	info := api.Part{
		ID: c.start.Env().ID, Participant: c.asked, Question: shown.text, Outcome: api.PartPending,
		Metadata: shown.details.Metadata, Context: c.path, StartedAt: protocol.Time{Time: c.begun},
	}
	if c.why != nil {
		info.Rationale = textutil.Shorten(d.of(c.why.it).text, maxRationale)
		if c.why.it.group >= 0 {
			info.ParallelGroup = &c.why.it.group
		}
	}
	end := c.closed
	for path := c.path.Parent(); end == nil && path != ""; path = path.Parent() {
		outer := b.byPath[path]
		if outer != nil {
			end = outer.closed
		}
	}
	if end == nil {
		return info
	}
	env, text := end.Env(), d.of(end).text
	switch {
	case env.Kind == protocol.KindReasoningConclusion && env.Context == c.path:
		info.Outcome, info.Conclusion = api.PartConcluded, text
		if result := d.of(end).details.Conclusion; !result.IsEmpty() {
			info.Details = &result
		}
	case env.Kind == protocol.KindReasoningConclusion: // of a context around it
		info.Outcome = api.PartCancelled
	case env.From == c.asked:
		info.Outcome, info.Reason = api.PartDeclined, text
	default:
		info.Outcome, info.Reason = api.PartCancelled, text
	}
	ms := max(0, env.TS.Sub(c.begun).Milliseconds())
	info.EndID, info.EndedBy, info.DurationMS = env.ID, env.From, &ms
	return info
}
