package api

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"

	"github.com/meup-protocol/meup/protocol"
)

// The types of thread events.
const (
	EventAsked        = "asked"         // a question: a chat that begins a turn
	EventOpened       = "opened"        // a context for it: reasoning.start
	EventThought      = "thought"       // a step of reasoning
	EventCalled       = "called"        // a call of a tool
	EventReturned     = "returned"      // its response; Ref is the call
	EventProposed     = "proposed"      // a call that waits for a decision
	EventSettled      = "settled"       // the decision; Ref is the proposal, State the outcome
	EventClosed       = "closed"        // a context: its conclusion, or why it was canceled
	EventStreamOpened = "stream-opened" // a thought that grows; Ref is its stream
	EventDelta        = "delta"         // an addition to it
	EventStreamClosed = "stream-closed"
	EventAnswering    = "answering" // an addition to an answer that grows; Ref is its stream
	EventRetracted    = "retracted" // that answer is none
	EventSaid         = "said"      // a chat within a context
	EventAnswered     = "answered"  // a chat that answers the question
	EventEnded        = "ended"     // nothing more is expected; State is the outcome
)

// The states of EventEnded.
const (
	EndedCompleted = "completed" // there is an answer, or a conclusion
	EndedFailed    = "failed"    // all contexts were canceled; Text is why
	EndedWithdrawn = "withdrawn" // the asker canceled the question
)

// ThreadEvent is a step of a turn of a thread.
type ThreadEvent struct {
	// ID is the position of the event, with which a later request goes on; "" for events that
	// are not in the log.
	ID string `json:"-"`

	Type     string                 `json:"type"`
	Question protocol.ID            `json:"question"` // the chat that began the turn
	Turn     int                    `json:"turn"`     // its number
	From     protocol.ParticipantID `json:"from,omitempty"`
	// Text is the message, the addition, the reason or the answer, without marks of reasoning.
	Text  string      `json:"text,omitempty"`
	Steps []string    `json:"steps,omitempty"` // the reasoning that an answer began with
	Ref   protocol.ID `json:"ref,omitempty"`
	State string      `json:"state,omitempty"`
	// MayDecide reports that the reader has the rights for the decision about a proposal.
	MayDecide bool `json:"may_decide,omitempty"`
	// Envelope is absent if the event is not in the log.
	Envelope json.RawMessage `json:"envelope,omitempty"`
}

// ThreadEvents returns what happens to the questions of a thread: all events after the one
// with an ID ("": from the beginning), and then live ones until the loop or ctx ends. The
// last pair has the error that ended the stream; to go on, call it again with the last ID
// that is not empty. It uses one of the participant's connections.
func (c *Client) ThreadEvents(ctx context.Context, space string, thread protocol.ID, after string) iter.Seq2[*ThreadEvent, error] {
	return func(yield func(*ThreadEvent, error) bool) {
		q := make(url.Values)
		if after != "" {
			q.Set("after", after)
		}
		var failed error
		stopped := false
		err := c.readStream(ctx, inSpace(space, "threads", string(thread), "events"), q, maxEventData, func(e *Event) bool {
			if e.Name == "system" || e.Cut {
				failed = e.Err()
				return failed == nil
			}
			out := &ThreadEvent{ID: e.ID}
			failed = json.Unmarshal(e.Data, out)
			if failed == nil {
				stopped = !yield(out, nil)
			}
			return failed == nil && !stopped
		})
		if failed != nil {
			err = failed
		}
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("read events of thread %s: %w", thread, err))
		}
	}
}
