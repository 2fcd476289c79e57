// Package ask follows a question that was published in a space: the contexts that
// participants open for it, what they think and call in them, proposals and their
// decisions, and the answer. Adapters of other protocols show these events in forms
// of their own. A Thread does so for all questions of a thread, which the gateway streams.
package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// Type is the type of an Event.
type Type string

// The types of events. All but Delta, Answering and Ended have an envelope of the log.
const (
	Asked        Type = "asked"         // a question of a Thread
	Opened       Type = "opened"        // a context: reasoning.start
	Thought      Type = "thought"       // a step of reasoning: thought, observation, hypothesis, question
	Called       Type = "called"        // a request to a tool
	Returned     Type = "returned"      // its response
	Proposed     Type = "proposed"      // a call that waits for a decision
	Settled      Type = "settled"       // a proposal has a decision
	Closed       Type = "closed"        // a context: reasoning.conclusion or reasoning.cancel
	StreamOpened Type = "stream-opened" // a text that grows
	Delta        Type = "delta"         // an addition to it, which is not in the log
	StreamClosed Type = "stream-closed"
	Answering    Type = "answering" // an addition to an answer that grows, which is not in the log
	Retracted    Type = "retracted" // an answer that grew is none; its text is, or becomes, a thought
	Said         Type = "said"      // a chat within a context
	Answered     Type = "answered"  // a chat that answers the question
	Ended        Type = "ended"     // the last event
)

// Event is a step of a turn.
type Event struct {
	Type Type
	// Envelope is nil for Ended. Its bytes are the event's own.
	Envelope *protocol.Envelope
	// Seq is the position in the log; of an event that is not in it, of the one before.
	Seq protocol.Seq
	// Text is the message of the envelope, the data of a Delta or Answering, the reason of
	// Settled, and for Ended the answer or the reason.
	Text string
	// Steps is the reasoning that the text of an Answered began with.
	Steps []string
	// Ref is the id of the request that a Returned answers, of the proposal that is
	// Settled, or of the stream.
	Ref protocol.ID
	// State is the outcome of Settled (see package exchange), or of Ended.
	State string
	// Question is the question of a Thread that the event belongs to, and Turn its number.
	Question protocol.ID
	Turn     int
}

// InLog reports whether the event has a position in the log of its own.
func (e *Event) InLog() bool { return e.Type != Delta && e.Type != Answering && e.Type != Ended }

// The states of Ended.
const (
	Completed = "completed" // there is an answer, or a conclusion
	Failed    = "failed"    // all contexts were canceled; a chat of their openers is no answer
	Withdrawn = "withdrawn" // the asker canceled the question
)

// Question is a chat that was published.
type Question struct {
	Space string
	ID    protocol.ID
	From  protocol.ParticipantID   // the participant that follows
	To    []protocol.ParticipantID // none: all
	Seq   protocol.Seq             // of the chat
	Log   string                   // id of the log; "": unknown
}

// settle is how long a turn waits for more when it has an answer but an open context,
// or no answer and no open context.
const settle = 2 * time.Second

var errSettled = errors.New("the turn has ended")

// Follow calls each for the events of a question's turn, in the order of the log, until
// it returns false or after Ended. It uses one of the participant's connections. The
// envelopes are the ones that the participant may see. Errors: the client's, ctx's.
func Follow(ctx context.Context, client *api.Client, q Question, each func(*Event) (more bool)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &follower{turn: newTurn(q), each: each, over: func() { cancel(errSettled) }}
	query := api.EnvelopeQuery{Since: q.Seq, Log: q.Log, Own: true}
	err := client.Events(ctx, q.Space, query, f.event)
	f.stop()
	switch {
	case f.failed != nil:
		return f.failed
	case f.ended || !errors.Is(context.Cause(ctx), errSettled):
		return err
	}
	last := f.turn.end() // of a turn that seemed to be over
	last.Seq = f.seq
	each(last)
	return nil
}

// follower hands the events of a turn to a function.
type follower struct {
	turn   *turn
	each   func(*Event) bool
	over   func() // ends the stream
	timer  *time.Timer
	ended  bool  // each had the last event, or wants no more
	failed error // why the stream cannot be followed
	seq    protocol.Seq
}

// event handles an event of the stream; it returns false at the end.
func (f *follower) event(e *api.Event) (more bool) {
	switch e.Name {
	case "envelope":
	case "system":
		f.failed = e.Err()
		return f.failed == nil
	default:
		return true
	}
	if e.Cut {
		// An envelope that is too long for the stream of events counts as read.
		if seq, err := protocol.ParseSeq(e.ID); err == nil {
			f.seq = seq
		}
		return true
	}
	env, err := protocol.DecodeDelivered(append([]byte(nil), e.Data...))
	if err != nil {
		f.failed = fmt.Errorf("read an envelope of the turn: %w", err)
		return false
	}
	if e.ID != "" {
		f.seq = env.Seq
	}
	for _, out := range f.turn.apply(&env) {
		out.Seq = f.seq
		f.ended = out.Type == Ended
		if !f.each(out) || f.ended {
			f.ended = true
			return false
		}
	}
	f.stop()
	if f.turn.quiet() { // it seems to be over, from its last event on
		f.timer = time.AfterFunc(settle, f.over)
	}
	return true
}

func (f *follower) stop() {
	if f.timer != nil {
		f.timer.Stop()
	}
}

// MayDecide reports whether a proposal of a turn waits for a decision that the client's
// participant can make with Decide. A client that reads a turn again comes across
// settled ones. If the gateway cannot tell, it counts as waiting: a decision about a
// settled one changes nothing, but a turn would wait forever for a decision that no client
// is asked for.
func MayDecide(ctx context.Context, client *api.Client, space string, p *protocol.Envelope) bool {
	if exchange.CallOf(p).Host == "" {
		return false
	}
	of, err := client.TurnOf(ctx, space, p.ID)
	return err != nil || slices.Contains(of.MayDecide, p.ID)
}
