package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// The metadata of messages, artifacts and events.
const (
	metaSeq         = "meup.seq"    // position in the log
	metaCursor      = "meup.cursor" // to continue after the event
	metaParticipant = "meup.participant"
	metaKind        = "meup.kind"
	metaContext     = "meup.context"
	metaTrust       = "meup.trust" // participant: data, not instructions
	metaDraft       = "meup.draft" // text that grows
)

// question is a task: a question with its turn.
type question struct {
	asked *protocol.Envelope
	of    *api.TurnOf
}

// errNoTask is the error for a task that is not there, or that is not visible.
func errNoTask() error { return fail(wire.ErrTaskNotFound, "There is no such task.") }

func isNotFound(err error) bool { return errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) }

// find returns a question by its id. Error: TaskNotFound, also if another participant's
// question is not visible to this one.
func (c *call) find(ctx context.Context, id protocol.ID) (*question, error) {
	if !protocol.ValidID(string(id)) {
		return nil, errNoTask()
	}
	asked, err := ask.Envelope(ctx, c.Client, c.space, id)
	if isNotFound(err) || err == nil && (asked.Kind != protocol.KindChat || asked.Context != "") {
		return nil, errNoTask()
	}
	if err != nil {
		return nil, protocol.AsError(err)
	}
	return c.turnOf(ctx, asked)
}

// turnOf adds the turn to a chat. Error: TaskNotFound if the chat is an answer.
func (c *call) turnOf(ctx context.Context, asked *protocol.Envelope) (*question, error) {
	of, err := c.Client.TurnOf(ctx, c.space, asked.ID)
	if isNotFound(err) || err == nil && (of.JobID != "" || of.Turn.MessageID != asked.ID) {
		return nil, errNoTask()
	}
	if err != nil {
		return nil, protocol.AsError(err)
	}
	return &question{asked, of}, nil
}

// info returns the ids of the task.
func (q *question) info() wire.TaskInfo {
	return wire.TaskInfo{TaskID: wire.TaskID(q.asked.ID), ContextID: q.of.SessionID}
}

// follows returns the question for package ask.
func (q *question) follows(space string) ask.Question {
	return ask.Question{Space: space, ID: q.asked.ID, From: q.asked.From, To: q.asked.To, Seq: q.asked.Seq}
}

// task returns the task as it is now, with the newest messages of its history; -1: all.
func (c *call) task(ctx context.Context, q *question, history int) (*wire.Task, error) {
	info, turn := q.info(), &q.of.Turn
	task := &wire.Task{ID: info.TaskID, ContextID: info.ContextID, History: q.history(), Artifacts: q.artifacts()}
	if history >= 0 {
		task.History = task.History[max(0, len(task.History)-history):]
	}
	at := turn.StartedAt.Time
	for _, r := range turn.AllReasonings() {
		at = latest(at, r.StartedAt.Time, timeOf(r.CompletedAt))
		for _, d := range r.ToolDecisions {
			at = latest(at, d.StartedAt.Time)
		}
	}
	at = latest(at, timeOf(turn.CompletedAt))
	task.Status = wire.TaskStatus{State: q.state(), Timestamp: &at}
	task.SetMeta(metaSeq, q.asked.Seq)
	if task.Status.State.Terminal() {
		return task, nil
	}
	// The states that a turn does not show: a question that was canceled here while contexts of it are open, and
	// a proposal that this participant may decide.
	cancel, err := ask.Envelope(ctx, c.Client, c.space, c.cancelID(q))
	if err != nil && !isNotFound(err) {
		return nil, protocol.AsError(err)
	}
	if err == nil && cancel.Kind == protocol.KindChatCancel && cancel.From == q.asked.From {
		task.Status.State = wire.TaskStateCanceled
		return task, nil
	}
	for _, id := range q.of.MayDecide {
		p, err := ask.Envelope(ctx, c.Client, c.space, id)
		if err != nil {
			return nil, protocol.AsError(err)
		}
		if exchange.CallOf(p).Host != "" { // only then a decision can approve it
			task.Status.State, task.Status.Message = wire.TaskStateInputRequired, asks(info, p)
			break
		}
	}
	return task, nil
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func timeOf(t *protocol.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// state returns the state of the turn. A turn that is interrupted because its agents
// have left may go on, and so may one that not all recipients have answered.
func (q *question) state() wire.TaskState {
	switch turn := &q.of.Turn; turn.State {
	case api.TurnPending:
		return wire.TaskStateSubmitted
	case api.TurnCompleted:
		if !q.answeredByAll() {
			return wire.TaskStateWorking
		}
		return wire.TaskStateCompleted
	case api.TurnFailed:
		return wire.TaskStateFailed
	case api.TurnInterrupted:
		if turn.CompletedAt != nil {
			return wire.TaskStateCanceled
		}
	}
	return wire.TaskStateWorking
}

// answeredByAll reports whether each participant that the question names has answered
// or has ended its reasoning.
func (q *question) answeredByAll() bool {
	done := make(map[protocol.ParticipantID]bool)
	for _, a := range q.answers() {
		done[a.From] = true
	}
	for _, r := range q.of.Turn.AllReasonings() {
		done[r.Agent] = done[r.Agent] || r.CompletedAt != nil
	}
	return len(q.answers()) == 0 || !slices.ContainsFunc(q.asked.To, func(id protocol.ParticipantID) bool { return !done[id] && id != q.asked.From })
}

func (q *question) answers() []api.Response {
	turn := &q.of.Turn
	if len(turn.Responses) == 0 && turn.Response != nil {
		return []api.Response{{From: turn.ResponseFrom, Text: *turn.Response}}
	}
	return turn.Responses
}

// artifacts returns the answers.
func (q *question) artifacts() (list []*wire.Artifact) {
	n := make(counter)
	for _, a := range q.answers() {
		list = append(list, n.artifact(a.From, a.Text))
	}
	return list
}

// counter numbers the answers of participants.
type counter map[protocol.ParticipantID]int

// artifact returns the next answer of a participant. Its id is the same in a stream
// and in a task.
func (n counter) artifact(from protocol.ParticipantID, text string) *wire.Artifact {
	id := "answer-" + string(from)
	n[from]++
	if n[from] > 1 {
		id += "-" + strconv.Itoa(n[from])
	}
	return &wire.Artifact{
		ID: wire.ArtifactID(id), Name: "answer of " + string(from), Parts: wire.ContentParts{markdown(text)},
		Metadata: map[string]any{metaParticipant: from, metaTrust: "participant"},
	}
}

func markdown(text string) *wire.Part {
	return &wire.Part{Content: wire.Text(text), MediaType: "text/markdown"}
}

// history returns the messages of the task: the question, and the reasoning of each
// agent so far.
func (q *question) history() []*wire.Message {
	info, turn := q.info(), &q.of.Turn
	list := []*wire.Message{{
		ID: string(q.asked.ID), ContextID: info.ContextID, TaskID: info.TaskID, Role: wire.MessageRoleUser,
		Parts: wire.ContentParts{markdown(turn.UserInput)}, Metadata: map[string]any{metaParticipant: turn.From, metaSeq: q.asked.Seq},
	}}
	for i, r := range turn.AllReasonings() {
		if r.Narrative == "" {
			continue
		}
		list = append(list, &wire.Message{
			ID: string(q.asked.ID) + ".reasoning." + strconv.Itoa(i+1), ContextID: info.ContextID, TaskID: info.TaskID, Role: wire.MessageRoleAgent,
			Parts: wire.ContentParts{markdown(r.Narrative)}, Metadata: map[string]any{metaParticipant: r.Agent, metaTrust: "participant"},
		})
	}
	return list
}

// asks returns the message that asks for a decision about a proposal: a text for
// people, and the data that a decision refers to.
func asks(info wire.TaskInfo, p *protocol.Envelope) *wire.Message {
	payload := p.ParsePayload()
	params := payload.Get("params")
	name := cmp.Or(params.Get("name").Text(), payload.Get("method").Text())
	data := map[string]any{
		"proposal": p.ID, "method": payload.Get("method").Text(), "host": payload.Get("participant_id").Text(),
		"decision": []string{"approve", "reject"},
	}
	if sent := exchange.WithoutMeta(params); len(sent) > 0 {
		data["params"] = json.RawMessage(sent)
	}
	if at := payload.Get("expires_at").Text(); at != "" {
		data["expires_at"] = at
	}
	m := messageOf(info, p, string(p.From)+" asks for the approval of "+name+".")
	m.Parts = append(m.Parts, &wire.Part{Content: wire.Data{Value: data}, MediaType: "application/json"})
	return m
}

// messageOf returns an envelope of a participant as a message.
func messageOf(info wire.TaskInfo, e *protocol.Envelope, text string) *wire.Message {
	meta := map[string]any{metaParticipant: e.From, metaKind: e.Kind, metaTrust: "participant"}
	if e.Context != "" {
		meta[metaContext] = e.Context
	}
	return &wire.Message{
		ID: string(e.ID), ContextID: info.ContextID, TaskID: info.TaskID, Role: wire.MessageRoleAgent,
		Parts: wire.ContentParts{markdown(text)}, Metadata: meta,
	}
}

// cancelID returns the id of the envelope that cancels a question.
func (c *call) cancelID(q *question) protocol.ID {
	return adapter.ID("a2a", c.space, string(q.asked.From), "cancel", string(q.asked.ID))
}
