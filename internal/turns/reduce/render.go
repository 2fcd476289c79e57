package reduce

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// DefaultRationale is the rationale of a call without an explanation.
const DefaultRationale = "Tool selected to satisfy the current subtask."

// Bounds of the shown texts, in bytes.
const (
	maxRationale = 4 << 10
	// One thought can explain any number of calls: beyond this total,
	// rationales are shortened.
	maxRationales  = 256 << 10
	shortRationale = 240

	maxNarrative = 64 << 10
)

// Render returns the turn as it is shown; nil without the chat. A job is shown in
// the same form: its first envelope in place of the question, and its conclusion
// in place of the answer.
func (b *Builder) Render(k Key, truncated bool, d *Display) *View {
	begin := b.chat
	if k.IsJob() {
		begin = b.first
	}
	if begin == nil {
		return nil
	}
	v := &View{rules: d.Rules, Info: api.Turn{
		TurnNumber: k.Turn, MessageID: begin.Env().ID, From: begin.Env().From,
		StartedAt: protocol.Time{Time: begin.Env().TS}, ToolCalls: []api.ToolCall{}, Truncated: truncated,
	}}
	info := &v.Info
	if k.IsJob() {
		// The subject, if a reasoning.start names it, and the last conclusion of an outermost context.
		if begin.Env().Kind == protocol.KindReasoningStart {
			info.UserInput = d.of(begin).text
		}
		for _, c := range b.contexts {
			if !b.outermost(c) || !c.concluded {
				continue
			}
			if text := d.of(c.closed).text; text != "" {
				info.Response, info.ResponseFrom = &text, c.closed.Env().From
			}
		}
	} else {
		info.UserInput = d.of(begin).text
		best := -1
		for _, it := range b.answers {
			if rank := b.rank(it); rank > best {
				best, info.Response, info.ResponseFrom = rank, &d.of(it).text, it.Env().From
			}
			if len(b.answers) > 1 {
				info.Responses = append(info.Responses, api.Response{From: it.Env().From, Text: d.of(it).text})
			}
		}
	}
	b.renderState(v)
	all := b.reasonings(k, d)
	for _, c := range b.calls {
		if b.isAgent(c.state.from) {
			t := api.ToolCall{Name: d.of(c.it).tool}
			t.HasResult = (c.outcome == api.OutcomeSuccess || c.outcome == api.OutcomeFulfilled) && !c.end.failed
			t.HasError = c.outcome != "" && c.outcome != api.OutcomePending && !t.HasResult
			if len(all) > 1 {
				t.Agent = c.state.from
			}
			info.ToolCalls = append(info.ToolCalls, t)
		}
		if at := c.it.asks.ExpiresAt; c.isUndecided() && d.Now.Before(at) && (v.expires.IsZero() || at.Before(v.expires)) {
			v.expires = at
		}
	}
	info.Feedback = b.renderFeedback(d)
	if len(all) > 0 {
		info.Reasoning = &all[0]
	}
	if len(all) > 1 {
		info.Reasonings = all
	}
	v.Bytes, v.encoded = weighTurn(info), encodeOnce(info)
	return v
}

// rank orders the answers, of which the first one of the highest rank is the response: the
// first one by an agent that had closed a context of its own by then, else the first by an
// agent, else the first at all, and answers to the chat itself before others.
func (b *Builder) rank(it *Item) int {
	n := 0
	if it.Env().Correlation.Names(b.chat.Env().ID) {
		n = 3
	}
	done := func(c *span) bool {
		return c.opener == it.Env().From && c.closed != nil && c.closed.Env().Seq < it.Env().Seq
	}
	switch {
	case slices.ContainsFunc(b.contexts, done):
		return n + 2
	case b.isAgent(it.Env().From):
		return n + 1
	}
	return n
}

// renderState sets the state of the turn. A participant that has answered, or has
// begun again, has no open context any more, closed or not.
func (b *Builder) renderState(v *View) {
	var closers []*Item
	concluded, stopped := false, false
	for i, c := range b.contexts {
		switch {
		case !b.outermost(c) || c.opener == "":
		case c.closed != nil:
			closers = append(closers, c.closed)
			concluded = concluded || c.concluded
			stopped = stopped || !c.concluded && c.closed.Env().From != c.opener
		case !b.hasAnswered(c.opener) && !b.beganAnew(c.opener, b.contexts[i+1:]):
			v.waiting = append(v.waiting, c.opener)
		}
	}
	v.Info.State = api.TurnPending
	switch {
	case len(v.waiting) > 0:
		v.Info.State = api.TurnProcessing
		return
	case b.cancel != nil && !concluded:
		v.Info.State = api.TurnInterrupted
	case stopped && !concluded:
		v.Info.State = api.TurnInterrupted
	case len(closers) > 0 && !concluded:
		v.Info.State = api.TurnFailed
	case concluded || len(b.answers) > 0:
		v.Info.State = api.TurnCompleted
	default:
		return
	}
	closers = append(closers, b.answers...)
	if b.cancel != nil {
		closers = append(closers, b.cancel)
	}
	last := slices.MaxFunc(closers, func(a, b *Item) int { return a.Env().TS.Compare(b.Env().TS) })
	v.Info.CompletedAt = &protocol.Time{Time: last.Env().TS}
}

func (b *Builder) hasAnswered(who protocol.ParticipantID) bool { return b.answerOf(who) != nil }

// answerOf returns the first answer of a participant; nil: none.
func (b *Builder) answerOf(who protocol.ParticipantID) *Item {
	if i := slices.IndexFunc(b.answers, func(it *Item) bool { return it.Env().From == who }); i >= 0 {
		return b.answers[i]
	}
	return nil
}

// beganAnew reports whether a participant opened one of the later contexts.
func (b *Builder) beganAnew(who protocol.ParticipantID, later []*span) bool {
	return slices.ContainsFunc(later, func(c *span) bool { return c.opener == who && b.outermost(c) })
}

// reasonings returns the reasoning of each agent that called a tool or asked
// another one to take a part, and of each that took a part and wrote more than its
// conclusion; in a job, of each that did this, or has a narrative or details.
func (b *Builder) reasonings(k Key, d *Display) []api.Reasoning {
	var all []api.Reasoning
	for _, agent := range b.agents {
		decisions := b.decisions(b.callsOf(agent), d)
		parts := b.parts(agent, d)
		var asker protocol.ParticipantID // that asked for a part; of an agent with a context of its own none
		if own := b.own(agent); len(own) > 0 && own[0].asked == agent {
			asker = own[0].opener
		}
		if len(decisions)+len(parts) == 0 && asker == "" && !k.IsJob() {
			continue
		}
		r := api.Reasoning{
			SessionID: k.Session, ThreadID: k.Thread, JobID: k.Job, TurnNumber: k.Turn, Agent: agent,
			AskedBy: asker, Narrative: b.narrative(agent, false, d), ToolDecisions: decisions, Parts: parts,
		}
		b.renderDetails(&r, d)
		r.StartedAt, r.CompletedAt = b.span(agent)
		if len(decisions)+len(parts) > 0 || r.Narrative != "" || asker == "" && r.HasDetails() {
			all = append(all, r)
		}
	}
	return all
}

// span is the time of an agent's reasoning; its end is nil while one of its
// contexts is open. A context that was left open ends with the agent's answer, or
// with its next beginning.
func (b *Builder) span(agent protocol.ParticipantID) (begun protocol.Time, ended *protocol.Time) {
	own := b.own(agent)
	if own == nil {
		return b.callsSpan(agent)
	}
	var last time.Time
	for _, c := range own {
		if begun.IsZero() {
			begun = protocol.Time{Time: c.begun}
		}
		switch {
		case c.closed != nil:
			last = later(last, c.closed.Env().TS)
		case b.hasAnswered(agent):
			last = later(last, b.answerOf(agent).Env().TS)
		case !b.beganAnew(agent, b.contexts[slices.Index(b.contexts, c)+1:]):
			return begun, nil
		}
	}
	return begun, &protocol.Time{Time: last}
}

// callsSpan is the same for an agent that called tools without a context.
func (b *Builder) callsSpan(agent protocol.ParticipantID) (begun protocol.Time, ended *protocol.Time) {
	var last time.Time
	for _, c := range b.calls {
		switch {
		case c.state.from != agent:
			continue
		case c.end == nil && !b.hasAnswered(agent):
			last = time.Time{}
		case c.end != nil:
			last = later(last, c.end.Env().TS)
		}
		if begun.IsZero() {
			begun = protocol.Time{Time: c.it.Env().TS}
		}
	}
	if b.hasAnswered(agent) {
		last = later(last, b.answerOf(agent).Env().TS)
	}
	if last.IsZero() {
		return begun, nil
	}
	return begun, &protocol.Time{Time: last}
}

// own returns the outermost contexts of an agent; without any, the ones that it
// reasons in inside the contexts of others.
func (b *Builder) own(agent protocol.ParticipantID) []*span {
	var outer, inner []*span
	for _, c := range b.contexts {
		switch {
		case c.reasoner() != agent:
		case b.outermost(c):
			outer = append(outer, c)
		default:
			inner = append(inner, c)
		}
	}
	if outer == nil {
		return inner
	}
	return outer
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Decisions returns the narrative and the newest decisions of an agent, most of
// them at most, and whether there are more. The narrative lacks thoughts that may
// become the rationale of the next call. It reports nothing for a participant that
// is no agent.
func (b *Builder) Decisions(agent protocol.ParticipantID, most int, d *Display) (narrative string, list []api.Decision, more bool) {
	calls := b.callsOf(agent)
	if len(calls) == 0 || !b.isAgent(agent) {
		return "", nil, false
	}
	older := max(0, len(calls)-most)
	return b.narrative(agent, true, d), b.decisions(calls[older:], d), older > 0
}

func (b *Builder) callsOf(agent protocol.ParticipantID) []*call {
	return slices.DeleteFunc(slices.Clone(b.calls), func(c *call) bool { return c.state.from != agent })
}

func (b *Builder) decisions(calls []*call, d *Display) []api.Decision {
	list := make([]api.Decision, 0, len(calls))
	spent := 0
	for _, c := range calls {
		info := c.info(b.isClosed(c.state.path), d)
		spent += len(info.Rationale)
		if spent > maxRationales {
			info.Rationale = textutil.Shorten(info.Rationale, shortRationale)
		}
		list = append(list, info)
	}
	return list
}

// info is the decision as it is shown; closed: its context is.
func (c *call) info(closed bool, d *Display) api.Decision {
	shown := d.of(c.it)
	info := api.Decision{
		ToolName: shown.tool, Rationale: DefaultRationale, Parameters: shown.params, Outcome: c.outcome,
		CallID: c.it.Env().ID, StartedAt: protocol.Time{Time: c.it.Env().TS}, Context: c.state.path,
	}
	if c.explainedBy != nil && c.explainedBy.it.text.text != "" {
		info.Rationale = textutil.Shorten(d.of(c.explainedBy.it).text, maxRationale)
	}
	switch {
	case info.Outcome != "":
	case c.isUndecided() && (closed || c.it.asks.Expired(d.Now)):
		info.Outcome = api.OutcomeExpired
	default:
		info.Outcome = api.OutcomePending
	}
	if info.Parameters == nil {
		info.ParameterBytes = c.it.paramBytes
	}
	if c.group >= 0 {
		info.ParallelGroup = &c.group
	}
	switch {
	case c.fulfillment != nil:
		info.DecidedBy = c.fulfillment.Env().From
		if !bytes.Equal(c.fulfillment.params, c.it.params) {
			info.FulfilledWith = d.of(c.fulfillment).params
		}
	case c.outcome == api.OutcomeRejected:
		info.DecidedBy = c.end.Env().From
		info.OutcomeText = exchange.OutcomeReason(d.of(c.end).text)
	}
	if c.end != nil {
		ms := max(0, c.end.Env().TS.Sub(c.it.Env().TS).Milliseconds())
		info.DurationMS = &ms
		if c.end.Env().Kind == protocol.KindMCPResponse {
			info.ResultBytes = &c.end.bytes
			info.OutcomeText = exchange.Result{Failed: c.end.failed, Text: d.of(c.end).text}.String()
			if from := c.end.Env().From; from != c.state.from {
				info.AnsweredBy = from
			}
		}
	}
	return info
}

// narrative is the text of an agent's thoughts that are no rationales; settled:
// and that can become none.
func (b *Builder) narrative(agent protocol.ParticipantID, settled bool, d *Display) string {
	var out strings.Builder
	for _, t := range b.inOrder {
		switch {
		case t.state.from != agent || t.claimed || t.it.raw || t.it.text.text == "":
			continue
		case t.it.tool.text != "" && !t.divides && b.byPath[t.state.path].closed == nil: // the call that it names may follow
			continue
		case settled && t == t.state.latest() && !t.divides && !b.isClosed(t.state.path): // it may explain the next call
			continue
		}
		if out.Len() > maxNarrative {
			break
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(d.of(t.it).text)
	}
	return textutil.Shorten(out.String(), maxNarrative)
}
