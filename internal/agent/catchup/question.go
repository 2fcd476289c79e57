package catchup

import (
	"context"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// Attempts is the work of earlier attempts to answer one question.
type Attempts struct {
	Settled bool                // the question is answered or withdrawn
	Rest    []protocol.Envelope // closes their unfinished work, as Backlog.Leftovers
	Calls   []Call
}

// ReadAttempts reads the work on one question up to the head of the log. Of the
// Options it uses History, You, Space, Now and Result.
func ReadAttempts(ctx context.Context, o Options, question protocol.ID) (*Attempts, error) {
	newest, err := o.History.Envelopes(ctx, o.Space.Name, api.EnvelopeQuery{Descending: true, Limit: 1, Log: o.Space.Log})
	if err != nil {
		return nil, err
	}
	if len(newest.Envelopes) > 0 {
		o.Space.Seq = newest.Envelopes[0].Seq
	}
	a := new(Attempts)
	o.Mode = Auto
	o.Observe = func(env *protocol.Envelope) (isQuestion bool) {
		ends := env.Kind == protocol.KindChatCancel || env.Kind == protocol.KindChat && env.From == o.You
		a.Settled = a.Settled || ends && env.Correlation.Names(question)
		return false
	}
	b, err := Read(ctx, o)
	if err != nil {
		return nil, err
	}
	a.Calls = b.Calls(question)
	a.Rest = slices.DeleteFunc(b.Leftovers(), func(env protocol.Envelope) bool {
		return !slices.Contains(b.attempts[protocol.ID(env.Context.Root())], question)
	})
	return a, nil
}
