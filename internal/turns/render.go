package turns

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what is shown, in bytes.
const (
	maxRationale = 4 << 10
	// One thought can explain any number of calls: beyond so much of a
	// reasoning, rationales are shortened.
	maxRationales  = 256 << 10
	shortRationale = 240

	maxNarrative = 64 << 10
)

// view is a turn as it is shown, but for what depends on who is connected.
type view struct {
	info TurnInfo
	// waiting are those whose contexts are open; somebody of them has to be
	// there, or the turn is interrupted.
	waiting []protocol.ParticipantID
	encoded encoding // of info
	bytes   int      // that it takes as JSON, about
}

// show returns the turn as a viewer is given it.
func (v *view) show(viewer *Viewer) TurnInfo {
	info := v.info
	info.shared = &v.encoded
	if viewer.Present != nil && len(v.waiting) > 0 && !slices.ContainsFunc(v.waiting, viewer.Present) {
		info.State, info.shared = TurnInterrupted, nil
	}
	return info
}

// render turns a reading into what is shown; nil without the chat.
func (r *reading) render(k key, truncated bool) *view {
	if r.chat == nil {
		return nil
	}
	chat := r.chat.env()
	v := &view{info: TurnInfo{
		TurnNumber: k.turn, MessageID: chat.ID, From: chat.From, UserInput: r.chat.text,
		StartedAt: Time{chat.TS}, ToolCalls: []ToolCallInfo{}, Truncated: truncated,
	}}
	r.renderAnswers(&v.info)
	r.renderState(v)
	all := r.reasonings(k)
	r.renderCalls(&v.info, len(all) > 1)
	if len(all) > 0 {
		v.info.Reasoning = &all[0]
	}
	if len(all) > 1 {
		v.info.Reasonings = all
	}
	v.bytes = v.info.weigh()
	return v
}

// renderAnswers says which answer is the response: the first one by an agent
// that had closed a context of its own by then, else the first by an agent,
// else the first at all, and those to the chat itself before others.
func (r *reading) renderAnswers(info *TurnInfo) {
	best := -1
	for _, it := range r.answers {
		if rank := r.rank(it); rank > best {
			best, info.Response, info.ResponseFrom = rank, &it.text, it.env().From
		}
	}
	if len(r.answers) < 2 {
		return
	}
	for _, it := range r.answers {
		info.Responses = append(info.Responses, ResponseInfo{it.env().From, it.text})
	}
}

func (r *reading) rank(it *item) int {
	n := 0
	if it.env().Correlation.Names(r.chat.env().ID) {
		n = 3
	}
	done := func(c *thinking) bool {
		return c.opener == it.env().From && c.closed != nil && c.closed.env().Seq < it.env().Seq
	}
	switch {
	case slices.ContainsFunc(r.contexts, done):
		return n + 2
	case r.isAgent(it.env().From):
		return n + 1
	}
	return n
}

// renderState says how far the turn has come. Who has answered has nothing
// open any more, closed or not, and neither has who has begun anew.
func (r *reading) renderState(v *view) {
	var closers []*item
	concluded, stopped := false, false
	for i, c := range r.contexts {
		switch {
		case !r.outermost(c) || c.opener == "":
		case c.closed != nil:
			closers = append(closers, c.closed)
			concluded = concluded || c.concluded
			stopped = stopped || !c.concluded && c.closed.env().From != c.opener
		case !r.hasAnswered(c.opener) && !r.beganAnew(c.opener, r.contexts[i+1:]):
			v.waiting = append(v.waiting, c.opener)
		}
	}
	v.info.State = TurnPending
	switch {
	case len(v.waiting) > 0:
		v.info.State = TurnProcessing
		return
	case r.calledOff != nil && !concluded:
		v.info.State = TurnInterrupted
	case stopped && !concluded:
		v.info.State = TurnInterrupted
	case len(closers) > 0 && !concluded:
		v.info.State = TurnFailed
	case concluded || len(r.answers) > 0:
		v.info.State = TurnCompleted
	default:
		return
	}
	closers = append(closers, r.answers...)
	if r.calledOff != nil {
		closers = append(closers, r.calledOff)
	}
	last := slices.MaxFunc(closers, func(a, b *item) int { return a.env().TS.Compare(b.env().TS) })
	v.info.CompletedAt = &Time{last.env().TS}
}

func (r *reading) hasAnswered(who protocol.ParticipantID) bool {
	return slices.ContainsFunc(r.answers, func(it *item) bool { return it.env().From == who })
}

// beganAnew reports whether somebody has opened one of some later contexts.
func (r *reading) beganAnew(who protocol.ParticipantID, later []*thinking) bool {
	return slices.ContainsFunc(later, func(c *thinking) bool { return c.opener == who && r.outermost(c) })
}

func (r *reading) renderCalls(info *TurnInfo, several bool) {
	for _, c := range r.calls {
		if !r.isAgent(c.strand.from) {
			continue
		}
		t := ToolCallInfo{Name: c.it.tool, HasResult: c.hasResult(), HasError: c.hasError()}
		if several {
			t.Agent = c.strand.from
		}
		info.ToolCalls = append(info.ToolCalls, t)
	}
}

func (c *call) hasResult() bool {
	return (c.outcome == Success || c.outcome == Fulfilled) && !c.end.failed
}

func (c *call) hasError() bool { return c.outcome != "" && !c.hasResult() }

// reasonings are those of the agents who have decided for a tool.
func (r *reading) reasonings(k key) []TurnReasoningInfo {
	var all []TurnReasoningInfo
	for _, agent := range r.agents {
		if decisions := r.decisions(agent); len(decisions) > 0 {
			begun, ended := r.span(agent)
			all = append(all, TurnReasoningInfo{
				SessionID: k.session, ThreadID: k.thread, TurnNumber: k.turn, Agent: agent,
				StartedAt: begun, CompletedAt: ended,
				Narrative: r.narrative(agent), ToolDecisions: decisions,
			})
		}
	}
	return all
}

// span is when an agent began to reason and when it had ended; nil while a
// context of its is open. One that was left open ends with what the agent did
// next: its answer, or a new beginning.
func (r *reading) span(agent protocol.ParticipantID) (begun Time, ended *Time) {
	own := r.own(agent)
	if own == nil {
		return r.callsSpan(agent)
	}
	var last time.Time
	for _, c := range own {
		if begun.IsZero() {
			begun = Time{c.begun}
		}
		switch {
		case c.closed != nil:
			last = later(last, c.closed.env().TS)
		case r.hasAnswered(agent):
			last = later(last, r.answered(agent))
		case !r.beganAnew(agent, r.after(c)):
			return begun, nil
		}
	}
	return begun, &Time{last}
}

// callsSpan is the same of an agent who has called tools without a context.
func (r *reading) callsSpan(agent protocol.ParticipantID) (begun Time, ended *Time) {
	var last time.Time
	for _, c := range r.calls {
		switch {
		case c.strand.from != agent:
			continue
		case c.end == nil && !r.hasAnswered(agent):
			last = time.Time{}
		case c.end != nil:
			last = later(last, c.end.env().TS)
		}
		if begun.IsZero() {
			begun = Time{c.it.env().TS}
		}
	}
	if r.hasAnswered(agent) {
		last = later(last, r.answered(agent))
	}
	if last.IsZero() {
		return begun, nil
	}
	return begun, &Time{last}
}

// own are the outermost contexts of an agent; those within the contexts of
// others, if it has opened none but these.
func (r *reading) own(agent protocol.ParticipantID) []*thinking {
	var outer, inner []*thinking
	for _, c := range r.contexts {
		switch {
		case c.opener != agent:
		case r.outermost(c):
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

// after are the contexts that were entered behind c.
func (r *reading) after(c *thinking) []*thinking {
	return r.contexts[slices.Index(r.contexts, c)+1:]
}

// answered is when somebody answered first.
func (r *reading) answered(who protocol.ParticipantID) time.Time {
	for _, it := range r.answers {
		if it.env().From == who {
			return it.env().TS
		}
	}
	return time.Time{}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (r *reading) decisions(agent protocol.ParticipantID) []ToolDecisionInfo {
	var list []ToolDecisionInfo
	spent := 0
	for _, c := range r.calls {
		if c.strand.from != agent {
			continue
		}
		d := c.info(r.over(c.strand.path))
		if spent += len(d.Rationale); spent > maxRationales {
			d.Rationale = cut(d.Rationale, shortRationale)
		}
		list = append(list, d)
	}
	return list
}

// info is the decision as it is shown; over: its context is closed.
func (c *call) info(over bool) ToolDecisionInfo {
	d := ToolDecisionInfo{
		ToolName: c.it.tool, Rationale: c.rationale(), Parameters: c.it.params, Outcome: c.outcome,
		CallID: c.it.env().ID, StartedAt: Time{c.it.env().TS}, Context: c.strand.path,
	}
	switch {
	case d.Outcome != "":
	case c.proposal && c.fulfils == nil && over:
		d.Outcome = Expired
	default:
		d.Outcome = Pending
	}
	if d.Parameters == nil {
		d.ParameterBytes = c.it.paramBytes
	}
	if c.group >= 0 {
		d.ParallelGroup = &c.group
	}
	switch {
	case c.fulfils != nil:
		d.DecidedBy = c.fulfils.env().From
		if !bytes.Equal(c.fulfils.params, c.it.params) {
			d.FulfilledWith = c.fulfils.params
		}
	case c.outcome == Rejected:
		d.DecidedBy = c.end.env().From
	}
	if c.end != nil {
		ms := max(0, c.end.env().TS.Sub(c.it.env().TS).Milliseconds())
		d.DurationMS = &ms
		if c.end.env().Kind == protocol.KindMCPResponse {
			d.ResultBytes = &c.end.bytes
		}
	}
	return d
}

func (c *call) rationale() string {
	if c.why == nil || c.why.it.text == "" {
		return DefaultRationale
	}
	return cut(c.why.it.text, maxRationale)
}

// narrative is what an agent has thought besides its rationales.
func (r *reading) narrative(agent protocol.ParticipantID) string {
	var b strings.Builder
	for _, t := range r.inOrder {
		if t.strand.from != agent || !r.tells(t) {
			continue
		}
		if b.Len() > maxNarrative {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(t.it.text)
	}
	return cut(b.String(), maxNarrative)
}

// tells reports whether a thought is part of the narrative.
func (r *reading) tells(t *thought) bool {
	if t.claimed || t.it.raw || t.it.text == "" {
		return false
	}
	return t.it.tool == "" || t.divides || r.byPath[t.strand.path].closed != nil
}

// weigh is what a turn takes as JSON, in bytes, about.
func (t *TurnInfo) weigh() int {
	n := 600 + len(t.UserInput)
	if t.Response != nil {
		n += len(*t.Response)
	}
	for _, r := range t.Responses {
		n += 60 + len(r.Text)
	}
	n += 80 * len(t.ToolCalls)
	all := t.Reasonings
	if all == nil && t.Reasoning != nil {
		all = []TurnReasoningInfo{*t.Reasoning}
	}
	for i := range all {
		n += 300 + len(all[i].Narrative)
		for _, d := range all[i].ToolDecisions {
			n += 400 + len(d.ToolName) + len(d.Rationale) + len(d.Parameters) + len(d.Context)
		}
	}
	return n
}
