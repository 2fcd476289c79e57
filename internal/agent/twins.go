package agent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/protocol"
)

// maxWatched bounds the questions of other processes that are watched.
const maxWatched = 256

// onOwnStart decides whether this process answers a question: it does if its
// reasoning.start is the first of the participant in the log, or the claim of a part.
func (a *Agent) onOwnStart(env *protocol.Envelope, mine bool) {
	if env.From != a.you {
		return
	}
	ids, part := env.Correlation.IDs, false
	if id := claimedPart(env); id != "" {
		ids, part = []protocol.ID{id}, true
	}
	for _, id := range ids {
		q := a.questions.Get(id)
		switch {
		case q == nil || q.part != part || q.first.Won():
		case mine:
			q.first.Win()
		default:
			a.warnTwin.Do(func() {
				a.log.Warn("another process of this participant answers questions too: each question is answered by the one that begins first")
			})
			q.root.cancel(errBehind)
		}
	}
}

// onProbe answers another process that asks whether this one works on a
// question.
func (a *Agent) onProbe(env *protocol.Envelope) {
	if id := AskedAbout(env); env.From == a.you && id != "" && a.questions.Get(id) != nil {
		a.answerControl(env, protocol.KindParticipantStatus, a.status(""))
	}
}

// watch waits for the answer to a question that another process has taken. If
// that process is gone, it takes the question over.
func (a *Agent) watch(q *question) {
	cause := context.Cause(q.root.ctx)
	var stopped *cancelledError
	left := errors.Is(cause, errBehind) || errors.As(cause, &stopped) && stopped.TakenOver
	if !left || q.part || a.opts.CatchUp == intake.CatchUpOff || a.opts.History == nil {
		return
	}
	a.takeOverWhenGone(q, a.opts.WatchInterval, true)
}

// takeOverWhenGone waits until no other process works on a question, closes what was left open
// and, if the question is wanted, answers it. The first probe is sent after a time; 0: this process
// has just started.
func (a *Agent) takeOverWhenGone(q *question, first time.Duration, wanted bool) {
	select {
	case a.watched <- struct{}{}:
		defer func() { <-a.watched }()
	default:
		return
	}
	ctx := a.runtime.Work
	w := TwinWatch{You: a.you, Question: q.chat.ID, Inbox: &a.inbox, Send: a.sendProbe, Interval: a.opts.WatchInterval, After: a.opts.After}
	for delay := first; ; delay = w.Interval {
		asked, gone := w.Gone(ctx, delay)
		if !gone || asked == 0 && delay > 0 { // without the right to ask, it is left to the other process
			return
		}
		asked = cmp.Or(asked, a.space.Seq)
		reading, cancel := context.WithTimeout(ctx, catchUpTime)
		work, err := intake.ReadAttempts(reading, intake.BacklogOptions{
			History: a.opts.History, You: a.you, Space: a.opts.Space.Welcome().Space, Now: a.opts.Now(), Result: envelopeResult,
		})
		cancel()
		switch {
		case err != nil:
			a.log.Warn("the log cannot be read: a question is not taken over yet", "question", q.chat.ID, "err", err)
		case work.BegunAfter(q.chat.ID, asked): // by a process that lives
		case !a.takeOver(q, work, asked, wanted):
			return
		}
	}
}

func (a *Agent) sendProbe(ctx context.Context, probe protocol.Envelope) (protocol.Seq, error) {
	a.out.Sent.Add(probe.ID)
	receipt, err := a.opts.Space.Send(ctx, probe)
	return receipt.Seq, err
}

// takeOver closes what a process left that is gone, and answers the question, if it is wanted and
// not settled. It reports whether another process has begun to answer it after the position asked.
func (a *Agent) takeOver(q *question, work *intake.Backlog, asked protocol.Seq, wanted bool) (behind bool) {
	rest := work.LeftoversOf(q.chat.ID)
	if !wanted || work.Settled(q.chat.ID) {
		a.closeAttempts(a.runtime.Work, work, rest)
		return false
	}
	a.log.Warn("the other process is gone: its question is taken over", "question", q.chat.ID)
	next := a.openQuestion(q.chat, q.history)
	a.questions.Hold(&next.chat, next)
	a.closeAttempts(next.root.ctx, work, rest)
	return a.resume(next, work, asked)
}

// closeRounds bounds how often closeAttempts reads the log.
const closeRounds = 3

// closeAttempts publishes the envelopes that close earlier attempts, and reads the log on
// until nothing is left open: a proposal may have been approved before its withdrawal, and
// another process may have sent one until its context was closed.
func (a *Agent) closeAttempts(ctx context.Context, work *intake.Backlog, rest []protocol.Envelope) {
	for round := 0; len(rest) > 0 && round < closeRounds; round++ {
		for _, env := range rest {
			if err := a.out.Publish(ctx, env); err != nil {
				a.log.Warn("left open", "context", env.Context, "kind", env.Kind, "err", err)
			}
		}
		reading, cancel := context.WithTimeout(ctx, catchUpTime)
		err := work.ReadOn(reading)
		cancel()
		if err != nil {
			a.log.Warn("the log cannot be read: calls of earlier attempts that were approved just now are not known", "err", err)
			return
		}
		rest = work.LateProposals()
	}
}
