package turns

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the shown texts, in bytes.
const (
	maxRationale = 4 << 10
	// One thought can explain any number of calls: beyond this total,
	// rationales are shortened.
	maxRationales  = 256 << 10
	shortRationale = 240

	maxNarrative = 64 << 10
)

// view is a turn as it is shown, except for the part that depends on the
// connected participants.
type view struct {
	info    api.Turn
	rules   uint64    // that its texts were masked by
	expires time.Time // when the next undecided proposal of the turn does; zero: none will
	// waiting are the participants with open contexts. One of them must be
	// connected, or the turn is interrupted.
	waiting []protocol.ParticipantID
	encoded func() ([]byte, error) // info as JSON
	bytes   int                    // of the JSON, about
}

// isCurrent reports whether the view is as a new one would be.
func (v *view) isCurrent(truncated bool, d *display) bool {
	return v.rules == d.rules && v.info.Truncated == truncated && (v.expires.IsZero() || d.now.Before(v.expires))
}

// show returns the turn for a viewer.
func (v *view) show(viewer *Viewer) Turn {
	shown := Turn{v.info, v.encoded}
	if viewer.Present != nil && len(v.waiting) > 0 && !slices.ContainsFunc(v.waiting, viewer.Present) {
		shown.State, shown.encoded = api.TurnInterrupted, nil
	}
	return shown
}

// render returns the turn as it is shown; nil without the chat.
func (b *builder) render(k key, truncated bool, d *display) *view {
	if b.chat == nil {
		return nil
	}
	chat := b.chat.env()
	v := &view{rules: d.rules, info: api.Turn{
		TurnNumber: k.turn, MessageID: chat.ID, From: chat.From, UserInput: d.of(b.chat).text,
		StartedAt: protocol.Time{Time: chat.TS}, ToolCalls: []api.ToolCall{}, Truncated: truncated,
	}}
	b.renderAnswers(&v.info, d)
	b.renderState(v)
	all := b.reasonings(k, d)
	b.renderCalls(&v.info, len(all) > 1, d)
	for _, c := range b.calls {
		if at := c.it.asks.ExpiresAt; c.isUndecided() && d.now.Before(at) && (v.expires.IsZero() || at.Before(v.expires)) {
			v.expires = at
		}
	}
	if len(all) > 0 {
		v.info.Reasoning = &all[0]
	}
	if len(all) > 1 {
		v.info.Reasonings = all
	}
	v.bytes, v.encoded = weighTurn(&v.info), encodeOnce(&v.info)
	return v
}

// renderAnswers chooses the answer that is the response: the first one by an
// agent that had closed a context of its own by then, else the first by an agent,
// else the first at all, and answers to the chat itself before others.
func (b *builder) renderAnswers(info *api.Turn, d *display) {
	best := -1
	for _, it := range b.answers {
		if rank := b.rank(it); rank > best {
			best, info.Response, info.ResponseFrom = rank, &d.of(it).text, it.env().From
		}
	}
	if len(b.answers) < 2 {
		return
	}
	for _, it := range b.answers {
		info.Responses = append(info.Responses, api.Response{From: it.env().From, Text: d.of(it).text})
	}
}

func (b *builder) rank(it *item) int {
	n := 0
	if it.env().Correlation.Names(b.chat.env().ID) {
		n = 3
	}
	done := func(c *span) bool {
		return c.opener == it.env().From && c.closed != nil && c.closed.env().Seq < it.env().Seq
	}
	switch {
	case slices.ContainsFunc(b.contexts, done):
		return n + 2
	case b.isAgent(it.env().From):
		return n + 1
	}
	return n
}

// renderState sets the state of the turn. A participant that has answered, or has
// begun again, has no open context any more, closed or not.
func (b *builder) renderState(v *view) {
	var closers []*item
	concluded, stopped := false, false
	for i, c := range b.contexts {
		switch {
		case !b.outermost(c) || c.opener == "":
		case c.closed != nil:
			closers = append(closers, c.closed)
			concluded = concluded || c.concluded
			stopped = stopped || !c.concluded && c.closed.env().From != c.opener
		case !b.hasAnswered(c.opener) && !b.beganAnew(c.opener, b.contexts[i+1:]):
			v.waiting = append(v.waiting, c.opener)
		}
	}
	v.info.State = api.TurnPending
	switch {
	case len(v.waiting) > 0:
		v.info.State = api.TurnProcessing
		return
	case b.cancel != nil && !concluded:
		v.info.State = api.TurnInterrupted
	case stopped && !concluded:
		v.info.State = api.TurnInterrupted
	case len(closers) > 0 && !concluded:
		v.info.State = api.TurnFailed
	case concluded || len(b.answers) > 0:
		v.info.State = api.TurnCompleted
	default:
		return
	}
	closers = append(closers, b.answers...)
	if b.cancel != nil {
		closers = append(closers, b.cancel)
	}
	last := slices.MaxFunc(closers, func(a, b *item) int { return a.env().TS.Compare(b.env().TS) })
	v.info.CompletedAt = &protocol.Time{Time: last.env().TS}
}

func (b *builder) hasAnswered(who protocol.ParticipantID) bool { return b.answerOf(who) != nil }

// answerOf returns the first answer of a participant; nil: none.
func (b *builder) answerOf(who protocol.ParticipantID) *item {
	if i := slices.IndexFunc(b.answers, func(it *item) bool { return it.env().From == who }); i >= 0 {
		return b.answers[i]
	}
	return nil
}

// beganAnew reports whether a participant opened one of the later contexts.
func (b *builder) beganAnew(who protocol.ParticipantID, later []*span) bool {
	return slices.ContainsFunc(later, func(c *span) bool { return c.opener == who && b.outermost(c) })
}

func (b *builder) renderCalls(info *api.Turn, several bool, d *display) {
	for _, c := range b.calls {
		if !b.isAgent(c.state.from) {
			continue
		}
		t := api.ToolCall{Name: d.of(c.it).tool, HasResult: c.hasResult(), HasError: c.hasError()}
		if several {
			t.Agent = c.state.from
		}
		info.ToolCalls = append(info.ToolCalls, t)
	}
}

func (c *call) hasResult() bool {
	return (c.outcome == api.OutcomeSuccess || c.outcome == api.OutcomeFulfilled) && !c.end.failed
}

func (c *call) hasError() bool {
	return c.outcome != "" && c.outcome != api.OutcomePending && !c.hasResult()
}

// reasonings are those of the agents that called a tool.
func (b *builder) reasonings(k key, d *display) []api.Reasoning {
	var all []api.Reasoning
	for _, agent := range b.agents {
		if decisions := b.decisions(b.callsOf(agent), d); len(decisions) > 0 {
			begun, ended := b.span(agent)
			all = append(all, api.Reasoning{
				SessionID: k.session, ThreadID: k.thread, TurnNumber: k.turn, Agent: agent,
				StartedAt: begun, CompletedAt: ended,
				Narrative: b.narrative(agent, d), ToolDecisions: decisions,
			})
		}
	}
	return all
}

// span is the time of an agent's reasoning; its end is nil while one of its
// contexts is open. A context that was left open ends with the agent's answer, or
// with its next beginning.
func (b *builder) span(agent protocol.ParticipantID) (begun protocol.Time, ended *protocol.Time) {
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
			last = later(last, c.closed.env().TS)
		case b.hasAnswered(agent):
			last = later(last, b.answerOf(agent).env().TS)
		case !b.beganAnew(agent, b.contexts[slices.Index(b.contexts, c)+1:]):
			return begun, nil
		}
	}
	return begun, &protocol.Time{Time: last}
}

// callsSpan is the same for an agent that called tools without a context.
func (b *builder) callsSpan(agent protocol.ParticipantID) (begun protocol.Time, ended *protocol.Time) {
	var last time.Time
	for _, c := range b.calls {
		switch {
		case c.state.from != agent:
			continue
		case c.end == nil && !b.hasAnswered(agent):
			last = time.Time{}
		case c.end != nil:
			last = later(last, c.end.env().TS)
		}
		if begun.IsZero() {
			begun = protocol.Time{Time: c.it.env().TS}
		}
	}
	if b.hasAnswered(agent) {
		last = later(last, b.answerOf(agent).env().TS)
	}
	if last.IsZero() {
		return begun, nil
	}
	return begun, &protocol.Time{Time: last}
}

// own are the outermost contexts of an agent; without any, those that it opened
// in the contexts of others.
func (b *builder) own(agent protocol.ParticipantID) []*span {
	var outer, inner []*span
	for _, c := range b.contexts {
		switch {
		case c.opener != agent:
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

func (b *builder) callsOf(agent protocol.ParticipantID) []*call {
	return slices.DeleteFunc(slices.Clone(b.calls), func(c *call) bool { return c.state.from != agent })
}

func (b *builder) decisions(calls []*call, d *display) []api.Decision {
	var list []api.Decision
	spent := 0
	for _, c := range calls {
		info := c.info(b.isClosed(c.state.path), d)
		if spent += len(info.Rationale); spent > maxRationales {
			info.Rationale = textutil.Shorten(info.Rationale, shortRationale)
		}
		list = append(list, info)
	}
	return list
}

// info is the decision as it is shown; closed: its context is.
func (c *call) info(closed bool, d *display) api.Decision {
	shown := d.of(c.it)
	info := api.Decision{
		ToolName: shown.tool, Rationale: c.rationale(d), Parameters: shown.params, Outcome: c.outcome,
		CallID: c.it.env().ID, StartedAt: protocol.Time{Time: c.it.env().TS}, Context: c.state.path,
	}
	switch {
	case info.Outcome != "":
	case c.isUndecided() && (closed || c.it.asks.Expired(d.now)):
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
		info.DecidedBy = c.fulfillment.env().From
		if !bytes.Equal(c.fulfillment.params, c.it.params) {
			info.FulfilledWith = d.of(c.fulfillment).params
		}
	case c.outcome == api.OutcomeRejected:
		info.DecidedBy = c.end.env().From
	}
	if c.end != nil {
		ms := max(0, c.end.env().TS.Sub(c.it.env().TS).Milliseconds())
		info.DurationMS = &ms
		if c.end.env().Kind == protocol.KindMCPResponse {
			info.ResultBytes = &c.end.bytes
			if from := c.end.env().From; from != c.state.from {
				info.AnsweredBy = from
			}
		}
	}
	return info
}

func (c *call) rationale(d *display) string {
	if c.explainedBy == nil || c.explainedBy.it.text.text == "" {
		return DefaultRationale
	}
	return textutil.Shorten(d.of(c.explainedBy.it).text, maxRationale)
}

// narrative is the text of an agent's thoughts that are no rationales.
func (b *builder) narrative(agent protocol.ParticipantID, d *display) string {
	var out strings.Builder
	for _, t := range b.inOrder {
		if t.state.from != agent || !b.isNarrative(t) {
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

// isNarrative reports whether a thought is part of the narrative.
func (b *builder) isNarrative(t *thought) bool {
	if t.claimed || t.it.raw || t.it.text.text == "" {
		return false
	}
	return t.it.tool.text == "" || t.divides || b.byPath[t.state.path].closed != nil
}

// weighTurn is the size of a turn as JSON, in bytes, about.
func weighTurn(t *api.Turn) int {
	n := 600 + len(t.UserInput)
	if t.Response != nil {
		n += len(*t.Response)
	}
	for _, r := range t.Responses {
		n += 60 + len(r.Text)
	}
	n += 80 * len(t.ToolCalls)
	all := t.AllReasonings()
	for i := range all {
		n += 300 + len(all[i].Narrative)
		for _, d := range all[i].ToolDecisions {
			n += 400 + len(d.ToolName) + len(d.Rationale) + len(d.Parameters) + len(d.Context)
		}
	}
	return n
}
