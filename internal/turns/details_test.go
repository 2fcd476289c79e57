package turns

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// detailsMask replaces a word wherever it is.
type detailsMask struct{}

func (detailsMask) Text(text string) string { return strings.ReplaceAll(text, "hunter2", "[masked]") }

func (m detailsMask) Parameters(v protocol.Value) json.RawMessage {
	return json.RawMessage(m.Text(string(v.Raw())))
}

// reasoned returns the reasoning of a turn with these payloads.
func reasoned(t *testing.T, start, hypothesis, conclusion map[string]any) *api.Reasoning {
	t.Helper()
	log := new(memoryLog)
	add := func(env protocol.Envelope, payload map[string]any) {
		raw, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		env.From, env.Payload = "planner", raw
		log.add(env)
	}
	log.add(protocol.Envelope{ID: "q", From: "alice", Kind: protocol.KindChat, Payload: []byte(`{"message":"?"}`)})
	add(protocol.Envelope{ID: "c", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("q")}, start)
	for range 70 {
		add(protocol.Envelope{Kind: protocol.KindReasoningHypothesis, Context: "c"}, hypothesis)
	}
	add(protocol.Envelope{Kind: protocol.KindMCPRequest, Context: "c"}, map[string]any{"method": "tools/call", "params": map[string]any{"name": "look"}})
	add(protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: "c"}, conclusion)
	p := NewTracker(Options{Space: "lab", Reader: log, Mask: detailsMask{}})
	apply(p, log.entries)
	turn, err := p.Turn(t.Context(), "q", 1, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	return turn.Reasoning
}

// TestDetails_Masked: no detail has a secret, also not one at which its text is
// cut.
func TestDetails_Masked(t *testing.T) {
	long := strings.Repeat("x", 1<<10-3) + "hunter2" + strings.Repeat("y", 4<<10)
	r := reasoned(t,
		map[string]any{"references": []string{"hunter2"}, "metadata": map[string]any{"approach": "hunter2", "hunter2": long}},
		map[string]any{"hypothesis": "hunter2", "evidence": []string{"hunter2", long}, "evidence_against": "hunter2", "confidence": 0.5},
		map[string]any{"decision": long, "recommendation": "hunter2", "key_factors": []any{long, map[string]string{"k": "hunter2"}}})
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "hunt") {
		t.Errorf("%s", raw)
	}
	if n := strings.Count(string(raw), "[masked]"); n < 10 || r.Conclusion.Decision != strings.Repeat("x", 1<<10-3)+"[ma…" {
		t.Errorf("%d masked, decision %q", n, r.Conclusion.Decision)
	}
}

// TestDetails_Bounds: lists have 64 entries, texts are shortened, and details as
// large as an envelope are a part of it.
func TestDetails_Bounds(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat(string(rune('a'+i%26)), 1+i%7)
	}
	metadata := map[string]any{"number": json.Number("1" + strings.Repeat("0", 100))}
	for i := range 100 {
		metadata[strings.Repeat("k", i+1)] = i
	}
	huge := strings.Repeat("z", 40<<10)
	r := reasoned(t,
		map[string]any{"references": many, "metadata": metadata},
		map[string]any{"hypothesis": huge, "evidence": many, "evidence_against": []string{huge, "small"}},
		map[string]any{"decision": huge, "recommendation": huge[:2<<10], "key_factors": many})
	if n := len(r.References); n == 0 || n > 64 {
		t.Errorf("%d references", n)
	}
	if n := len(r.Metadata); n != 64 || r.Metadata["number"] != nil {
		t.Errorf("%d values of metadata, %s", n, r.Metadata["number"])
	}
	if n := len(r.Notes); n != 64 || len(r.Notes[0].Text) > 250 || len(r.Notes[0].Evidence) != 64 {
		t.Fatalf("%d notes", n)
	}
	if got := r.Notes[0].EvidenceAgainst; len(got) != 1 || got[0] != "small" {
		t.Errorf("evidence against: %d texts", len(got))
	}
	c := r.Conclusion
	if c == nil || c.Decision != "" || len(c.Recommendation) > 1<<10+3 || len(c.KeyFactors) != 64 {
		t.Errorf("conclusion %+v", c)
	}
}

// TestUsage_Sum: each end of a context of the agent counts once, also a cancellation;
// counts of another form do not.
func TestUsage_Sum(t *testing.T) {
	log := new(memoryLog)
	add := func(from protocol.ParticipantID, kind protocol.Kind, id protocol.ID, path protocol.ContextPath, to protocol.ID, payload string) {
		env := protocol.Envelope{ID: id, From: from, Kind: kind, Context: path, Payload: []byte(payload)}
		if to != "" {
			env.Correlation = protocol.CorrelateTo(to)
		}
		log.add(env)
	}
	add("alice", protocol.KindChat, "q", "", "", `{"message":"?"}`)
	add("planner", protocol.KindReasoningStart, "c", "", "q", `{"message":"look"}`)
	add("planner", protocol.KindMCPRequest, "", "c", "", `{"method":"tools/call","params":{"name":"look"}}`)
	add("planner", protocol.KindReasoningStart, "left-open", "c", "", `{"message":"closed by the outer one"}`)
	for _, part := range []struct{ id, end, metadata string }{
		{"d", "conclusion", `{"usage":{"input_tokens":100,"output_tokens":20,"cached_tokens":60,"reasoning_tokens":5},"cost":0.1,"currency":"EUR"}`},
		{"e", "cancel", `{"usage":{"input_tokens":10,"output_tokens":2,"cached_tokens":99,"reasoning_tokens":-1},"cost":0.2,"currency":"EUR"}`},
		{"f", "conclusion", `{"tokens":7,"cost":5,"uncounted":2}`},
		{"g", "conclusion", `{"usage":{"input_tokens":"9","output_tokens":1e300},"tokens":-3,"cost":-1}`},
		{"h", "conclusion", `{"usage":[],"cost":1e400,"uncounted":1}`},
		{"i", "conclusion", `{"uncounted":-4}`},
	} {
		add("planner", protocol.KindReasoningStart, protocol.ID(part.id), "c", "", `{"message":"part"}`)
		add("planner", protocol.Kind("reasoning."+part.end), "", protocol.ContextPath("c/"+part.id), "", `{"message":"so","metadata":`+part.metadata+`}`)
	}
	add("planner", protocol.KindReasoningConclusion, "", "c", "", `{"message":"so","metadata":{"usage":{"input_tokens":1000,"output_tokens":200}}}`)
	p := NewTracker(Options{Space: "lab", Reader: log, Mask: detailsMask{}})
	apply(p, log.entries)
	turn, err := p.Turn(t.Context(), "q", 1, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	want := api.Usage{Tokens: 1339, Input: 1110, Output: 222, Cached: 70, Reasoning: 5, Uncounted: 3, Cost: 0.3, Currency: "EUR"}
	if turn.Reasoning == nil || turn.Reasoning.Usage == nil || *turn.Reasoning.Usage != want {
		t.Errorf("reasoning %+v, want usage %+v", turn.Reasoning, want)
	}
}
