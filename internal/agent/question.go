package agent

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/planner"
	"github.com/meup-protocol/meup/internal/reasoning"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what the agent says, in characters.
const (
	maxThought = 4000
	maxAnswer  = 60_000
)

// question is one that is being answered.
type question struct {
	chat protocol.Envelope
	text string
	path protocol.ContextPath // the context; its id is that of reasoning.start

	ctx    context.Context
	cancel context.CancelCauseFunc

	// private is whom the question's asker alone let in on it: everything that
	// follows goes to the asker alone. Empty: everything is for everybody.
	private []protocol.ParticipantID

	started bool // reasoning.start is in the log, and the context open
}

func (a *Agent) newQuestion(work context.Context, chat protocol.Envelope) *question {
	q := &question{chat: chat, text: chatText(&chat), path: protocol.ContextPath(a.opts.NewID())}
	q.ctx, q.cancel = context.WithCancelCause(work)
	if len(chat.To) > 0 {
		q.private = []protocol.ParticipantID{chat.From}
	}
	return q
}

// start opens the context.
func (q *question) start(approach string) protocol.Envelope {
	return protocol.Envelope{
		ID: protocol.ID(q.path), To: q.private, Kind: protocol.KindReasoningStart,
		Correlation: protocol.CorrelateTo(q.chat.ID),
		Payload: object(
			field{"message", "Looking into: " + cut(q.text, 200)},
			field{"metadata", map[string]string{"approach": approach}},
		),
	}
}

// inside is an envelope within the context. Where the question is private it
// answers the start, so that it belongs to the asker's thread.
func (q *question) inside(kind protocol.Kind, fields ...field) protocol.Envelope {
	env := protocol.Envelope{To: q.private, Kind: kind, Context: q.path, Payload: object(fields...)}
	if len(q.private) > 0 {
		env.Correlation = protocol.CorrelateTo(protocol.ID(q.path))
	}
	return env
}

// reply is the chat that answers the question.
func (q *question) reply(markdown string) protocol.Envelope {
	return protocol.Envelope{
		To: q.private, Kind: protocol.KindChat, Correlation: protocol.CorrelateTo(q.chat.ID),
		Payload: object(field{"message", cut(markdown, maxAnswer)}, field{"format", "markdown"}),
	}
}

// answer waits for the question's turn, reasons, and says what came of it.
func (a *Agent) answer(q *question) {
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-q.ctx.Done():
		a.giveUp(q, context.Cause(q.ctx))
		return
	}
	log := a.log.With("question", q.chat.ID, "context", q.path)
	log.Info("question taken", "from", q.chat.From)
	if err := a.think(q); err != nil {
		log.Info("question given up", "err", err)
		a.giveUp(q, err)
		return
	}
	log.Info("question answered")
}

// think is the loop: plan, act, and so on until the planner has finished.
func (a *Agent) think(q *question) error {
	if err := a.say(q, q.start(a.opts.Approach)); err != nil {
		return fmt.Errorf("open context: %w", err)
	}
	q.started = true
	state := planner.State{Question: q.text, MaxSteps: a.opts.MaxSteps}
	for {
		state.Tools = plannable(a.opts.Tools.Tools())
		d, err := a.opts.Planner.Next(q.ctx, state)
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		if d.Thought != "" {
			if err := a.say(q, q.inside(protocol.KindReasoningThought, field{"message", cut(d.Thought, maxThought)})); err != nil {
				return fmt.Errorf("share thought: %w", err)
			}
		}
		if d.Action == reasoning.Finish || len(d.Calls) == 0 || len(state.Steps) >= a.opts.MaxSteps {
			return a.conclude(q, d)
		}
		record := reasoning.Record{
			Index: len(state.Steps), Thought: d.Thought, Action: d.Action, Calls: d.Calls,
			Concurrent: len(d.Calls) > 1, Time: a.opts.Now(),
		}
		if record.Results, err = a.act(q, record); err != nil {
			return err
		}
		state.Steps = append(state.Steps, record)
	}
}

func (a *Agent) conclude(q *question, d planner.Decision) error {
	if d.Answer == "" {
		d.Answer = "I have come to no answer in the steps that I may take."
	}
	fields := []field{{"message", cut(d.Conclusion, maxThought)}}
	if d.Confidence > 0 {
		fields = append(fields, field{"confidence", math.Round(100*min(d.Confidence, 1)) / 100})
	}
	if err := a.say(q, q.inside(protocol.KindReasoningConclusion, fields...)); err != nil {
		return fmt.Errorf("conclude: %w", err)
	}
	q.started = false
	if err := a.say(q, q.reply(d.Answer)); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// say sends an envelope, once the agent is not paused.
func (a *Agent) say(q *question, env protocol.Envelope) error {
	if env.ID == "" {
		env.ID = a.opts.NewID()
	}
	for {
		_, err := a.opts.Space.Send(q.ctx, env)
		if err == nil {
			return nil
		}
		if q.ctx.Err() != nil {
			return context.Cause(q.ctx)
		}
		if !errors.Is(err, &protocol.Error{Code: protocol.CodePaused}) {
			return err
		}
		if err := a.gate.wait(q.ctx); err != nil {
			return err
		}
	}
}

// giveUp leaves no context open and no question without a word, as far as it
// may still speak.
func (a *Agent) giveUp(q *question, cause error) {
	if errors.Is(cause, client.ErrClosed) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), closingTime)
	defer cancel()
	var stopped *cancelled
	byOther := errors.As(cause, &stopped)
	if q.started && (!byOther || !stopped.closed) {
		if _, err := a.opts.Space.Send(ctx, q.inside(protocol.KindReasoningCancel, field{"reason", cut(explain(cause), 500)})); err != nil {
			a.log.Warn("context left open", "context", q.path, "err", err)
		}
	}
	if byOther && !stopped.closed || errors.Is(cause, errShutdown) {
		return // the question was withdrawn, or there is no time
	}
	text := "I have stopped looking into this: " + explain(cause) + "."
	if _, err := a.opts.Space.Send(ctx, q.reply(text)); err != nil {
		a.log.Warn("question left without an answer", "question", q.chat.ID, "err", err)
	}
}

// explain says a cause in words for the space.
func explain(cause error) string {
	var refusal *protocol.Error
	if errors.As(cause, &refusal) {
		return fmt.Sprintf("the gateway does not let me (%s: %s)", refusal.Code, trimStop(refusal.Message))
	}
	return trimStop(cause.Error())
}
