package agent

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

// dispatch handles one received envelope. It does not block. An old one, of a log that
// replaced another one, begins no work: the lost part of the log may have settled it.
func (a *Agent) dispatch(env *protocol.Envelope, old bool) {
	mine := env.From == a.you && a.out.Sent.Remove(env.ID)
	a.addressing.Observe(env, a.opts.Space.Welcome)
	a.chats.Note(env)
	taken := !mine && a.inbox.Deliver(env)
	if env.Context != "" && a.noteRemark(env) {
		return
	}
	if old && !mine {
		return
	}
	switch env.Kind {
	case protocol.KindSystemWelcome: // the rights may have changed
		a.streamsOff.Store(false)
		a.queriesOff.Store(false)
		a.onJoin()
		a.noteAgents()
	case protocol.KindSystemPresence:
		a.onJoin()
		a.noteAgents()
	case protocol.KindReasoningStart:
		a.onOwnStart(env, mine)
		a.onStart(env)
	case protocol.KindChat:
		switch {
		case env.From == a.you && !mine: // another process of the participant has answered
			a.log.Debug("another process of this participant has sent a chat", "chat", env.ID)
			for _, id := range env.Correlation.IDs {
				if q := a.questions.Get(id); q != nil {
					q.root.cancel(errTakenOver)
				}
			}
		case mine:
		default:
			why := a.addressing.WhyIgnored(env)
			if why == "" {
				a.admit(*env)
				break
			}
			a.log.Debug("a chat is no question for this agent", "chat", env.ID, "from", env.From, "why", why)
		}
	case protocol.KindChatCancel, protocol.KindReasoningCancel:
		if !mine {
			a.stop(env)
		}
	case protocol.KindMCPRequest, protocol.KindParticipantStatus:
		if claimedPart(env) != "" {
			a.onOwnStart(env, mine)
		}
		if env.From == a.you && !mine { // another process of the participant may ask whether this one works on a question
			asked := AskedAbout(env)
			if asked != "" && a.questions.Get(asked) != nil {
				a.answerControl(env, protocol.KindParticipantStatus, a.status(""))
			}
		}
		a.handleMCP(env, taken)
	default:
		if env.AddressedTo(a.you) && env.From != a.you {
			a.handleControl(env)
		}
	}
}

// admit starts to answer a question, or replies that too many are queued.
func (a *Agent) admit(chat protocol.Envelope) {
	q := a.newQuestion(chat, a.chats.Before(&chat))
	switch a.start(q) {
	case participant.Duplicate:
		q.leave(q.root)
	case participant.Overloaded:
		q.leave(q.root)
		a.log.Warn("question refused: too many are waiting", "question", chat.ID, "from", chat.From)
		refusal := q.reply("I have too many questions before me. Please ask again in a moment.")
		refusal.ID = sharedID("refusal of " + chat.ID)
		a.reply(refusal)
	case participant.Accepted:
	}
}

// start starts a goroutine that answers the question, if a place is free.
func (a *Agent) start(q *question) participant.Admission {
	admission := a.questions.Admit(&q.chat, q)
	if admission == participant.Accepted {
		a.runtime.Group.Go(func() {
			a.answer(q)
			a.drop(q)
			a.watch(q)
		})
	}
	return admission
}

func (a *Agent) drop(q *question) {
	q.leave(q.root)
	a.questions.Remove(q.chat.ID)
	select {
	case a.freed <- struct{}{}:
	default:
	}
}

// stop cancels the work that an envelope ends: a withdrawn question, or the
// problems of a context that was closed.
func (a *Agent) stop(env *protocol.Envelope) {
	why := cancelledError{By: env.From, Reason: reasonOf(env), TakenOver: env.From == a.you}
	for _, q := range a.questions.All() {
		if env.Kind == protocol.KindChatCancel {
			if env.Correlation.Names(q.chat.ID) {
				q.root.cancel(&why)
			}
			continue
		}
		for _, p := range q.closedBy(env) {
			why := why
			why.Context = p.path
			if env.Context != "" {
				why.Context = env.Context
			}
			p.cancel(&why)
		}
	}
}

func reasonOf(env *protocol.Envelope) string {
	var p struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(env.Payload, &p) // a reason of another type is ignored
	return textutil.ShortenChars(p.Reason, 500)
}

// handleMCP handles the tool announcements of other participants and their
// requests to the agent. taken means that the envelope was delivered as an
// answer to a proposal.
func (a *Agent) handleMCP(env *protocol.Envelope, taken bool) {
	if env.From == a.you && (a.opts.Host == nil || env.Kind != protocol.KindParticipantStatus) {
		return
	}
	request, err := participant.ParseRequest(env)
	switch {
	case env.From == a.you:
		a.opts.Host.Handle(env)
	case err != nil:
	case request.Method == elicit.Method: // await has it, or a process of this participant that made the call
	case request.Method == "notifications/tools/list_changed", offersTools(env):
		if !a.opts.OwnToolsOnly && a.peers.Renew(env.From, a.opts.Now()) {
			a.runtime.Group.Go(func() { a.pollTools(env.From) })
		}
	case env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) && a.opts.Host != nil && !taken:
		a.opts.Host.Handle(env)
	case env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) && request.Method != "" && !request.IsNotification && !taken:
		payload := participant.Response(request.ID, nil, &client.RPCError{Code: participant.CodeNoSuchMethod, Message: "this participant offers no tools"})
		if request.Method == "ping" {
			payload = participant.Response(request.ID, json.RawMessage(`{}`), nil)
		}
		a.reply(participant.RespondTo(env, payload)) // it saves the requester a timeout
	}
}

// offersTools reports whether an envelope is a status that announces tools.
func offersTools(env *protocol.Envelope) bool {
	var p struct {
		Offers []string `json:"offers"`
	}
	return env.Kind == protocol.KindParticipantStatus && json.Unmarshal(env.Payload, &p) == nil && slices.Contains(p.Offers, "tools")
}

// reply queues a short reply.
func (a *Agent) reply(env protocol.Envelope) {
	select {
	case a.replies <- env:
	default:
		a.log.Warn("reply left out: too many are waiting", "kind", env.Kind, "answers", env.Correlation.First())
	}
}

// sendReplies sends the queued replies until the work ends.
func (a *Agent) sendReplies() {
	for {
		select {
		case env := <-a.replies:
			if err := a.out.Publish(a.runtime.Work, env); err != nil {
				a.log.Warn("reply not sent", "kind", env.Kind, "err", err)
			}
		case <-a.runtime.Work.Done():
			return
		}
	}
}

// catchUpTime bounds reading the log.
const catchUpTime = 30 * time.Second

// catchUp closes work that the agent left unfinished when it ended, and answers
// questions without an answer. It returns the requests to the agent without a
// response.
func (a *Agent) catchUp(ctx context.Context) []protocol.Envelope {
	reading, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	b, err := intake.ReadBacklog(reading, intake.BacklogOptions{
		Mode: a.opts.CatchUp, History: a.opts.History, You: a.you, Space: a.space, Now: a.opts.Now().Add(a.opts.Space.Welcome().Clock),
		Observe: func(env *protocol.Envelope) (isQuestion, named bool) {
			a.addressing.Observe(env, a.opts.Space.Welcome)
			a.chats.Note(env)
			return env.Kind == protocol.KindChat && a.addressing.IsQuestion(env), a.addressing.Names(env)
		},
		Result: envelopeResult,
	})
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn("the log cannot be read: old questions are not answered", "err", err)
		}
		return nil
	}
	var elsewhere []protocol.ID // another process may be working on these
	if a.opts.Space.Welcome().You.Connections > 1 {
		elsewhere = b.InProgress()
	}
	rest, wanted := b.LeftoversBut(elsewhere), b.Questions()
	a.log.Info("caught up", "questions", len(wanted), "left_open", len(rest), "elsewhere", len(elsewhere))
	var questions []*question
	for _, chat := range wanted {
		if i := slices.Index(elsewhere, chat.ID); i >= 0 {
			elsewhere = slices.Delete(elsewhere, i, i+1)
			q := a.questionOf(chat, a.chats.Before(&chat))
			a.runtime.Group.Go(func() { a.takeOverWhenGone(q, 0, true) })
			continue
		}
		q := a.newQuestion(chat, a.chats.Before(&chat))
		a.questions.Hold(&q.chat, q)
		questions = append(questions, q)
	}
	for _, id := range elsewhere {
		q := a.questionOf(protocol.Envelope{ID: id}, nil)
		a.runtime.Group.Go(func() { a.takeOverWhenGone(q, 0, false) })
	}
	requests := b.Requests()
	a.runtime.Group.Go(func() {
		a.closeAttempts(a.runtime.Work, b, rest)
		var last []*question
		for _, q := range questions {
			if b.Interrupted(q.chat.ID) == maxInterrupted-1 {
				last = append(last, q)
				continue
			}
			a.resumeOrAwait(q, b)
		}
		for _, q := range last { // one after another: only one of them may end this process
			ended := q.root.ctx.Done() // from here on, the context is owned by the goroutine that answers
			a.resumeOrAwait(q, b)
			<-ended
		}
	})
	return requests
}

// maxInterrupted bounds the attempts to answer a question that end with their process.
const maxInterrupted = 3

// resumeOrAwait resumes a question of the log, or leaves it to another process that has begun
// since this one joined.
func (a *Agent) resumeOrAwait(q *question, work *intake.Backlog) {
	if a.resume(q, work, a.space.Seq) {
		a.runtime.Group.Go(func() { a.takeOverWhenGone(q, a.opts.WatchInterval, true) })
	}
}

// resume starts to answer a question of the log as soon as a place is free, unless it is withdrawn
// before, was settled while earlier attempts were closed, or another process has begun to answer it
// after the position asked; it reports the latter. It gives up a question that may end each process
// that works on it.
func (a *Agent) resume(q *question, work *intake.Backlog, asked protocol.Seq) (behind bool) {
	behind = work.BegunAfter(q.chat.ID, asked)
	if behind || work.Settled(q.chat.ID) {
		a.drop(q)
		return behind
	}
	if n := work.Interrupted(q.chat.ID); n >= maxInterrupted {
		a.log.Error("question given up: the process ended during each attempt to answer it", "question", q.chat.ID, "attempts", n)
		a.drop(q)
		end := q.stopped(errGivenUp)
		end.ID = sharedID("end of " + q.chat.ID)
		a.out.Final("answer", end)
		return false
	}
	q.earlier = work.Calls(q.chat.ID)
	for q.root.ctx.Err() == nil {
		if a.start(q) == participant.Accepted {
			return false
		}
		select {
		case <-a.freed:
		case <-q.root.ctx.Done():
		}
	}
	a.drop(q)
	a.replyError(q, context.Cause(q.root.ctx))
	return false
}
