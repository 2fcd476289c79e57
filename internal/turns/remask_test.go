package turns

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// learner is a masker that has learned something.
type learner struct{ learned *bool }

func (l learner) Text(text string) string {
	if *l.learned {
		return strings.ReplaceAll(text, "question", "[learned]")
	}
	return text
}

func (l learner) Parameters(protocol.Value) json.RawMessage {
	if *l.learned {
		return json.RawMessage(`{"learned":true}`)
	}
	return nil
}

// TestRemask: texts in memory, including titles, are shown by the current mask,
// and a continuing turn still emits events.
func TestRemask(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 2, 1)
	learned := false
	p := NewTracker(Options{Space: "lab", Reader: log, Mask: learner{&learned}})
	apply(p, log.entries[:len(log.entries)-3])
	shown := func() string {
		h, err := p.History(t.Context(), "a-q0", 0, 0, Viewer{})
		list, _ := p.Threads(0, 0, Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		return marshal(t, h) + marshal(t, list)
	}
	if before := shown(); !strings.Contains(before, "question") {
		t.Fatal("the conversation has changed: ", before)
	}
	learned = true
	p.Remask()
	if after := shown(); strings.Contains(after, "question") || !strings.Contains(after, "[learned]") || !strings.Contains(after, `"learned": true`) {
		t.Errorf("after the mask has learned: %s", after)
	}
	events := 0
	for _, e := range log.entries[len(log.entries)-3:] {
		events += len(apply(p, []Entry{e}))
	}
	if events != 1 {
		t.Errorf("%d steps were told of", events)
	}
}

// TestLongRationale: one long thought that explains many calls does not make an
// answer of any size.
func TestLongRationale(t *testing.T) {
	log := new(memoryLog)
	log.add(protocol.Envelope{ID: "q", From: "alice", Kind: protocol.KindChat, Payload: []byte(`{"message":"?"}`)})
	log.add(protocol.Envelope{ID: "c", From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("q")})
	log.add(protocol.Envelope{ID: "t", From: "planner", Kind: protocol.KindReasoningThought, Context: "c",
		Payload: []byte(`{"message":"` + strings.Repeat("<", 4<<10) + `"}`)})
	for range 1500 {
		log.add(protocol.Envelope{From: "planner", Kind: protocol.KindMCPRequest, Context: "c", Correlation: protocol.CorrelateTo("t"),
			Payload: []byte(`{"method":"tools/call","params":{"name":"look"}}`)})
	}
	p := NewTracker(Options{Space: "lab", Reader: log})
	apply(p, log.entries)
	h, err := p.History(t.Context(), "q", 0, 0, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := h.JSON(); err != nil || len(body) > 5<<20 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if n := len(h.Turns[0].Reasoning.ToolDecisions); n != 1500 {
		t.Errorf("%d decisions", n)
	}
}

// TestAll: all visible turns are yielded, the oldest first.
func TestAll(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 60, 1)
	p := NewTracker(Options{Space: "lab", Reader: log, CacheBytes: 1})
	apply(p, log.entries)
	for _, v := range []Viewer{{}, {Allows: func(e *Entry) bool { return e.Envelope.Seq%3 != 0 || e.Envelope.Kind != protocol.KindChat }}} {
		h, err := p.History(t.Context(), "a-q0", MaxPage, 0, v)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for turn, err := range p.All(t.Context(), "a-q0", v) {
			if err != nil || turn.TurnNumber != h.Turns[n].TurnNumber || turn.UserInput != h.Turns[n].UserInput {
				t.Fatalf("turn %d: %+v, %v", n, turn, err)
			}
			n++
		}
		if n != len(h.Turns) || n == 0 {
			t.Errorf("%d of %d turns", n, len(h.Turns))
		}
	}
	for turn, err := range p.All(t.Context(), "nothing", Viewer{}) {
		if turn != nil || !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v, %v", turn, err)
		}
	}
}

// TestOutcomeText_Masked: the text of an error is masked, and a text that exceeds
// the kept part is cut before the part that a secret may be divided in.
func TestOutcomeText_Masked(t *testing.T) {
	learned := true
	for name, text := range map[string]string{
		"short": "no question: denied",
		"long":  "no question " + strings.Repeat("word ", 10_000) + "question",
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := json.Marshal(map[string]any{"error": map[string]string{"message": text}})
			if err != nil {
				t.Fatal(err)
			}
			log := new(memoryLog)
			log.add(protocol.Envelope{ID: "q", From: "alice", Kind: protocol.KindChat, Payload: []byte(`{"message":"?"}`)})
			log.add(protocol.Envelope{ID: "r", From: "bob", Kind: protocol.KindMCPRequest, Correlation: protocol.CorrelateTo("q"),
				Payload: []byte(`{"method":"tools/call","params":{"name":"look"}}`)})
			log.add(protocol.Envelope{ID: "s", From: "bob", Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo("r"), Payload: payload})
			p := NewTracker(Options{Space: "lab", Reader: log, Mask: learner{&learned}})
			apply(p, log.entries)
			h, err := p.History(t.Context(), "q", 0, 0, Viewer{})
			if err != nil {
				t.Fatal(err)
			}
			got := h.Turns[0].Reasoning.ToolDecisions[0].OutcomeText
			if !strings.HasPrefix(got, "error: no [learned]") || strings.Contains(got, "question") || len(got) > 220 {
				t.Errorf("%q", got)
			}
		})
	}
}
