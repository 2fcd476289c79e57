package conversation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// Of a long reasoning below an answer, the beginning is shown, so that the answer stays
// visible.
func TestReasoningOfAnswer_Bounded(t *testing.T) {
	s := newStage(t)
	s.play(`{"protocol":"meup/v0.1","id":"a1","ts":"2026-11-20T09:15:00Z","from":"guide","kind":"chat","payload":{"message":"Done."},"seq":11}`)
	r := &api.Reasoning{Agent: "guide", TurnNumber: 3}
	for range 20 {
		r.ToolDecisions = append(r.ToolDecisions, api.Decision{ToolName: "list", Outcome: "success"})
	}
	s.model.Apply(TurnRead{Request: ReadTurn{Envelope: "a1", Agent: "guide", Show: true}, Turn: &api.TurnOf{Turn: api.Turn{TurnNumber: 3, Reasoning: r}}})
	blocks := s.model.Shown()
	lines := blocks[len(blocks)-1].Lines.Left
	if last := lines[len(lines)-1]; len(lines) != shownReasoning+1 || !strings.HasSuffix(last, " more lines: /reasoning 3") {
		t.Errorf("%d lines, the last is %q", len(lines), last)
	}
}

// TestNumbered_Bounded checks that a number keeps its envelope, and that
// the oldest numbers are dropped.
func TestNumbered_Bounded(t *testing.T) {
	var n numbered
	for i := range 3 * maxNumbered {
		id := protocol.ID(fmt.Sprintf("m%d", i))
		if got := n.number(id); got != i+1 || n.number(id) != got {
			t.Fatalf("%s has the number %d", id, got)
		}
	}
	if len(n.ids) != maxNumbered {
		t.Errorf("%d envelopes", len(n.ids))
	}
	for which, want := range map[string]protocol.ID{
		"1536": "m1535", "#1025": "m1024", "1024": "1024", "1537": "1537", "0": "0", "-1": "-1", "m3": "m3", "#": "#",
	} {
		if got := n.find(which); got != want {
			t.Errorf("%s is %s, wanted %s", which, got, want)
		}
	}
}

func TestShow_HugeOrBroken(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		err  error
		want string
		most int
	}{
		"long":   {`{"payload":[` + strings.Repeat("1,", 5000) + `1]}`, nil, "more", maxShownLines + 2},
		"wide":   {`{"payload":"` + strings.Repeat("x", 1<<20) + `"}`, nil, "…", 5},
		"html":   {"<html>", nil, "the response is not JSON", 1},
		"failed": {"", errors.New("connection refused"), "connection refused", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.model.Apply(EnvelopeRead{Request: ReadEnvelope{ID: "x"}, Raw: []byte(c.raw), Err: c.err})
			blocks := s.model.Shown()
			lines := blocks[len(blocks)-1].Lines.Left
			if text := strings.Join(lines, "\n"); len(lines) > c.most || len(text) > 100*maxShownLine || !strings.Contains(text, c.want) {
				t.Errorf("%d lines, %d bytes: %.200s", len(lines), len(text), text)
			}
		})
	}
}
