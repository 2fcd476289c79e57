package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// An agent asks another one to take a part of its reasoning by a nested
// reasoning.start in its own context, whose payload names that agent in
// participant_id. Only public questions have parts, so the start has no "to":
// every participant that sees the question sees its parts. The other agent
// reasons in the nested context, and closes it with its conclusion, or with
// reasoning.cancel. When the first agent no longer waits, it sends
// reasoning.cancel in the nested context.

// maxDelegates bounds the agents that a planner can choose from.
const maxDelegates = 16

// delegates returns the agents that can be asked to take a part: the connected
// ones, except the one that asked the question. A private question stays
// with its participants.
func (a *Agent) delegates(p *problem) []string {
	depth := a.opts.Space.Welcome().You.Limits.ContextDepth
	if a.opts.DelegateTimeout < 0 || len(p.q.private) > 0 || depth > 0 && p.path.Depth() >= depth {
		return nil
	}
	known := a.agents.Load()
	if known == nil {
		return nil
	}
	var list []string
	for _, id := range *known {
		if id != p.q.chat.From && len(list) < maxDelegates {
			list = append(list, string(id))
		}
	}
	return list
}

// delegate asks another agent to take a part, and waits for its conclusion.
func (a *Agent) delegate(ctx context.Context, x *action) contextwindow.Result {
	var args struct {
		Participant protocol.ParticipantID `json:"participant"`
		Question    string                 `json:"question"`
		planner.Plan
	}
	if err := json.Unmarshal(x.call.Arguments, &args); err != nil || args.Question == "" {
		return failed("a part needs a participant and a question")
	}
	if !slices.Contains(a.delegates(x.p), string(args.Participant)) {
		return failed(fmt.Sprintf("%.200q cannot be asked: it is not a connected agent, or it asked this question", args.Participant))
	}
	start := protocol.Envelope{
		ID: newID(), To: x.p.q.private, Kind: protocol.KindReasoningStart, Context: x.p.path, Correlation: protocol.CorrelateTo(x.thought.ID),
		Payload: object(
			field{"message", textutil.ShortenChars(args.Question, maxThought)}, field{"participant_id", args.Participant},
			field{"metadata", metadata("delegated", args.Plan)},
		),
	}
	path := x.p.path.Child(start.ID)
	end, err := a.askPart(ctx, start, args.Participant, a.opts.DelegateTimeout, func(*protocol.Envelope) {})
	if err != nil {
		return failed(err.Error())
	}
	out, _ := intake.PartResult(end, path, args.Participant)
	return out
}

// The errors of askPart, apart from the cause that ends ctx.
type (
	notAskedError struct{ error } // the gateway refused the start
	lateError     struct{ error } // no conclusion in time
)

// askPart publishes a start that asks a participant to take a part, and waits until the part is
// closed: by the conclusion of that participant, or by a cancel. each gets the other envelopes of
// the participant in the context.
func (a *Agent) askPart(ctx context.Context, start protocol.Envelope, who protocol.ParticipantID, limit time.Duration, each func(*protocol.Envelope)) (*protocol.Envelope, error) {
	box := a.inbox.Expect(start.ID)
	defer a.inbox.Release(start.ID)
	if err := a.out.Publish(ctx, start); err != nil {
		if MaybeSent(err) {
			a.cancelPart(start, "no longer needed")
		}
		return nil, notAskedError{fmt.Errorf("not asked: %s", explainCause(err))}
	}
	return a.awaitPart(ctx, start, who, limit, box, each)
}

// awaitPart waits until the other agent closes the context of a part. If it stops waiting, it
// cancels the part.
func (a *Agent) awaitPart(ctx context.Context, start protocol.Envelope, who protocol.ParticipantID, limit time.Duration, box <-chan protocol.Envelope, each func(*protocol.Envelope)) (end *protocol.Envelope, err error) {
	path, _ := start.Opens()
	timeout := a.opts.After(limit)
	var gone <-chan time.Time
	absent := "left the space"
	if !a.isConnected(who) {
		gone, absent = a.opts.After(awayTimeout), "is not connected"
	}
	for {
		select {
		case env := <-box:
			switch _, ended := intake.PartResult(&env, path, who); {
			case ended:
				return &env, nil
			case env.Kind == protocol.KindSystemPresence:
				gone = a.awayTimer(gone, &env, who)
			case env.From == who && env.Context == path:
				each(&env)
			}
			continue
		case <-gone:
			gone = nil
			if a.isConnected(who) {
				continue
			}
			err = fmt.Errorf("%s %s", who, absent)
		case <-timeout:
			err = lateError{fmt.Errorf("no conclusion of %s within %s", who, limit)}
		case <-ctx.Done():
			err = errors.New(explainCause(context.Cause(ctx)))
		}
		for len(box) > 0 { // the end may have come at the same moment
			env := <-box
			if _, ended := intake.PartResult(&env, path, who); ended {
				return &env, nil
			}
		}
		a.cancelPart(start, err.Error())
		return nil, err
	}
}

// cancelPart cancels a part in the context that its start opens.
func (a *Agent) cancelPart(start protocol.Envelope, why string) {
	path, _ := start.Opens()
	cancel := protocol.Envelope{
		Kind: protocol.KindReasoningCancel, To: start.To, Context: path, Payload: object(field{"reason", textutil.ShortenChars(why, 500)}),
	}
	if len(start.To) > 0 {
		cancel.Correlation = protocol.CorrelateTo(start.ID)
	}
	a.out.Final("end of a part", cancel)
}

// Asked is the outcome of Task.Ask.
type Asked struct {
	Outcome AskOutcome
	Text    string             // the conclusion, or why there is none
	End     *protocol.Envelope // that closed the part; nil: none
}

// AskOutcome tells how a part ended that another participant was asked to take.
type AskOutcome string

// The outcomes.
const (
	AskAnswered  AskOutcome = "answered"
	AskGaveUp    AskOutcome = "gave_up"   // the participant declined, failed or left
	AskRejected  AskOutcome = "rejected"  // the participant was not asked
	AskCancelled AskOutcome = "cancelled" // another participant canceled the part
	AskTimeout   AskOutcome = "timeout"
)

// DefaultAskTime is the time for an answer.
const DefaultAskTime = 2 * time.Minute

// Ask asks a participant to take a part of the question, in a nested context, and waits for its
// conclusion. each gets the texts of its steps; nil: none. thought is the envelope that explains
// it. The participants of a private question, and the one that is asked, see the part. An error is
// the cause that ended ctx.
func (t *Task) Ask(ctx context.Context, who protocol.ParticipantID, question string, thought protocol.ID, limit time.Duration, each func(text string)) (Asked, error) {
	switch depth := t.agent.opts.Space.Welcome().You.Limits.ContextDepth; {
	case who == t.agent.you:
		return Asked{Outcome: AskRejected, Text: "an agent cannot ask itself"}, nil
	case depth > 0 && t.Context.Depth() >= depth:
		return Asked{Outcome: AskRejected, Text: fmt.Sprintf("the question is asked at depth %d already, the most that the space allows", depth)}, nil
	}
	start := t.Inside(protocol.KindReasoningStart, object(
		field{"message", textutil.ShortenChars(question, maxAnswer)}, field{"participant_id", who}, field{"metadata", metadata("delegated", planner.Plan{})},
	))
	start.Correlation = protocol.CorrelateTo(thought)
	if len(start.To) > 0 && !start.AddressedTo(who) {
		start.To = append(slices.Clone(start.To), who)
	}
	end, err := t.agent.askPart(ctx, start, who, limit, func(env *protocol.Envelope) {
		if step, ok := intake.ReadRemark(env); ok && each != nil {
			each(step.Text)
		}
	})
	if ctx.Err() != nil && err != nil {
		return Asked{}, context.Cause(ctx)
	}
	var late lateError
	var refused notAskedError
	switch {
	case errors.As(err, &late):
		return Asked{Outcome: AskTimeout, Text: err.Error()}, nil
	case errors.As(err, &refused):
		return Asked{Outcome: AskRejected, Text: err.Error()}, nil
	case err != nil:
		return Asked{Outcome: AskGaveUp, Text: err.Error()}, nil
	}
	path, _ := start.Opens()
	out, _ := intake.PartResult(end, path, who)
	x := Asked{Outcome: AskAnswered, Text: end.ParsePayload().Get("message").Text(), End: end}
	switch {
	case out.Success:
		x.Text = cmp.Or(x.Text, out.Text)
	case end.From == who:
		x.Outcome, x.Text = AskGaveUp, out.Error
	default:
		x.Outcome, x.Text = AskCancelled, out.Error
	}
	return x, nil
}

// metadata returns the metadata of a reasoning.start: the approach, and what the
// planner gave.
func metadata(approach string, plan planner.Plan) map[string]any {
	m := map[string]any{"approach": cmp.Or(plan.Approach, approach)}
	if plan.EstimatedDuration != "" {
		m["estimated_duration"] = textutil.ShortenChars(plan.EstimatedDuration, 100)
	}
	if plan.Confidence != nil {
		m["confidence"] = inUnit(*plan.Confidence)
	}
	return m
}

// onStart handles a reasoning.start of another participant: it may come from an agent that was not
// known, and it may ask this agent to take a part, which the agent starts to reason about or declines.
// Everything about the part is as public as the start: without "to" it reasons in public.
func (a *Agent) onStart(env *protocol.Envelope) {
	if env.From == a.you {
		return
	}
	if known := a.agents.Load(); known == nil || !slices.Contains(*known, env.From) {
		a.noteAgents()
	}
	path, ok := env.Opens()
	if !ok || env.Context == "" || !participant.AsksFor(env, a.you) {
		return
	}
	q := a.questionOf(*env, a.chats.Before(env))
	q.part = true
	q.root = q.enter(a.runtime.Work, &problem{path: path, text: q.text, cause: env.ID, open: true})
	decline := func(why string) {
		q.leave(q.root)
		a.log.Info("part declined", "context", path, "from", env.From, "reason", why)
		a.reply(q.root.inside(protocol.KindReasoningCancel, field{"reason", why}))
	}
	for outer := env.Context; outer != ""; outer = outer.Parent() {
		if _, mine := a.contexts.Load(outer); mine {
			decline("this is a part of my own reasoning")
			return
		}
	}
	switch {
	case strings.TrimSpace(q.text) == "":
		decline("there is no question")
	case !a.addressing.AllowsPart(env.From):
		decline("too many parts in a row without a message of a person")
	default:
		switch a.start(q) {
		case participant.Duplicate:
			q.leave(q.root)
		case participant.Overloaded:
			decline("too many questions are waiting")
		case participant.Accepted:
		}
	}
}

// claimPart waits until this process is the first of the participant that takes the part: its claim
// is the first in the log. The start of a part is not its own, so there is none that could decide.
func (a *Agent) claimPart(p *problem) error {
	if !participant.MayAllow(a.opts.Space.Welcome().You.Capabilities, protocol.KindParticipantStatus) {
		return nil // nothing is known of other processes
	}
	err := a.out.Publish(p.ctx, protocol.Envelope{
		Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{a.you},
		Payload: append(protocol.AppendString([]byte(`{"status":"taken","question":`), string(p.q.chat.ID)), '}'),
	})
	refusal, fatal := refusalOf(err)
	switch {
	case refusal != nil:
		return nil
	case fatal != nil:
		return fatal
	}
	return p.q.first.Wait(p.ctx)
}

// noteAgents stores the connected agents for the planner.
func (a *Agent) noteAgents() {
	list := a.addressing.Agents()
	a.agents.Store(&list)
}
