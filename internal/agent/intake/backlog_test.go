package intake_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/protocol"
)

// history is a log whose positions are step apart.
type history struct {
	log  []protocol.Envelope
	read int // entries in responses
}

func (h *history) add(step int, env protocol.Envelope) {
	env.Seq = protocol.Seq((len(h.log) + 1) * step)
	env.TS = time.Now()
	h.log = append(h.log, env)
}

func (h *history) Envelopes(_ context.Context, _ string, q api.EnvelopeQuery) (*api.Envelopes, error) {
	list := slices.Clone(h.log)
	if q.Descending {
		slices.Reverse(list)
	}
	page := &api.Envelopes{}
	for _, env := range list {
		switch {
		case env.Seq <= q.Since || q.Before > 0 && env.Seq >= q.Before:
		case len(q.From) > 0 && !slices.Contains(q.From, env.From):
		case len(q.Kinds) > 0 && !slices.Contains(q.Kinds, string(env.Kind)):
		case len(page.Envelopes) == q.Limit:
			page.HasMore = true
		default:
			page.Envelopes = append(page.Envelopes, env)
			page.Next = env.Seq
		}
	}
	h.read += len(page.Envelopes)
	return page, nil
}

// asks reports a chat of alice as a question.
func asks(env *protocol.Envelope) (isQuestion, named bool) { return env.From == "alice", false }

// read reads a history as the agent planner.
func read(t *testing.T, h *history, observe func(*protocol.Envelope) (isQuestion, named bool)) *intake.Backlog {
	t.Helper()
	b, err := intake.ReadBacklog(t.Context(), intake.BacklogOptions{
		Mode: intake.CatchUpAuto, History: h, You: "planner", Space: protocol.SpaceInfo{Name: "lab", Seq: h.log[len(h.log)-1].Seq}, Now: time.Now(),
		Observe: observe, Result: func(*protocol.Envelope) contextwindow.Result { return contextwindow.Result{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is read depends on the number of entries, not on their positions.
func TestRead_Positions(t *testing.T) {
	for _, step := range []int{1, 1024} {
		t.Run(fmt.Sprintf("%d apart", step), func(t *testing.T) {
			h := &history{}
			chats := func(n int, from protocol.ParticipantID) {
				for range n {
					h.add(step, protocol.Envelope{ID: protocol.ID(fmt.Sprintf("%s-%d", from, len(h.log))), From: from, Kind: protocol.KindChat})
				}
			}
			chats(4000, "bob")
			h.add(step, protocol.Envelope{ID: "forgotten", From: "alice", Kind: protocol.KindChat})
			chats(500, "bob")
			h.add(step, protocol.Envelope{ID: "asked-first", From: "alice", Kind: protocol.KindChat})
			h.add(step, protocol.Envelope{ID: "attempt", From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("asked-first")})
			chats(3000, "bob")
			h.add(step, protocol.Envelope{ID: "asked-later", From: "alice", Kind: protocol.KindChat})
			chats(1900, "bob")
			b := read(t, h, asks)
			var ids []protocol.ID
			for _, q := range b.Questions() {
				ids = append(ids, q.ID)
			}
			if want := []protocol.ID{"asked-first", "asked-later"}; !slices.Equal(ids, want) {
				t.Errorf("questions %v, want %v", ids, want)
			}
			if rest := b.Leftovers(); len(rest) != 1 || rest[0].Context != "attempt" {
				t.Errorf("leftovers %+v", rest)
			}
			if h.read > 3002 {
				t.Errorf("%d entries read", h.read)
			}
		})
	}
}

// An attempt that began long ago, in a busy space, is resumed with the calls that it made, unless it
// was answered; also if the agent closed its context as it stopped.
func TestRead_AttemptLongAgo(t *testing.T) {
	for _, between := range []int{2500, 14_000} { // more than is read from the attempt on
		h := &history{}
		others := func(n int) {
			for range n {
				h.add(1, protocol.Envelope{ID: protocol.ID(fmt.Sprintf("bob-%d", len(h.log))), From: "bob", Kind: protocol.KindChat})
			}
		}
		attempt := func(id protocol.ID) {
			h.add(1, protocol.Envelope{ID: id, From: "alice", Kind: protocol.KindChat})
			h.add(1, protocol.Envelope{ID: "attempt-" + id, From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(id)})
		}
		end := func(id protocol.ID, reason string) {
			h.add(1, protocol.Envelope{From: "planner", Kind: protocol.KindReasoningCancel, Context: "attempt-" + protocol.ContextPath(id), Payload: fmt.Appendf(nil, `{"reason":%q}`, reason)})
		}
		attempt("withdrawn")
		end("withdrawn", "cancelled by alice")
		others(3000)
		for _, id := range []protocol.ID{"open", "stopped", "answered"} {
			attempt(id)
		}
		end("stopped", "the agent is shutting down")
		h.add(1, protocol.Envelope{ID: "call", From: "planner", To: []protocol.ParticipantID{"tools"}, Kind: protocol.KindMCPRequest, Context: "attempt-open", Payload: []byte(`{"method":"tools/call","params":{"name":"transfer"}}`)})
		others(between)
		for _, id := range []protocol.ID{"answered", "recent"} {
			h.add(1, protocol.Envelope{ID: "answer to " + id, From: "planner", Kind: protocol.KindChat, Correlation: protocol.CorrelateTo(id)})
		}
		others(2500)
		b := read(t, h, asks)
		var ids []protocol.ID
		for _, q := range b.Questions() {
			ids = append(ids, q.ID)
		}
		if want := []protocol.ID{"open", "stopped"}; !slices.Equal(ids, want) {
			t.Errorf("%d entries: questions %v, want %v", between, ids, want)
		}
		if calls := b.Calls("open"); len(calls) != 1 || calls[0].Tool != "transfer" {
			t.Errorf("%d entries: calls %+v", between, calls)
		}
		if h.read > 10_000+5_000 {
			t.Errorf("%d entries: %d read", between, h.read)
		}
	}
}

// A question from before the entries that are read is answered if the agent had begun to
// answer it, and not if that attempt settled it.
func TestRead_BegunLongAgo(t *testing.T) {
	h := &history{}
	others := func(n int) {
		for range n {
			h.add(1, protocol.Envelope{ID: protocol.ID(fmt.Sprintf("bob-%d", len(h.log))), From: "bob", Kind: protocol.KindChat})
		}
	}
	for _, id := range []protocol.ID{"begun", "answered", "never begun"} {
		h.add(1, protocol.Envelope{ID: id, From: "alice", Kind: protocol.KindChat})
	}
	others(1500)
	for _, id := range []protocol.ID{"begun", "answered"} {
		h.add(1, protocol.Envelope{ID: "attempt-" + id, From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(id)})
	}
	h.add(1, protocol.Envelope{ID: "answer", From: "planner", Kind: protocol.KindChat, Correlation: protocol.CorrelateTo("answered")})
	others(1500)
	b := read(t, h, func(env *protocol.Envelope) (isQuestion, named bool) { return env.From == "alice", true })
	if got := b.Questions(); len(got) != 1 || got[0].ID != "begun" {
		t.Errorf("questions %v, want begun", got)
	}
}

// A question that another participant has begun to answer, or has answered, is not this agent's,
// unless it names this one or this one has begun to answer it, too.
func TestRead_TakenByAnother(t *testing.T) {
	h := &history{}
	h.add(1, protocol.Envelope{ID: "hello", From: "planner", Kind: protocol.KindChat})
	for _, id := range []protocol.ID{"taken", "named", "both", "open", "answered", "asked by name", "added to"} {
		h.add(1, protocol.Envelope{ID: id, From: "alice", Kind: protocol.KindChat})
	}
	start := func(from protocol.ParticipantID, path protocol.ContextPath, id protocol.ID) {
		h.add(1, protocol.Envelope{
			ID: protocol.ID(fmt.Sprintf("%s-%d", from, len(h.log))), From: from, Kind: protocol.KindReasoningStart, Context: path, Correlation: protocol.CorrelateTo(id),
		})
	}
	start("planner", "", "both")
	for _, id := range []protocol.ID{"taken", "named", "both"} {
		start("scout", "", id)
	}
	start("scout", "part", "open")
	chat := func(from protocol.ParticipantID, path protocol.ContextPath, id protocol.ID) {
		h.add(1, protocol.Envelope{
			ID: protocol.ID(fmt.Sprintf("chat-%d", len(h.log))), From: from, Kind: protocol.KindChat, Context: path, Correlation: protocol.CorrelateTo(id),
		})
	}
	chat("bob", "", "answered")
	chat("bob", "", "asked by name")
	chat("alice", "", "added to")
	chat("bob", "remarks", "open")
	b := read(t, h, func(env *protocol.Envelope) (isQuestion, named bool) {
		return env.From == "alice" && env.Context == "" && env.Correlation.IDs == nil, env.ID == "named" || env.ID == "asked by name"
	})
	var ids []protocol.ID
	for _, q := range b.Questions() {
		ids = append(ids, q.ID)
	}
	if want := []protocol.ID{"named", "both", "open", "asked by name", "added to"}; !slices.Equal(ids, want) {
		t.Errorf("questions %v, want %v", ids, want)
	}
}

// An attempt is interrupted if nothing ended it before a later process did, or nothing did.
func TestBacklog_Interrupted(t *testing.T) {
	h := &history{}
	h.add(1, protocol.Envelope{ID: "asked", From: "alice", Kind: protocol.KindChat})
	for id, end := range map[protocol.ID]protocol.Envelope{
		"concluded":        {From: "planner", Kind: protocol.KindReasoningConclusion, Context: "concluded"},
		"shut down":        {From: "planner", Kind: protocol.KindReasoningCancel, Context: "shut down", Payload: []byte(`{"reason":"the agent is shutting down"}`)},
		"canceled":         {From: "alice", Kind: protocol.KindReasoningCancel, Context: "canceled", Payload: []byte(`{"reason":"the agent was restarted"}`)},
		"canceled by id":   {From: "alice", Kind: protocol.KindReasoningCancel, Correlation: protocol.CorrelateTo("canceled by id")},
		"restarted":        {From: "planner", Kind: protocol.KindReasoningCancel, Context: "restarted", Payload: []byte(`{"reason":"the agent was restarted"}`)},
		"open":             {From: "planner", Kind: protocol.KindReasoningThought, Context: "open"},
		"a part has ended": {From: "planner", Kind: protocol.KindReasoningConclusion, Context: "a part has ended/part"},
	} {
		h.add(1, protocol.Envelope{ID: id, From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("asked")})
		h.add(1, end)
	}
	b := read(t, h, asks)
	if n := b.Interrupted("asked"); n != 3 {
		t.Errorf("%d attempts are interrupted, want 3: restarted, open, a part has ended", n)
	}
	if n := b.Interrupted("other"); n != 0 {
		t.Errorf("%d attempts of a question without any, want none", n)
	}
}
