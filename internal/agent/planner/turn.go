package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

const (
	maxFault     = 2000 // characters of one fault's text for the model
	maxNarrative = 4000 // characters of the model's text before its calls
)

// Next decides the next step.
//
// The model is offered the tools and either calls some or writes the answer. If
// a result was not shown in full, or the steps are used up, a second request to
// the model writes the answer, with as much of the results as fits.
//
// A call is invalid if its tool is unknown, its arguments do not fit the tool's
// schema, or the records already have it. The model gets one chance to correct
// invalid calls; calls that remain invalid are dropped. If no call is left,
// repeated calls lead to an answer from the present results, others to an error
// that wraps ErrBadCalls.
//
// A forced tool is called regardless of the records, and also beyond MaxSteps.
func (m *Model) Next(ctx context.Context, s State) (Decision, error) {
	t := &turn{m: m, s: &s, offer: m.offer(&s)}
	t.d = Decision{Source: ByModel, Model: m.opts.Model.Name(), Provider: m.opts.Model.Provider()}
	var err error
	switch forced := t.offer.names[s.Forced]; {
	case s.Forced != "" && t.offer.wire[forced] == nil:
		err = fmt.Errorf("%w: there is no tool %q with a schema that can be read and fits the model's window", ErrForced, s.Forced)
		if slices.Contains(t.offer.leftOut, s.Forced) {
			err = fmt.Errorf("%w: %w", contextwindow.ErrTooLarge, err)
		}
	case s.Forced != "":
		t.d.Source = ByForce
		err = t.decide(ctx, llm.ToolChoice(forced))
	case len(s.Steps) >= s.Limit():
		err = t.write(ctx, exhausted)
	case len(t.offer.tools) == 0:
		err = t.decide(ctx, llm.None)
	default:
		err = t.decide(ctx, llm.Auto)
	}
	if err != nil {
		return Decision{Model: t.d.Model, Provider: t.d.Provider, Usage: t.d.Usage}, err
	}
	return t.d, nil
}

// turn is the state of one decision.
type turn struct {
	m     *Model
	s     *State
	offer *offer
	d     Decision
}

// decide asks for calls or an answer, and once more if the turn was invalid.
// Faults that remain are left out.
func (t *turn) decide(ctx context.Context, choice llm.ToolChoice) error {
	req := llm.Request{Tools: t.offer.tools, Choice: choice}
	resp, err := t.request(ctx, contextwindow.Planning, t.planningPrompt(), &req)
	if err != nil {
		return err
	}
	calls, faults := t.read(&resp)
	if len(faults) > 0 {
		t.m.log.Info("model's turn sent back", "faults", summarize(faults))
		req.Messages = append(slices.Clip(req.Messages), t.offer.withWireNames(correction(resp.Message, faults))...)
		resp, err = t.ask(ctx, contextwindow.Planning, req)
		if err != nil {
			return err
		}
		calls, faults = t.read(&resp)
	}
	switch text := strings.TrimSpace(resp.Message.Text); {
	case len(calls) > 0:
		t.d.Action, t.d.Calls = contextwindow.UseTools, calls
		if t.s.Open {
			text, t.d.Notes = plainNotes(text)
		}
		t.d.Thought = textutil.ShortenChars(text, maxNarrative)
		t.d.Turn = &resp.Message // includes dropped calls: a context marks them as calls without a result
		if len(faults) > 0 {
			t.m.log.Warn("calls of the model left out", "faults", summarize(faults))
		}
		return nil
	case len(faults) > 0 && faults[0].err != nil:
		return faults[0].err
	case len(faults) == 0 && (resp.Stop == llm.StopRefusal || text == "" || whole(t.d.Shown)):
		return t.finish(&resp)
	case len(faults) == 0: // the model has not seen every result in full
		var notes []Note
		if t.s.Open {
			text, notes = plainNotes(text)
		}
		if err := t.write(ctx, ready); err != nil {
			return err
		}
		t.d.Notes = append(notes, t.d.Notes...)
		t.d.Thought = textutil.ShortenChars(withoutConclusion(text, t.d.Conclusion), maxReason)
		return nil
	case slices.ContainsFunc(faults, func(f fault) bool { return !f.repeat }):
		return fmt.Errorf("%w: %s", ErrBadCalls, summarize(faults))
	}
	return t.write(ctx, repeated)
}

// whole reports whether every result was shown in full.
func whole(m *contextwindow.Meta) bool { return m.Previews+m.Summaries+m.Dropped+m.Steps == 0 }

// write requests the answer from the present results. The tools stay in the
// request, since some providers reject calls in a conversation without tools,
// but none may be called. If the model calls one anyway, the request is
// repeated without tools; if it writes nothing, it is asked once more.
func (t *turn) write(ctx context.Context, why string) error {
	req := llm.Request{Tools: t.offer.tools, Choice: llm.None}
	if len(t.s.Steps) == 0 {
		req.Tools = nil
	}
	resp, err := t.request(ctx, contextwindow.Synthesis, t.synthesisPrompt(why), &req)
	if err != nil {
		return err
	}
	silent := strings.TrimSpace(resp.Message.Text) == "" && resp.Stop != llm.StopRefusal && resp.Stop != llm.StopLength
	called := len(resp.Message.Calls) > 0
	if silent && (!called || req.Tools != nil) {
		if called {
			req.Tools = nil
		} else {
			req.Messages = append(slices.Clip(req.Messages), llm.Message{Role: llm.User, Text: "You wrote no answer. Write the answer now."})
		}
		resp, err = t.ask(ctx, contextwindow.Synthesis, req)
		if err != nil {
			return err
		}
	}
	return t.finish(&resp)
}

// finish decides on the answer in the response.
func (t *turn) finish(resp *llm.Response) error {
	text := strings.TrimSpace(resp.Message.Text)
	switch {
	case text != "":
	case resp.Stop == llm.StopRefusal:
		return ErrRefused
	case resp.Stop == llm.StopLength:
		return ErrLength
	default:
		return ErrSilent
	}
	t.d.Action = contextwindow.Finish
	if t.s.Open {
		text, t.d.Notes = plainReplies(text)
	}
	t.d.setAnswer(text)
	switch resp.Stop {
	case llm.StopLength:
		t.d.Answer += "\n\n" + cutNote
	case llm.StopRefusal:
		t.d.Conclusion = "The model would not go on with this question."
	}
	return nil
}

// request builds the context for a goal, sets req.Messages and sends the request.
// If the provider rejects it as too long, request sends a smaller one: with a smaller context, and
// with the tools that fit then, unless that would remove the tool that the request forces, or all tools.
func (t *turn) request(ctx context.Context, goal contextwindow.Goal, system string, req *llm.Request) (llm.Response, error) {
	for sent := 1; ; sent++ {
		messages, meta, err := t.m.build(ctx, t.s.Memory, t.offer, contextwindow.Input{
			System: system, History: t.s.History, Question: t.s.Question, Records: t.s.Steps, Goal: goal,
		})
		if err != nil {
			return llm.Response{}, fmt.Errorf("build context for %s: %w", goal, err)
		}
		meta.Tools, meta.ToolNames = len(t.offer.leftOut), leftOutNames(t.offer.leftOut)
		t.d.Shown = &meta
		req.Messages = t.offer.withWireNames(messages)
		resp, err := t.ask(ctx, goal, *req)
		var refusal *llm.Error
		if sent == maxTooLong || !errors.As(err, &refusal) || !refusal.TooLong() {
			return resp, err
		}
		t.m.log.Warn("the request was too long; sending a smaller context", "error", err)
		t.m.shrink()
		o := t.m.offer(t.s)
		if req.Tools != nil && len(o.tools) > 0 && (t.s.Forced == "" || o.wire[o.names[t.s.Forced]] != nil) {
			t.offer, req.Tools = o, o.tools
		}
	}
}

// ask sends one request to the model and adds its usage to the decision. It sends the
// request once more if the answer breaks off.
func (t *turn) ask(ctx context.Context, goal contextwindow.Goal, req llm.Request) (llm.Response, error) {
	req.Effort, req.MaxTokens = t.m.opts.Effort, t.m.opts.MaxTokens
	resp, begun, err := t.attempt(ctx, goal, req)
	// An answer is broken off by an error of its transport, or of a server that became busy. Until an
	// answer begins, the model's client itself repeats a request to a busy server.
	var refusal *llm.Error
	brokenOff := errors.Is(err, llm.ErrTruncated) || begun && errors.As(err, &refusal) && refusal.Temporary()
	if brokenOff && ctx.Err() == nil {
		t.m.log.Warn("the model's answer broke off; asking again", "error", err)
		resp, _, err = t.attempt(ctx, goal, req)
	}
	t.d.Usage = t.d.Usage.Plus(resp.Usage)
	t.m.calibrate(&req, resp.Usage.Input)
	if err != nil {
		return llm.Response{}, fmt.Errorf("ask %s for %s: %w", t.m.opts.Model.Name(), goal, err)
	}
	if resp.Model != "" {
		t.d.Model = resp.Model
	}
	if thought := strings.TrimSpace(resp.Thinking); thought != "" {
		if t.d.Thinking != "" {
			t.d.Thinking += "\n\n"
		}
		t.d.Thinking += thought
	}
	return resp, nil
}

// attempt sends a request. begun reports that a piece of the answer arrived.
func (t *turn) attempt(ctx context.Context, goal contextwindow.Goal, req llm.Request) (resp llm.Response, begun bool, err error) {
	if t.s.Asking != nil {
		t.s.Asking(goal == contextwindow.Synthesis || t.s.Forced == "" && whole(t.d.Shown), req.Choice != llm.None && len(req.Tools) > 0)
	}
	watch := t.s.Watch
	if watch != nil {
		watch = func(d llm.Delta) {
			begun = true
			t.s.Watch(d)
		}
	}
	resp, err = llm.Ask(ctx, t.m.opts.Model, req, watch)
	return resp, begun, err
}
