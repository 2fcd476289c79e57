// Package agui serves a space to front ends that speak AG-UI: a run asks the space a
// question, and its events are the reasoning, the calls and the answer. A proposal that
// the user may decide interrupts the run; the next run brings the decision.
package agui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// New returns the handler of POST /api/spaces/{space}/agui.
func New(o adapter.Options) http.Handler {
	gate := adapter.NewGate(o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := gate.Open(w, r, r.PathValue("space"), maxBody)
		if err != nil {
			access.WriteError(w, err)
			return
		}
		defer q.Close()
		a := &asker{Request: q}
		if err := a.begin(r); err != nil {
			access.WriteError(w, err)
			return
		}
		a.follow(r.Context(), w)
	})
}

// asker is the participant of a run.
type asker struct {
	*adapter.Request
	in       *input
	question ask.Question
	after    protocol.Seq // the client has the turn up to here
}

// begin publishes the question of a run, and the decisions that it brings. Both have
// ids that follow from those of the client, so that a retry publishes nothing twice.
func (a *asker) begin(r *http.Request) error {
	ctx := r.Context()
	space, you, err := a.Space(ctx, r.PathValue("space"))
	if err != nil {
		return err
	}
	if err := a.CheckKind(ctx, space, you, protocol.KindChat); err != nil {
		return err
	}
	a.in, err = decode(a.Body, access.List(r.URL.Query()["to"]))
	if err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		a.after, err = protocol.ParseSeq(last)
		if err != nil {
			return access.BadRequest("Last-Event-ID: expected the id of an event.")
		}
	}
	session := a.in.thread
	if !protocol.ValidID(session) {
		session = string(adapter.ID("agui", session))
	}
	// The run after an interrupt has another runId and belongs to the same question.
	e := protocol.Envelope{
		ID: adapter.ID("agui", space, string(you), "question", a.in.thread, a.in.message), Kind: protocol.KindChat, To: a.in.to,
		Payload: adapter.Object("message", a.in.text, "session_id", session),
	}
	if protocol.ValidID(a.in.previous) {
		e.Correlation = protocol.CorrelateTo(protocol.ID(a.in.previous))
	}
	a.question, err = ask.Publish(ctx, a.Client, space, you, e)
	if err != nil {
		return protocol.AsError(err)
	}
	for _, d := range a.in.resume {
		name := map[bool]string{true: "approve", false: "reject"}[d.approved]
		id := adapter.ID("agui", space, string(you), name, string(d.interrupt))
		p, err := ask.Decide(ctx, a.Client, a.question, d.interrupt, id, d.approved, d.reason)
		if errors.Is(err, ask.ErrNoProposal) || errors.Is(err, exchange.ErrNoHost) {
			return access.BadRequest("resume: " + string(d.interrupt) + ": " + err.Error() + ".")
		}
		if err != nil {
			return protocol.AsError(err)
		}
		a.after = max(a.after, p.Seq)
	}
	return a.Wait()
}

// follow sends the events of the run until it ends, or the client disconnects.
func (a *asker) follow(ctx context.Context, w http.ResponseWriter) {
	s := adapter.NewStream(w)
	defer s.KeepAlive()()
	var events []any // of one event of the turn
	r := &run{
		in: a.in, after: a.after, shown: a.after == 0, growing: make(map[protocol.ID]*text), saying: make(map[protocol.ID]*text),
		mayDecide: func(p *protocol.Envelope) bool { return ask.MayDecide(ctx, a.Client, a.question.Space, p) },
		send:      func(event map[string]any) { events = append(events, event) },
	}
	ended := !s.Send("", map[string]any{"type": "RUN_STARTED", "threadId": a.in.thread, "runId": a.in.run, "protocolVersion": "1.0"})
	err := ask.Follow(ctx, a.Client, a.question, func(e *ask.Event) bool {
		if ended {
			return false
		}
		events = events[:0]
		ended = !r.event(e)
		position := "" // that the client has in the log with this event
		if e.InLog() {
			position = e.Seq.String()
		}
		return s.Send(position, events...) && !ended
	})
	if err != nil && !ended && !errors.Is(err, context.Canceled) {
		events = events[:0]
		r.fail("The gateway ended the run; send it again to continue.")
		s.Send("", events...)
	}
}

// Capabilities returns the handler of GET /api/spaces/{space}/agui.
func Capabilities() http.Handler {
	text, err := json.Marshal(map[string]any{
		"identity":  map[string]any{"name": "meup", "type": "space"},
		"transport": map[string]any{"streaming": true, "resumable": true}, "output": map[string]any{"supportedMimeTypes": []string{"text/markdown"}},
		"reasoning": map[string]any{"supported": true, "streaming": true}, "tools": map[string]any{"supported": true, "parallelCalls": true, "clientProvided": false},
		"multiAgent": map[string]any{"supported": true, "subagents": []any{}}, "humanInTheLoop": map[string]any{"supported": true, "approvals": true, "interrupts": true},
	})
	if err != nil {
		panic(err) // of constants
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the peer may have disconnected
	})
}
