package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/protocol"
)

// firstStart decides which of the processes of a participant answers a question: the one
// whose reasoning.start for it is the first in the log. The others leave it, and ask from
// time to time whether a process still works on it (TwinWatch). It is closed when the own
// start is the first.
type firstStart chan struct{}

// Won reports whether it was decided for this process.
func (f firstStart) Won() bool {
	select {
	case <-f:
		return true
	default:
		return false
	}
}

// echoTime bounds the wait for an own envelope that is in the log.
const echoTime = 30 * time.Second

// Wait waits until it is decided for this process, or ctx ends, and then returns
// the cause. Without a decision within echoTime, the connection did not deliver
// the own start, and there is no one to wait for.
func (f firstStart) Wait(ctx context.Context) error {
	timer := time.NewTimer(echoTime)
	defer timer.Stop()
	select {
	case <-f:
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// claimedPart returns the part that an envelope of the own participant takes; "": none.
func claimedPart(env *protocol.Envelope) protocol.ID {
	p := env.ParsePayload()
	if env.Kind != protocol.KindParticipantStatus || !p.Get("status").EqualText("taken") {
		return ""
	}
	return protocol.ID(p.Get("question").Text())
}

// ReplyTime is how long a process waits for a reply to its probe.
const ReplyTime = 10 * time.Second

// TwinWatch observes the work on a question, which another process of the participant may do.
type TwinWatch struct {
	You      protocol.ParticipantID
	Question protocol.ID
	Inbox    *Inbox
	Send     func(context.Context, protocol.Envelope) (protocol.Seq, error)
	Interval time.Duration // between probes
	After    func(time.Duration) <-chan time.Time
}

// Gone probes after a time, and then once in each Interval, until no process replies that it
// works on the question. It returns the position of that probe; 0 if the probe was not
// allowed. It returns false if the question is answered, or if ctx ends. Answers are reported to
// a box of the inbox, which can lose some: the caller reads the log before it takes the question
// over. A question that is withdrawn may have left an open context.
func (w *TwinWatch) Gone(ctx context.Context, first time.Duration) (protocol.Seq, bool) {
	box := w.Inbox.Expect(w.Question)
	defer w.Inbox.Release(w.Question)
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindChat && env.From == w.You {
				return 0, false
			}
		case <-timer.C:
			if asked, alive := w.probe(ctx); !alive {
				return asked, ctx.Err() == nil
			}
			timer.Reset(w.Interval)
		case <-ctx.Done():
			return 0, false
		}
	}
}

// probe asks the other processes whether one works on the question. A probe is
// not correlated to the question, since its sender would receive it.
func (w *TwinWatch) probe(ctx context.Context) (asked protocol.Seq, alive bool) {
	id := newID()
	box := w.Inbox.Expect(id)
	defer w.Inbox.Release(id)
	asked, err := w.Send(ctx, protocol.Envelope{
		ID: id, Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{w.You},
		Payload: append(protocol.AppendString([]byte(`{"status":"waiting","question":`), string(w.Question)), '}'),
	})
	if err != nil { // without the right to ask, the process that begins first is not known to live
		return 0, !errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation})
	}
	late := w.After(ReplyTime)
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindParticipantStatus && env.From == w.You {
				return asked, true
			}
		case <-late:
			return asked, false
		case <-ctx.Done():
			return asked, true
		}
	}
}

// sharedID returns the id of a chat about a question that is the same in all processes: the second
// one is a retry, and the question gets one.
func sharedID(name protocol.ID) protocol.ID {
	return protocol.ID(uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String())
}

// AskedAbout returns the question of a probe; "" if the envelope is none.
func AskedAbout(env *protocol.Envelope) protocol.ID {
	var p struct {
		Status   string      `json:"status"`
		Question protocol.ID `json:"question"`
	}
	if env.Kind != protocol.KindParticipantStatus || json.Unmarshal(env.Payload, &p) != nil || p.Status != "waiting" {
		return ""
	}
	return p.Question
}

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
			close(q.first)
		default:
			a.warnTwin.Do(func() {
				a.log.Warn("another process of this participant answers questions too: each question is answered by the one that begins first")
			})
			q.root.cancel(errBehind)
		}
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
		a.log.Warn("a question is left to another process, which is not watched: too many are", "question", q.chat.ID)
		return
	}
	ctx := a.runtime.Work
	send := func(ctx context.Context, probe protocol.Envelope) (protocol.Seq, error) {
		a.out.Sent.Add(probe.ID)
		receipt, err := a.opts.Space.Send(ctx, probe)
		return receipt.Seq, err
	}
	w := TwinWatch{You: a.you, Question: q.chat.ID, Inbox: &a.inbox, Send: send, Interval: a.opts.WatchInterval, After: a.opts.After}
	for delay := first; ; delay = w.Interval {
		asked, gone := w.Gone(ctx, delay)
		if !gone || asked == 0 && delay > 0 { // without the right to ask, it is left to the other process
			if gone {
				a.log.Info("a question is left to another process, since this one may not ask whether it lives", "question", q.chat.ID)
			}
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

// takeOver closes what a process left that is gone, and answers the question, if it is wanted and
// not settled. It reports whether another process has begun to answer it after the position asked.
func (a *Agent) takeOver(q *question, work *intake.Backlog, asked protocol.Seq, wanted bool) (behind bool) {
	rest := work.LeftoversOf(q.chat.ID)
	if !wanted || work.Settled(q.chat.ID) {
		a.closeAttempts(a.runtime.Work, work, rest)
		return false
	}
	a.log.Warn("the other process is gone: its question is taken over", "question", q.chat.ID)
	next := a.newQuestion(q.chat, q.history)
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
