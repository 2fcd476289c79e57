package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

// maxAsked bounds the questions of the server about one call.
const maxAsked = 20

// callKey is the key of the *call in the context of an operation on the server.
type callKey struct{}

// questions are the server's questions that wait for an answer, by envelope.
type questions struct {
	mu   sync.Mutex
	open map[protocol.ID]question
}

type question struct {
	to     protocol.ParticipantID
	answer chan protocol.Envelope // has room for one
}

// ask adds a question; done removes it.
func (q *questions) ask(id protocol.ID, to protocol.ParticipantID) (answer <-chan protocol.Envelope, done func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = make(map[protocol.ID]question)
	}
	x := question{to, make(chan protocol.Envelope, 1)}
	q.open[id] = x
	return x.answer, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.open, id)
	}
}

// answer delivers a response to the question that it names. The first one counts, and only
// from the participant that was asked.
func (q *questions) answer(env *protocol.Envelope) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range env.Correlation.IDs {
		if x, open := q.open[id]; open && x.to == env.From {
			delete(q.open, id)
			x.answer <- *env
		}
	}
}

// Elicit passes a question of the server on to the requester of the call that it is about,
// and returns the answer; it serves as mcptools.Options.OnElicit. The time limit of the call
// does not pass meanwhile. If there is no answer in time, or none that the form allows, the
// server gets the action cancel. If the calls in progress have several requesters and the
// server does not tell which one it asks, none of them is asked.
func Elicit(ctx context.Context, q mcptools.Question) (*mcp.ElicitResult, error) {
	var asked *call
	var inProgress context.Context
	for _, of := range q.Calls {
		c, ok := of.Value(callKey{}).(*call)
		if !ok {
			continue // not a request of a participant
		}
		if asked != nil && asked.asker != c.asker {
			c.bridge.log.Warn("question of the server canceled: it does not tell which call it is about, and the calls in progress have several requesters; over HTTP it does")
			return &mcp.ElicitResult{Action: elicit.Cancel}, nil
		}
		asked, inProgress = c, of
		defer mcptools.Hold(of)()
	}
	if asked == nil {
		return nil, &jsonrpc.Error{Code: participant.CodeFailed, Message: "a question is passed on only during a call, and no call is in progress"}
	}
	defer asked.place.Lend(asked.ctx)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(inProgress, cancel)()
	return asked.bridge.elicit(ctx, asked, q)
}

// elicit asks the requester of a call.
func (b *Bridge) elicit(ctx context.Context, c *call, q mcptools.Question) (*mcp.ElicitResult, error) {
	doc, err := protocol.ParseForeignJSON(q.Params, protocol.MaxDepth-envelopeDepth)
	if err == nil && c.asked.Add(1) > maxAsked {
		err = fmt.Errorf("a call may ask %d times", maxAsked)
	}
	var form *elicit.Question
	if err == nil {
		form, err = elicit.Parse(doc.Root())
	}
	if err != nil {
		return nil, &jsonrpc.Error{Code: participant.CodeInvalidParams, Message: "question not passed on: " + textutil.ShortenChars(err.Error(), maxMessage)}
	}
	canceled := func(why string, attrs ...any) (*mcp.ElicitResult, error) {
		b.log.Warn("question of the server canceled: "+why, append([]any{"envelope", c.envelope, "to", c.asker}, attrs...)...)
		return &mcp.ElicitResult{Action: elicit.Cancel}, nil
	}
	id := protocol.ID(uuid.Must(uuid.NewV7()).String())
	answer, done := b.questions.ask(id, c.asker)
	defer done()
	limited, cancel := context.WithTimeout(ctx, b.opts.AnswerTimeout)
	defer cancel()
	if _, err := b.opts.Space.Send(limited, b.question(c, id, doc.Root(), q.Server)); err != nil {
		b.withdraw(c, id, "it may not have been sent")
		return canceled("it was not sent", "err", err)
	}
	select {
	case env := <-answer:
		result, err := answerOf(&env, form)
		if err != nil {
			return canceled("there is no valid answer", "err", err)
		}
		return result, nil
	case <-limited.Done():
	}
	if ctx.Err() != nil {
		b.withdraw(c, id, "the call has ended, or the server has taken its question back")
		return nil, context.Cause(ctx)
	}
	b.withdraw(c, id, "nobody has answered in time")
	return canceled("nobody has answered in time", "after", b.opts.AnswerTimeout)
}

// question is the envelope of a question.
func (b *Bridge) question(c *call, id protocol.ID, params protocol.Value, server *mcp.Implementation) protocol.Envelope {
	passed := make(map[string]any)
	for _, name := range []string{"mode", "message", "requestedSchema", "url", "elicitationId"} {
		if v := params.Get(name); v.Exists() {
			passed[name] = json.RawMessage(v.Raw())
		}
	}
	meta := map[string]any{elicit.MetaExpires: b.opts.Now().Add(b.opts.Space.Welcome().Clock + b.opts.AnswerTimeout).UTC().Format(time.RFC3339)}
	if server != nil {
		meta[elicit.MetaServer] = map[string]string{"name": server.Name, "title": server.Title, "version": server.Version}
	}
	passed["_meta"] = meta
	return protocol.Envelope{
		ID: id, Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{c.asker}, Context: c.contextPath,
		Correlation: protocol.CorrelateTo(c.envelope),
		Payload:     mustMarshal(map[string]any{"jsonrpc": "2.0", "id": string(id), "method": elicit.Method, "params": passed}),
	}
}

// withdraw notifies the participant that was asked that its answer is no longer needed.
func (b *Bridge) withdraw(c *call, id protocol.ID, reason string) {
	_ = b.send(protocol.Envelope{ // send logs the error
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{c.asker}, Context: c.contextPath, Correlation: protocol.CorrelateTo(id),
		Payload: mustMarshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]string{"requestId": string(id), "reason": reason}}),
	})
}

// answerOf returns the result for the server, if the answer is one that the form allows.
func answerOf(env *protocol.Envelope, form *elicit.Question) (*mcp.ElicitResult, error) {
	payload := env.ParsePayload()
	if payload.Get("redacted").Exists() {
		return nil, errors.New("the gateway has masked a secret in the answer")
	}
	result := payload.Get("result")
	action := result.Get("action").Text()
	switch action {
	case elicit.Decline, elicit.Cancel:
		return &mcp.ElicitResult{Action: action}, nil
	case elicit.Accept:
	default:
		return nil, fmt.Errorf("the participant does not answer questions: %s", textutil.ShortenChars(payload.Get("error").Get("message").Text(), maxMessage))
	}
	if form.URL != "" {
		return &mcp.ElicitResult{Action: action}, nil
	}
	content := result.Get("content")
	if err := form.Check(content); err != nil {
		return nil, err
	}
	values := make(map[string]any)
	for key, value := range content.Members {
		values[key.Text()] = value.Any()
		if value.Type() != protocol.TypeNumber {
			continue
		}
		if n, whole := value.Int(); whole {
			values[key.Text()] = n // a float64 would round it
		} else {
			values[key.Text()], _ = value.Float() // Check has accepted it
		}
	}
	return &mcp.ElicitResult{Action: action, Content: values}, nil
}
