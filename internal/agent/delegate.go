package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/agent/causes"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/parts"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/publisher"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/internal/textutil"
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
		ID: publisher.NewID(), To: x.p.q.private, Kind: protocol.KindReasoningStart, Context: x.p.path, Correlation: protocol.CorrelateTo(x.thought.ID),
		Payload: object(
			field{"message", textutil.ShortenChars(args.Question, maxThought)}, field{"participant_id", args.Participant},
			field{"metadata", metadata("delegated", args.Plan)},
		),
	}
	box := a.inbox.Expect(start.ID)
	defer a.inbox.Release(start.ID)
	if err := a.out.Publish(ctx, start); err != nil {
		if publisher.Maybe(err) {
			a.cancelPart(x.p.path.Child(start.ID), "no longer needed")
		}
		return failed("not asked: " + causes.Explain(err))
	}
	return a.awaitPart(ctx, x.p.path.Child(start.ID), args.Participant, box)
}

// awaitPart waits until the other agent closes the context of a part. If it
// stops waiting, it cancels the part.
func (a *Agent) awaitPart(ctx context.Context, path protocol.ContextPath, who protocol.ParticipantID, box <-chan protocol.Envelope) contextwindow.Result {
	timeout := a.opts.After(a.opts.DelegateTimeout)
	var gone <-chan time.Time
	for {
		var why string
		select {
		case env := <-box:
			if out, ended := parts.Result(&env, path, who); ended {
				return out
			}
			if env.Kind == protocol.KindSystemPresence {
				gone = a.awayTimer(gone, &env, who)
			}
			continue
		case <-gone:
			if gone = nil; a.isConnected(who) {
				continue
			}
			why = fmt.Sprintf("%s left the space", who)
		case <-timeout:
			why = fmt.Sprintf("no conclusion of %s within %s", who, a.opts.DelegateTimeout)
		case <-ctx.Done():
			why = causes.Explain(context.Cause(ctx))
		}
		for len(box) > 0 { // the end may have come at the same moment
			env := <-box
			if out, ended := parts.Result(&env, path, who); ended {
				return out
			}
		}
		a.cancelPart(path, why)
		return failed(why)
	}
}

func (a *Agent) cancelPart(path protocol.ContextPath, why string) {
	a.out.Final("end of a part", protocol.Envelope{
		Kind: protocol.KindReasoningCancel, Context: path, Payload: object(field{"reason", textutil.ShortenChars(why, 500)}),
	})
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

// onStart handles a reasoning.start of another participant: it may ask this
// agent to take a part, and it may come from an agent that was not known.
func (a *Agent) onStart(env *protocol.Envelope) {
	if env.From == a.you {
		return
	}
	if known := a.agents.Load(); known == nil || !slices.Contains(*known, env.From) {
		a.noteAgents()
	}
	if path, ok := env.Opens(); ok && env.Context != "" && participant.AsksFor(env, a.you) {
		a.admitPart(*env, path)
	}
}

// admitPart starts to reason about a part of another agent's question, or
// declines it.
func (a *Agent) admitPart(start protocol.Envelope, path protocol.ContextPath) {
	q := a.newPart(start, path)
	decline := func(why string) {
		q.leave(q.root)
		a.log.Info("part declined", "context", path, "from", start.From, "reason", why)
		a.reply(q.root.inside(protocol.KindReasoningCancel, field{"reason", why}))
	}
	for outer := start.Context; outer != ""; outer = outer.Parent() {
		if _, mine := a.contexts.Load(outer); mine {
			decline("this is a part of my own reasoning")
			return
		}
	}
	switch {
	case strings.TrimSpace(q.text) == "":
		decline("there is no question")
	case !a.addressing.AllowsPart(start.From):
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

// newPart returns the part that a reasoning.start asks for. Everything about it
// is as public as the start: without "to" it reasons in public.
func (a *Agent) newPart(start protocol.Envelope, path protocol.ContextPath) *question {
	q := a.questionOf(start, a.chats.Before(&start))
	q.part = true
	q.root = q.enter(a.runtime.Work, &problem{path: path, text: q.text, cause: start.ID, open: true})
	return q
}

// noteAgents stores the connected agents for the planner.
func (a *Agent) noteAgents() {
	list := a.addressing.Agents()
	a.agents.Store(&list)
}
