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
		if err == nil {
			defer q.Close()
			err = serve(q, w, r)
		}
		if err != nil {
			access.WriteError(w, err)
		}
	})
}

// serve publishes the question of a run, and the decisions that it brings, and sends the events of the run
// until it ends, or the client disconnects. What it publishes has ids that follow from those of the client, so
// that a retry publishes nothing twice. An error was not sent: the stream has not begun.
func serve(q *adapter.Request, w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	space, you, err := q.Space(ctx, r.PathValue("space"))
	if err != nil {
		return err
	}
	if err := q.CheckKind(ctx, space, you, protocol.KindChat); err != nil {
		return err
	}
	in, err := decode(q.Body, access.List(r.URL.Query()["to"]))
	if err != nil {
		return err
	}
	var after protocol.Seq // the client has the turn up to here
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		after, err = protocol.ParseSeq(last)
		if err != nil {
			return access.BadRequest("Last-Event-ID: expected the id of an event.")
		}
	}
	session := in.thread
	if !protocol.ValidID(session) {
		session = string(adapter.ID("agui", session))
	}
	// The run after an interrupt has another runId and belongs to the same question.
	e := protocol.Envelope{
		ID: adapter.ID("agui", space, string(you), "question", in.thread, in.message), Kind: protocol.KindChat, To: in.to,
		Payload: adapter.Object("message", in.text, "session_id", session),
	}
	if protocol.ValidID(in.previous) {
		e.Correlation = protocol.CorrelateTo(protocol.ID(in.previous))
	}
	question, err := ask.Publish(ctx, q.Client, space, you, e)
	if err != nil {
		return protocol.AsError(err)
	}
	for _, d := range in.resume {
		name := map[bool]string{true: "approve", false: "reject"}[d.approved]
		id := adapter.ID("agui", space, string(you), name, string(d.interrupt))
		p, err := ask.Decide(ctx, q.Client, question, d.interrupt, id, d.approved, d.reason)
		if errors.Is(err, ask.ErrNoProposal) || errors.Is(err, exchange.ErrNoHost) {
			return access.BadRequest("resume: " + string(d.interrupt) + ": " + err.Error() + ".")
		}
		if err != nil {
			return protocol.AsError(err)
		}
		after = max(after, p.Seq)
	}
	if err := q.Wait(); err != nil {
		return err
	}

	s := adapter.NewStream(w)
	defer s.KeepAlive()()
	var events []any // of one event of the turn
	view := &run{
		in: in, after: after, shown: after == 0, growing: make(map[protocol.ID]*text), saying: make(map[protocol.ID]*text),
		mayDecide: func(p *protocol.Envelope) bool { return ask.MayDecide(ctx, q.Client, space, p) },
		send:      func(event map[string]any) { events = append(events, event) },
	}
	ended := !s.Send("", map[string]any{"type": "RUN_STARTED", "threadId": in.thread, "runId": in.run, "protocolVersion": "1.0"})
	err = ask.Follow(ctx, q.Client, question, func(e *ask.Event) bool {
		if ended {
			return false
		}
		events = events[:0]
		ended = !view.event(e)
		position := "" // that the client has in the log with this event
		if e.InLog() {
			position = e.Seq.String()
		}
		return s.Send(position, events...) && !ended
	})
	if err != nil && !ended && !errors.Is(err, context.Canceled) {
		events = events[:0]
		view.fail("The gateway ended the run; send it again to continue.")
		s.Send("", events...)
	}
	return nil
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
