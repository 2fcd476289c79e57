package intake

import (
	"context"
	"math"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// ReadAttempts reads the log up to its head, for the work of earlier attempts to answer
// a question. Of the options it uses History, You, Space, Now and Result.
func ReadAttempts(ctx context.Context, o BacklogOptions) (*Backlog, error) {
	head, err := headOf(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Mode, o.Observe, o.Space.Seq = CatchUpAuto, nil, head
	return ReadBacklog(ctx, o)
}

// headOf returns the Seq of the newest entry.
func headOf(ctx context.Context, o BacklogOptions) (protocol.Seq, error) {
	newest, err := o.History.Envelopes(ctx, o.Space.Name, api.EnvelopeQuery{Descending: true, Limit: 1, Log: o.Space.Log})
	if err != nil || len(newest.Envelopes) == 0 {
		return o.Space.Seq, err
	}
	return newest.Envelopes[0].Seq, nil
}

// ReadOn reads the entries that were admitted since the last read. It observes none and
// adds no questions.
func (b *Backlog) ReadOn(ctx context.Context) error {
	b.o.Observe = nil
	head, err := headOf(ctx, b.o)
	if err != nil {
		return err
	}
	if head > b.o.Space.Seq {
		err = b.readEntries(ctx, b.o.Space.Seq, head, math.MaxInt)
		b.o.Space.Seq = head
	}
	return err
}

// Settled reports whether a question is answered or withdrawn.
func (b *Backlog) Settled(question protocol.ID) bool { return b.settled[question] }

// Interrupted returns the number of attempts to answer a question that had no end when
// their process ended.
func (b *Backlog) Interrupted(question protocol.ID) (n int) {
	for start, chats := range b.attempts {
		if !b.ended[start] && slices.Contains(chats, question) {
			n++
		}
	}
	return n
}

// BegunAfter reports whether an attempt to answer a question is open that began after a
// position.
func (b *Backlog) BegunAfter(question protocol.ID, position protocol.Seq) bool {
	for path, start := range b.contexts {
		if start.Seq > position && slices.Contains(b.attempts[protocol.ID(path)], question) {
			return true
		}
	}
	return false
}

// InProgress returns the questions with an open attempt, and the open parts that other
// agents gave to this one: another process may be working on them.
func (b *Backlog) InProgress() (ids []protocol.ID) {
	for path := range b.contexts {
		for _, id := range b.workIn(path) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// workIn returns the questions that a context belongs to, or the part.
func (b *Backlog) workIn(context protocol.ContextPath) []protocol.ID {
	if questions, own := b.attempts[protocol.ID(context.Root())]; own {
		return questions
	}
	for path := context; path != ""; path = path.Parent() {
		if start, open := b.contexts[path]; open && start.From != b.o.You {
			return []protocol.ID{start.ID}
		}
	}
	return nil
}

// LeftoversOf returns the Leftovers of a question or part.
func (b *Backlog) LeftoversOf(id protocol.ID) []protocol.Envelope {
	return slices.DeleteFunc(b.Leftovers(), func(env protocol.Envelope) bool { return !slices.Contains(b.workIn(env.Context), id) })
}

// LeftoversBut returns the Leftovers of all but some questions and parts.
func (b *Backlog) LeftoversBut(ids []protocol.ID) []protocol.Envelope {
	return slices.DeleteFunc(b.Leftovers(), func(env protocol.Envelope) bool {
		return slices.ContainsFunc(b.workIn(env.Context), func(id protocol.ID) bool { return slices.Contains(ids, id) })
	})
}

// LateProposals returns the withdrawals of open proposals in contexts of attempts that
// are closed.
func (b *Backlog) LateProposals() []protocol.Envelope {
	return slices.DeleteFunc(b.Leftovers(), func(env protocol.Envelope) bool {
		root := env.Context.Root()
		_, open := b.contexts[root]
		return env.Kind != protocol.KindMCPWithdraw || open || b.attempts[protocol.ID(root)] == nil
	})
}
