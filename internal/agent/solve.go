package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// answer waits for a free slot, solves the question, and publishes the answer.
func (a *Agent) answer(q *question) {
	if err := q.place.Take(q.root.ctx); err != nil {
		a.replyError(q, err)
		return
	}
	defer q.place.Leave()
	log := a.log.With("question", q.chat.ID, "context", q.root.path)
	log.Info("question taken", "from", q.chat.From)
	ctx, span := a.opts.Telemetry.Span(q.root.ctx, telemetry.InvokeAgent, string(a.you), a.describe(q.root)...)
	q.root.ctx = ctx
	s, err := a.solve(q.root)
	if err == nil && !q.part { // the conclusion of a part is its answer
		text := s.Answer
		if q.withheld.Load() {
			text += fmt.Sprintf(privateNote, a.you)
		}
		var more []field
		if s.Stream != "" {
			more = []field{{"stream_id", s.Stream}}
		}
		reply := q.reply(text, more...)
		reply.ID = q.replyID
		if ctx.Err() != nil { // too late: the context is concluded already
			a.out.Final("answer", reply)
		} else if cause := a.out.Publish(ctx, reply); !MaybeSent(cause) {
			err = fmt.Errorf("answer: %w", cause)
		}
	}
	span.End(err)
	if err != nil {
		a.replyError(q, err)
		return
	}
	log.Info("question answered")
}

// privateNote ends the answer to a private question if the planner wanted a tool that it may use
// for a public one.
const privateNote = "\n\n_This question is private, so I may use only tools of my own for it, and I have none. Ask it to the whole space, with @%s in its text, and I can use the tools of other participants._"

// solve opens the context of a problem, reasons about the problem, which ends with the conclusion,
// and cancels the context if there is none.
func (a *Agent) solve(p *problem) (Solution, error) {
	a.contexts.Store(p.path, p)
	var s Solution
	err := a.open(p)
	switch {
	case err != nil:
		err = fmt.Errorf("open context: %w", err)
	case a.opts.Solver != nil:
		s, err = a.solveBy(p)
	default:
		s, err = a.reason(p)
	}
	a.contexts.Delete(p.path)
	a.close(p, err)
	return s, err
}

// open publishes the start of the context. It returns when this process is the one that answers.
func (a *Agent) open(p *problem) error {
	if p.q.part && p.depth == 0 {
		return a.claimPart(p)
	}
	text := p.text
	if a.opts.Approach != "program" { // the kits of all languages show the text as it was sent
		text = a.addressing.WithoutMention(text)
	}
	err := a.out.Publish(p.ctx, p.start(a.opts.Approach, text))
	p.open = MaybeSent(err)
	if err == nil && p.depth == 0 {
		err = p.q.first.Wait(p.ctx)
	}
	return err
}

// reason is the agent loop: plan, then act, until the planner finishes.
func (a *Agent) reason(p *problem) (Solution, error) {
	steps, depth := a.opts.MaxSteps, a.opts.MaxDepth
	if p.depth > 0 {
		steps = max(1, steps/2)
	}
	if most := a.opts.Space.Welcome().You.Limits.ContextDepth; most > 0 {
		depth = min(depth, most-(p.path.Depth()-p.depth)) // a part begins in a nested context
	}
	state := planner.State{
		Question: p.text, Asker: string(p.q.chat.From), Session: string(p.q.chat.ID), History: p.q.history, Instructions: a.opts.Instructions,
		MaxSteps: steps, Depth: p.depth, MaxDepth: depth, Memory: new(planner.Memory), Open: true,
	}
	reconsidered := 0
	for {
		box := a.toolbox(p)
		state.Tools, state.Delegates = box.Plannable, a.delegates(p)
		if p.depth == 0 && len(state.Steps) == 0 && len(p.q.earlier) > 0 {
			state.Steps = append(state.Steps, intake.CallRecord(p.q.earlier, func(host protocol.ParticipantID, tool string) string {
				if host == a.you {
					host = ""
				}
				return box.NameOf(boxTool{Owner: host, Name: tool})
			}))
			state.MaxSteps++ // it uses up none of the steps
		}
		a.hear(p, &state)
		d, went, err := a.plan(p, &state)
		if err != nil {
			return Solution{}, err
		}
		private := len(p.q.private) > 0 && slices.ContainsFunc(d.Calls, func(c contextwindow.Call) bool { return box.Find(c.Tool).Owner != "" })
		unheard := reconsidered < maxReconsidered && went.Answer == "" && p.remarks.Waiting() // nothing of the decision was sent
		if private || unheard {
			if private { // it is made again without the tools of others
				p.q.withheld.Store(true)
			} else {
				reconsidered++
			}
			if d.Action == contextwindow.UseTools && d.Thought != "" {
				if err := a.out.Publish(p.ctx, p.thought(d.Thought, went.Text)); err != nil {
					return Solution{}, fmt.Errorf("share thoughts: %w", err)
				}
			}
			continue
		}
		if d.Action == contextwindow.Finish || len(d.Calls) == 0 || len(state.Steps) >= state.MaxSteps {
			return a.conclude(p, d, went)
		}
		record := contextwindow.Record{
			Index: len(state.Steps), Thought: d.Thought, Action: d.Action, Calls: d.Calls, Turn: d.Turn,
		}
		record.Results, err = a.act(p.ctx, p, box, record, a.thoughts(p, d, went))
		if err != nil {
			return Solution{}, err
		}
		state.Steps = append(state.Steps, record)
	}
}

// plan asks the planner for the next decision; the model's output is streamed
// meanwhile.
func (a *Agent) plan(p *problem, state *planner.State) (planner.Decision, StreamIDs, error) {
	ctx, span := a.opts.Telemetry.Span(p.ctx, telemetry.Plan, string(a.you), a.describe(p)...)
	live := a.newStreams(p)
	state.Watch, state.Asking = live.Add, live.Begin
	began := a.opts.Now()
	var d planner.Decision
	err := a.guard(func() (err error) {
		d, err = a.opts.Planner.Next(llm.WithMeter(ctx, &p.meter), *state)
		return err
	})
	if err == nil && d.Action != contextwindow.Finish { // the text is a thought
		live.Withdraw()
	}
	went := live.End()
	var tools []string
	for _, c := range d.Calls {
		tools = append(tools, c.Tool)
	}
	a.opts.Telemetry.Decided(ctx, telemetry.Decision{
		Space: a.space.Name, Agent: string(a.you), Session: string(p.q.chat.ID), Intent: string(p.path),
		Provider: d.Provider, Model: d.Model, Source: string(d.Source), Usage: d.Usage, Context: d.Shown,
		Duration: a.opts.Now().Sub(began), Outcome: string(d.Action), Tools: tools, Err: errors.Join(err, d.Fault),
	})
	span.End(err)
	switch {
	case err == nil:
		return d, went, nil
	case p.ctx.Err() != nil:
		return d, went, context.Cause(p.ctx)
	}
	return d, went, fmt.Errorf("decide what to do next: %w", err)
}

// newStreams returns the streams of a decision about a problem. They open with the first text,
// which may be the answer or a thought before calls until Begin says otherwise.
func (a *Agent) newStreams(p *problem) *DeltaStreams {
	o := &deltaOptions{
		Context: p.ctx, Undecided: p.remarks.Waiting, ShowThinking: a.opts.ShowThinking, Off: &a.streamsOff, Log: a.log,
		Send: func(kind protocol.Kind, payload json.RawMessage) (*client.Pending, error) {
			env := p.inside(kind)
			env.Payload = payload
			return a.opts.Space.SendAsync(p.ctx, env)
		},
	}
	if p.depth == 0 && !p.q.part { // its answer is a chat
		o.Answer = func(kind protocol.Kind, payload json.RawMessage) (*client.Pending, error) {
			env := p.q.reply("")
			env.Kind, env.Payload = kind, payload
			return a.opts.Space.SendAsync(p.ctx, env)
		}
	}
	l := &DeltaStreams{
		o: o, text: &stream{o: o, to: o.Send, description: ofThought}, thinking: &stream{o: o, to: o.Send, description: ofThinking},
		answer: &stream{o: o, to: o.Answer, description: ofAnswer},
	}
	l.expect(true, true)
	return l
}

// guard calls a function and turns its panic into an error, so that only this question fails. Of
// the panic's value only the runtime's own error text is logged, because other values may quote
// the question.
func (a *Agent) guard(call func() error) (err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		what := fmt.Sprintf("%T", cause)
		if own, ok := cause.(runtime.Error); ok {
			what = own.Error()
		}
		a.log.Error("the planner panicked", "panic", what, "stack", string(debug.Stack()))
		err = errPanicked
	}()
	return call()
}

// thoughts returns the steps to publish before the calls of a decision: the model's own thinking,
// if the operator wants it shown, the decision's thought, and the notes in the planner's text. A
// reply to no known remark is a thought. Notes that cannot be published are left out.
func (a *Agent) thoughts(p *problem, d planner.Decision, went StreamIDs) []protocol.Envelope {
	var out []protocol.Envelope
	if a.opts.ShowThinking && d.Thinking != "" {
		out = append(out, p.thought(d.Thinking, went.Thinking, field{"raw", true}))
	}
	if d.Thought != "" {
		out = append(out, p.thought(d.Thought, went.Text))
	}
	for _, n := range d.Notes {
		if _, known := p.q.refs.Resolve(n.ReplyTo); n.Kind == planner.Reply && n.Text != "" && !known {
			out = append(out, p.thought(n.Text, ""))
			continue
		}
		env, err := p.note(n)
		if err != nil {
			a.log.Debug("note left out", "context", p.path, "err", err)
			continue
		}
		out = append(out, env)
	}
	return out
}

// thought builds a complete thought, with the id of the stream that carried it,
// if any.
func (p *problem) thought(text, stream string, more ...field) protocol.Envelope {
	fields := append([]field{{"message", textutil.ShortenChars(text, maxThought)}}, more...)
	if stream != "" {
		fields = append(fields, field{"stream_id", stream})
	}
	return p.inside(protocol.KindReasoningThought, fields...)
}

// conclude closes the context with the conclusion, and returns the answer.
func (a *Agent) conclude(p *problem, d planner.Decision, went StreamIDs) (Solution, error) {
	if d.Answer == "" {
		d.Answer = "I have come to no answer in the steps that I may take."
	}
	message := textutil.ShortenChars(d.Conclusion, maxThought)
	if p.q.part && p.depth == 0 {
		message = textutil.ShortenChars(d.Answer, maxAnswer)
	}
	fields := []field{{"message", message}}
	if d.Confidence > 0 {
		fields = append(fields, field{"confidence", math.Round(100*min(d.Confidence, 1)) / 100})
	}
	if len(d.KeyFactors) > 0 {
		fields = append(fields, field{"key_factors", d.KeyFactors})
	}
	if d.Recommendation != "" {
		fields = append(fields, field{"recommendation", d.Recommendation})
	}
	if ids := p.q.refs.ResolveAll(d.References); len(ids) > 0 {
		fields = append(fields, field{"references", ids})
	}
	fields = append(fields, a.spent(p)...)
	s := Solution{Answer: d.Answer, Stream: cmp.Or(went.Answer, went.Text)}
	went.Text = "" // the stream carried the answer
	last := append(a.thoughts(p, d, went), p.acknowledge()...)
	if err := a.out.Publish(p.ctx, last...); err != nil { // complete before the conclusion, even if a pause delays one
		return Solution{}, fmt.Errorf("share thoughts: %w", err)
	}
	err := a.out.Publish(p.ctx, p.inside(protocol.KindReasoningConclusion, fields...))
	p.open = !MaybeSent(err)
	if p.open {
		return Solution{}, fmt.Errorf("conclude: %w", err)
	}
	return s, nil
}

// spent returns the metadata for the end of a context: the tokens that the models
// reported for it, their cost, and the number of answers without a count, without those of
// its parts, which have ends of their own.
func (a *Agent) spent(p *problem) []field {
	spent := p.meter.Spent()
	if len(spent) == 0 {
		return nil
	}
	sum, uncounted := llm.Total(spent)
	var names []string
	for _, s := range spent {
		if name := textutil.ShortenChars(s.Model, maxModelName); name != "" && len(names) < maxModelNames && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	m := make(map[string]any)
	if len(names) > 0 {
		m["model"] = strings.Join(names, ", ")
	}
	if sum != (llm.Usage{}) {
		m["usage"] = sum
	}
	if uncounted > 0 {
		m["uncounted"] = uncounted
	}
	if cost, known := a.opts.Prices.Cost(spent); known {
		m["cost"], m["currency"] = cost, a.opts.Currency
	}
	return []field{{"metadata", m}}
}

// close cancels a context that is still open, unless another participant has
// closed it.
func (a *Agent) close(p *problem, err error) {
	var stopped *cancelledError
	behind := p.q.part && errors.Is(err, errBehind) // the context is that of another process
	if !p.open || err == nil || behind || errors.As(err, &stopped) && stopped.Context == p.path {
		return
	}
	p.open = false
	fields := append([]field{{"reason", textutil.ShortenChars(explainCause(err), 500)}}, a.spent(p)...)
	a.out.Final("end of a context", p.inside(protocol.KindReasoningCancel, fields...))
}

// replyError logs that the question was given up, also one that still waited, and sends a chat
// that explains why, if the agent may still send.
func (a *Agent) replyError(q *question, cause error) {
	a.log.Info("question given up", "question", q.chat.ID, "context", q.root.path, "err", errorForLog(cause))
	if q.part {
		a.close(q.root, cause) // not closed yet if the part was waiting
		return
	}
	var stopped *cancelledError
	withdrawn := errors.As(cause, &stopped) && (stopped.Context == "" || stopped.TakenOver)
	if withdrawn || errors.Is(cause, errShutdown) || errors.Is(cause, errBehind) || errors.Is(cause, errTakenOver) || errors.Is(cause, client.ErrClosed) {
		return // no one expects an answer, or there is no time
	}
	a.out.Final("answer", q.stopped(cause))
}
