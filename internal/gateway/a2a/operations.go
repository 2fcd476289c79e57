package a2a

import (
	"context"
	"errors"
	"strconv"
	"time"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// maxWait is how long SendMessage waits for the end of a task; then it responds with the
// task as it is.
const maxWait = 10 * time.Minute

// maxListed bounds how many chats ListTasks reads for one page.
const maxListed = 150

// ask publishes the question or the decision of a message. after is the position that
// its events follow.
func (c *call) ask(m *message) (q *question, after cursor, err error) {
	ctx := c.r.Context()
	if m.task != "" {
		q, err = c.find(ctx, m.task)
		if err == nil {
			after, err = c.decide(q, m)
		}
		return q, after, err
	}
	e := protocol.Envelope{
		ID: adapter.ID("a2a", c.space, string(c.you), "question", string(c.agent), m.id), Kind: protocol.KindChat,
		Payload: adapter.Object("message", m.text, "session_id", m.contextID),
	}
	if c.agent != "" {
		e.To = []protocol.ParticipantID{c.agent}
	}
	if m.contextID != "" {
		// The question continues the conversation, if there is one.
		session, err := c.Client.SessionHistory(ctx, c.space, m.contextID, api.SessionPage{Limit: 1})
		if err != nil && !isNotFound(err) {
			return nil, after, protocol.AsError(err)
		}
		if err == nil && len(session.Turns) > 0 && session.Turns[0].ThreadID != "" && session.Turns[0].MessageID != e.ID {
			e.Correlation = protocol.CorrelateTo(session.Turns[0].MessageID)
		}
	}
	published, err := ask.Publish(ctx, c.Client, c.space, c.you, e)
	if err != nil {
		return nil, after, protocol.AsError(err)
	}
	q, err = c.find(ctx, published.ID)
	return q, cursor{published.Seq, all}, err
}

// decide makes the decision of a message about a proposal of the task.
func (c *call) decide(q *question, m *message) (after cursor, err error) {
	ctx, d := c.r.Context(), m.decision
	switch {
	case m.contextID != "" && m.contextID != q.of.SessionID:
		return after, fail(wire.ErrInvalidParams, "message.contextId: the task has another one.")
	case d == nil && q.state().Terminal():
		return after, fail(wire.ErrUnsupportedOperation, "The task has ended; send the message without taskId, with the same contextId.")
	case d == nil:
		return after, fail(wire.ErrUnsupportedOperation, `A task takes decisions, as data {"proposal", "decision"}; send a message without taskId, with the same contextId.`)
	}
	in, err := c.Client.TurnOf(ctx, c.space, d.proposal)
	if isNotFound(err) || err == nil && in.Turn.MessageID != q.asked.ID {
		return after, fail(wire.ErrInvalidParams, "proposal: "+ask.ErrNoProposal.Error()+".")
	}
	if err != nil {
		return after, protocol.AsError(err)
	}
	word := map[bool]string{true: "approve", false: "reject"}[d.approve]
	id := adapter.ID("a2a", c.space, string(c.you), word, string(d.proposal))
	reason := d.reason
	if reason == "" {
		reason = m.text
	}
	p, err := ask.Decide(ctx, c.Client, q.follows(c.space), d.proposal, id, d.approve, reason)
	if errors.Is(err, ask.ErrNoProposal) || errors.Is(err, exchange.ErrNoHost) {
		return after, fail(wire.ErrInvalidParams, "proposal: "+err.Error()+".")
	}
	if err != nil {
		return after, protocol.AsError(err)
	}
	return cursor{p.Seq, all}, nil
}

// message reads the message of a request. One without a task asks a question.
func (c *call) message() (*message, error) {
	if c.params.Get("message").Get("taskId").Text() == "" {
		if err := c.CheckKind(c.r.Context(), c.space, c.you, protocol.KindChat); err != nil {
			return nil, err
		}
	}
	return decodeMessage(c.params)
}

// sendMessage is the operation SendMessage.
func (c *call) sendMessage() (any, error) {
	m, err := c.message()
	if err != nil {
		return nil, err
	}
	q, _, err := c.ask(m)
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	if !m.immediate { // the task has ended first, or needs a decision of the participant
		r, err := c.begin(ctx, q, cursor{})
		if err != nil {
			return nil, err
		}
		waiting, cancel := context.WithTimeout(ctx, maxWait)
		err = ask.Follow(waiting, c.Client, q.follows(c.space), func(e *ask.Event) bool {
			_, more := r.event(e)
			return more
		})
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, endedBy(err)
		}
		q, err = c.turnOf(ctx, q.asked)
		if err != nil {
			return nil, err
		}
	}
	task, err := c.task(ctx, q, m.history)
	return wire.StreamResponse{Event: task}, err
}

// begin returns the run of a task for a client that has the events up to after, and
// drops the body of the request.
func (c *call) begin(ctx context.Context, q *question, after cursor) (*run, error) {
	c.params = protocol.Value{}
	r := &run{info: q.info(), after: after, answers: make(counter), growing: make(map[protocol.ID]bool), drafts: wantsDrafts(c.r)}
	r.mayDecide = func(p *protocol.Envelope) bool { return ask.MayDecide(ctx, c.Client, c.space, p) }
	return r, c.Wait()
}

// sendStreaming is the operation SendStreamingMessage.
func (c *call) sendStreaming() error {
	m, err := c.message()
	if err != nil {
		return err
	}
	last, err := parseCursor(c.r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	q, after, err := c.ask(m)
	if err != nil {
		return err
	}
	if last.seq > after.seq {
		after = last
	}
	return c.follow(q, after, m.history, last.seq > 0)
}

// subscribe is the operation SubscribeToTask. With a cursor the events continue after
// it; without, the stream begins with the task as it is.
func (c *call) subscribe() error {
	ctx := c.r.Context()
	after, err := parseCursor(c.r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	exact := after.seq > 0
	if !exact {
		newest, err := c.Client.Envelopes(ctx, c.space, api.EnvelopeQuery{Limit: 1, Descending: true})
		if err != nil {
			return protocol.AsError(err)
		}
		for _, e := range newest.Envelopes {
			after = cursor{e.Seq, all}
		}
	}
	q, err := c.find(ctx, protocol.ID(c.params.Get("id").Text()))
	if err != nil {
		return err
	}
	if exact {
		return c.follow(q, after, -1, true)
	}
	task, err := c.task(ctx, q, -1)
	if err != nil {
		return err
	}
	if task.Status.State.Terminal() {
		return fail(wire.ErrUnsupportedOperation, "The task has ended; GetTask returns it.")
	}
	return c.stream(q, after, task)
}

// follow sends the events of a task after a position: first the task as of there. A task
// that has ended is sent whole, unless the client resumes a stream.
func (c *call) follow(q *question, after cursor, history int, resumes bool) error {
	task, err := c.task(c.r.Context(), q, history)
	if err != nil {
		return err
	}
	if !task.Status.State.Terminal() || resumes {
		state := wire.TaskStateSubmitted
		if after.seq > q.asked.Seq {
			state = wire.TaskStateWorking
		}
		if len(task.History) > 0 {
			task.History = q.history()[:1]
		}
		task.Artifacts, task.Status = nil, wire.TaskStatus{State: state, Timestamp: task.Status.Timestamp}
	}
	return c.stream(q, after, task)
}

// getTask is the operation GetTask.
func (c *call) getTask() (any, error) {
	history, err := historyLength(c.params)
	if err != nil {
		return nil, err
	}
	q, err := c.find(c.r.Context(), protocol.ID(c.params.Get("id").Text()))
	if err != nil {
		return nil, err
	}
	return c.task(c.r.Context(), q, history)
}

// cancelTask is the operation CancelTask: it withdraws the question.
func (c *call) cancelTask() (any, error) {
	ctx := c.r.Context()
	q, err := c.find(ctx, protocol.ID(c.params.Get("id").Text()))
	if err != nil {
		return nil, err
	}
	task, err := c.task(ctx, q, -1)
	switch {
	case err != nil:
		return nil, err
	case task.Status.State == wire.TaskStateCanceled:
		return task, nil
	case task.Status.State.Terminal():
		return nil, fail(wire.ErrTaskNotCancelable, "The task has ended.")
	case q.asked.From != c.you:
		return nil, fail(wire.ErrTaskNotCancelable, "Only the participant that asked can cancel the task.")
	}
	err = ask.SendDerived(ctx, c.Client, c.space, protocol.Envelope{
		ID: c.cancelID(q), Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(q.asked.ID), Payload: adapter.Object("reason", "canceled by the asker"),
	})
	if err != nil {
		return nil, protocol.AsError(err)
	}
	q, err = c.turnOf(ctx, q.asked)
	if err != nil {
		return nil, err
	}
	return c.task(ctx, q, -1)
}

// listTasks is the operation ListTasks: the questions of the participant, the newest
// first.
func (c *call) listTasks() (any, error) {
	s, err := decodeSelection(c.params)
	if err != nil {
		return nil, err
	}
	ctx, out := c.r.Context(), &wire.ListTasksResponse{Tasks: []*wire.Task{}}
	page, err := c.Client.Envelopes(ctx, c.space, api.EnvelopeQuery{
		From: []protocol.ParticipantID{c.you}, Kinds: []string{string(protocol.KindChat)}, Main: true, Descending: true, Before: s.before, Limit: maxListed,
	})
	if err != nil {
		return nil, protocol.AsError(err)
	}
	more, next := page.HasMore, page.Next
	for i := range page.Envelopes {
		e := &page.Envelopes[i]
		task, err := c.listed(ctx, e, s)
		if errors.Is(err, &protocol.Error{Code: protocol.CodeRateLimited}) && i > 0 { // the page ends early
			more, next = true, page.Envelopes[i-1].Seq
			break
		}
		if err != nil {
			return nil, err
		}
		if task != nil {
			out.Tasks = append(out.Tasks, task)
		}
		if len(out.Tasks) == s.size && i+1 < len(page.Envelopes) {
			more, next = true, e.Seq
			break
		}
	}
	out.PageSize, out.TotalSize = len(out.Tasks), s.skipped+len(out.Tasks)
	if more {
		out.NextPageToken = next.String() + "." + strconv.Itoa(out.TotalSize)
		out.TotalSize++
	}
	return out, nil
}

// listed returns the task of a chat; nil: it is none that the client selects.
func (c *call) listed(ctx context.Context, e *protocol.Envelope, s *selection) (*wire.Task, error) {
	if c.agent != "" && (len(e.To) != 1 || e.To[0] != c.agent) {
		return nil, nil
	}
	q, err := c.turnOf(ctx, e)
	if errors.Is(err, wire.ErrTaskNotFound) || err == nil && s.contextID != "" && q.of.SessionID != s.contextID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	task, err := c.task(ctx, q, max(0, s.history))
	if err != nil || s.state != "" && task.Status.State != s.state || !task.Status.Timestamp.After(s.after) {
		return nil, err
	}
	if !s.artifacts {
		task.Artifacts = nil
	}
	return task, nil
}
