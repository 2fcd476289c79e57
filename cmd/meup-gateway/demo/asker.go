package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// errPlaying is the answer to a request to play the scene while it is played.
var errPlaying = errors.New("the scene is being played, or its proposal waits for a decision")

// errEnded is the answer after ben has left the space.
var errEnded = errors.New("the scene cannot be played: ben has left the space")

// asker is ben: it asks the question of the scene when the visitor joins for
// the first time, and again on request.
type asker struct {
	visitor  protocol.ParticipantID
	requests chan chan error // of again, to the goroutine of run

	// Owned by the goroutine of run.
	welcomed bool                 // the visitor has joined
	question protocol.ID          // being answered; "" for none
	context  protocol.ContextPath // of planner's reasoning about it
}

// again plays the scene once more. It returns when the question was asked, with
// errPlaying while an earlier one is being answered.
func (a *asker) again(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case a.requests <- answer:
		return <-answer
	case <-ctx.Done():
		return errEnded
	}
}

// run receives until ctx or the client ends.
func (a *asker) run(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	received, failed := make(chan protocol.Envelope), make(chan error, 1)
	go func() { // ends with ctx or the client; waited for below
		for e, err := range c.All(ctx) {
			if _, gap := errors.AsType[*client.GapError](err); gap {
				continue
			}
			if err != nil {
				failed <- err
				return
			}
			select {
			case received <- e:
			case <-ctx.Done():
			}
		}
		failed <- ctx.Err()
	}()
	var err error
	for _, p := range c.Welcome().Participants {
		if p.ID == a.visitor {
			err = a.welcome(ctx, c)
		}
	}
	for err == nil {
		select {
		case e := <-received:
			err = a.handle(ctx, c, &e)
		case answer := <-a.requests:
			if a.question != "" {
				answer <- errPlaying
				continue
			}
			err = a.ask(ctx, c)
			answer <- err
		case err = <-failed:
			failed <- err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	cancel()
	<-failed //nolint:errcheck // err is the reason
	return err
}

func (a *asker) handle(ctx context.Context, c *client.Client, e *protocol.Envelope) error {
	switch {
	case e.Kind == protocol.KindSystemPresence:
		var p protocol.Presence
		if json.Unmarshal(e.Payload, &p) != nil {
			return nil
		}
		if p.Event == protocol.PresenceLeave && p.Participant.ID == Planner {
			a.question, a.context = "", ""
		}
		if p.Event == protocol.PresenceJoin && p.Participant.ID == a.visitor {
			return a.welcome(ctx, c)
		}
	case e.From == Planner && a.question != "" && e.Correlation.Names(a.question):
		if e.Kind == protocol.KindReasoningStart {
			a.context = protocol.ContextPath(e.ID)
		} else if e.Kind == protocol.KindChat {
			a.question, a.context = "", ""
		}
	case e.Kind == protocol.KindReasoningCancel && a.context != "" &&
		(e.Context == a.context || e.Context == "" && e.Correlation.Names(protocol.ID(a.context))):
		a.question, a.context = "", ""
	}
	return nil
}

// welcome plays the scene for the visitor, once.
func (a *asker) welcome(ctx context.Context, c *client.Client) error {
	if a.welcomed {
		return nil
	}
	a.welcomed = true
	return a.ask(ctx, c)
}

func (a *asker) ask(ctx context.Context, c *client.Client) error {
	r, err := c.Send(ctx, client.Chat(question))
	if err != nil {
		return fmt.Errorf("ask the question of the scene: %w", err)
	}
	a.question, a.context = r.ID, ""
	return nil
}
