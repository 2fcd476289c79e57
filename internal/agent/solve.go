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

// answer waits for a free slot, reasons, and publishes the result.
func (a *Agent) answer(q *question) {
	ctx := q.root.ctx
	if err := q.place.Take(ctx); err != nil {
		a.replyError(q, err)
		return
	}
	defer q.place.Leave()
	log := a.log.With("question", q.chat.ID, "context", q.root.path)
	log.Info("question taken", "from", q.chat.From)
	spanCtx, span := a.opts.Telemetry.Span(ctx, telemetry.InvokeAgent, string(a.you), a.describe(q.root)...)
	q.root.ctx = spanCtx
	err := a.solveAndReply(q)
	span.End(err)
	if err != nil {
		log.Info("question given up", "err", errorForLog(err))
		a.replyError(q, err)
		return
	}
	log.Info("question answered")
}

// solveAndReply solves the question and publishes the answer.
func (a *Agent) solveAndReply(q *question) error {
	d, stream, err := a.solve(q.root)
	if err != nil || q.part { // the conclusion of a part is its answer
		return err
	}
	var more []field
	if stream != "" {
		more = []field{{"stream_id", stream}}
	}
	reply := q.reply(d.Answer+a.privateNote(q), more...)
	reply.ID = q.replyID
	if q.root.ctx.Err() != nil { // too late: the context is concluded already
		a.out.Final("answer", reply)
		return nil
	}
	if err := a.out.Publish(q.root.ctx, reply); err != nil && !MaybeSent(err) {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// solve is the agent loop: plan, then act, until the planner finishes. It
// closes the context before it returns. With the last decision it returns the
// id of the stream that carried its text, if any.
func (a *Agent) solve(p *problem) (d planner.Decision, stream string, err error) {
	defer func() { a.close(p, err) }()
	a.contexts.Store(p.path, p)
	defer a.contexts.Delete(p.path)
	switch {
	case p.q.part && p.depth == 0:
		err = a.claimPart(p)
	case !p.open:
		text := p.text
		if a.opts.Approach != "program" { // the kits of all languages show the text as it was sent
			text = a.addressing.WithoutMention(text)
		}
		err = a.out.Publish(p.ctx, p.start(a.opts.Approach, text))
		p.open = MaybeSent(err)
		if err == nil && p.depth == 0 {
			err = p.q.first.Wait(p.ctx)
		}
	}
	if err != nil {
		return d, "", fmt.Errorf("open context: %w", err)
	}
	if a.opts.Solver != nil {
		s, err := a.solveBy(p)
		return planner.Decision{Answer: s.Answer}, s.Stream, err
	}
	state := a.newState(p)
	reconsidered := 0
	for {
		box := a.toolbox(p)
		state.Tools, state.Delegates = box.Plannable, a.delegates(p)
		if p.depth == 0 && len(state.Steps) == 0 && len(p.q.earlier) > 0 {
			state.Steps = append(state.Steps, intake.CallRecord(p.q.earlier, a.nameIn(box)))
			state.MaxSteps++ // it uses up none of the steps
		}
		a.hear(p, &state)
		d, went, err := a.plan(p, &state)
		if err != nil {
			return d, "", err
		}
		if p.q.withholds(box, d) {
			if err := a.dropDecision(p, d, went); err != nil {
				return d, "", err
			}
			continue
		}
		if reconsidered < maxReconsidered && went.Answer == "" && p.remarks.Waiting() { // nothing of the decision was sent
			reconsidered++
			if err := a.dropDecision(p, d, went); err != nil {
				return d, "", err
			}
			continue
		}
		if d.Action == contextwindow.Finish || len(d.Calls) == 0 || len(state.Steps) >= state.MaxSteps {
			d, err := a.conclude(p, d, went)
			return d, cmp.Or(went.Answer, went.Text), err
		}
		record := contextwindow.Record{
			Index: len(state.Steps), Thought: d.Thought, Action: d.Action, Calls: d.Calls, Turn: d.Turn,
		}
		record.Results, err = a.act(p.ctx, p, box, record, a.thoughts(p, d, went))
		if err != nil {
			return d, "", err
		}
		state.Steps = append(state.Steps, record)
	}
}

// dropDecision publishes the thought of a decision that is made again: because of
// remarks that came in the meantime, or without the tools of others.
func (a *Agent) dropDecision(p *problem, d planner.Decision, went StreamIDs) error {
	if d.Action != contextwindow.UseTools || d.Thought == "" {
		return nil
	}
	if err := a.out.Publish(p.ctx, p.thought(d.Thought, went.Text)); err != nil {
		return fmt.Errorf("share thoughts: %w", err)
	}
	return nil
}

func (a *Agent) newState(p *problem) planner.State {
	depth := a.opts.MaxDepth
	if most := a.opts.Space.Welcome().You.Limits.ContextDepth; most > 0 {
		depth = min(depth, most-(p.path.Depth()-p.depth)) // a part begins in a nested context
	}
	steps := a.opts.MaxSteps
	if p.depth > 0 {
		steps = max(1, steps/2)
	}
	return planner.State{
		Question: p.text, Asker: string(p.q.chat.From), Session: string(p.q.chat.ID), History: p.q.history, Instructions: a.opts.Instructions,
		MaxSteps: steps, Depth: p.depth, MaxDepth: depth, Memory: new(planner.Memory), Open: true,
	}
}

// plan asks the planner for the next decision; the model's output is streamed
// meanwhile.
func (a *Agent) plan(p *problem, state *planner.State) (planner.Decision, StreamIDs, error) {
	ctx, span := a.opts.Telemetry.Span(p.ctx, telemetry.Plan, string(a.you), a.describe(p)...)
	live := a.newStreams(p)
	state.Watch, state.Asking = live.Add, live.Begin
	began := a.opts.Now()
	d, err := a.next(llm.WithMeter(ctx, &p.meter), *state)
	if err == nil && d.Action != contextwindow.Finish { // the text is a thought
		live.Withdraw()
	}
	went := live.End()
	a.opts.Telemetry.Decided(ctx, telemetry.Decision{
		Space: a.space.Name, Agent: string(a.you), Session: string(p.q.chat.ID), Intent: string(p.path),
		Provider: d.Provider, Model: d.Model, Source: string(d.Source), Usage: d.Usage, Context: d.Shown,
		Duration: a.opts.Now().Sub(began), Outcome: string(d.Action), Tools: namesOf(d.Calls), Err: errors.Join(err, d.Fault),
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

// newStreams returns the streams of a decision about a problem.
func (a *Agent) newStreams(p *problem) *DeltaStreams {
	o := deltaOptions{
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
	return newDeltaStreams(o)
}

// next calls the planner. A panic of the planner fails only this question.
func (a *Agent) next(ctx context.Context, state planner.State) (d planner.Decision, err error) {
	defer a.recoverPanic(&err)
	return a.opts.Planner.Next(ctx, state)
}

// recoverPanic turns a panic into an error. Of the panic's value only the
// runtime's own error text is logged, because other values may quote the question.
func (a *Agent) recoverPanic(err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	what := fmt.Sprintf("%T", cause)
	if own, ok := cause.(runtime.Error); ok {
		what = own.Error()
	}
	a.log.Error("the planner panicked", "panic", what, "stack", string(debug.Stack()))
	*err = errPanicked
}

// thoughts returns the thoughts to publish before the calls of a decision: the
// model's own thinking, if the operator wants it shown, and the decision's
// thought.
func (a *Agent) thoughts(p *problem, d planner.Decision, went StreamIDs) []protocol.Envelope {
	var out []protocol.Envelope
	if a.opts.ShowThinking && d.Thinking != "" {
		out = append(out, p.thought(d.Thinking, went.Thinking, field{"raw", true}))
	}
	if d.Thought != "" {
		out = append(out, p.thought(d.Thought, went.Text))
	}
	return append(out, a.notes(p, d.Notes)...)
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

// conclude closes the context with the conclusion.
func (a *Agent) conclude(p *problem, d planner.Decision, went StreamIDs) (planner.Decision, error) {
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
	went.Text = "" // the stream carried the answer
	last := append(a.thoughts(p, d, went), p.acknowledge()...)
	if err := a.out.Publish(p.ctx, last...); err != nil { // complete before the conclusion, even if a pause delays one
		return d, fmt.Errorf("share thoughts: %w", err)
	}
	err := a.out.Publish(p.ctx, p.inside(protocol.KindReasoningConclusion, fields...))
	p.open = !MaybeSent(err)
	if p.open {
		return d, fmt.Errorf("conclude: %w", err)
	}
	return d, nil
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

// replyError sends a chat that explains why the question was not answered, if
// the agent may still send.
func (a *Agent) replyError(q *question, cause error) {
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

func namesOf(calls []contextwindow.Call) []string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Tool)
	}
	return names
}
