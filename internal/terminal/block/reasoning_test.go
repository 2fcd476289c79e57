package block

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

func refer(ids []string) []string { return ids }

// TestDetails_Bounded checks that an envelope with very many details keeps a
// bounded part of them.
func TestDetails_Bounded(t *testing.T) {
	var metadata, evidence []string
	for i := range 1000 {
		metadata = append(metadata, fmt.Sprintf(`"k%d":"%s"`, i, strings.Repeat("v", 2000)))
		evidence = append(evidence, `"`+strings.Repeat("e", 2000)+`"`)
	}
	payload := `{"hypothesis":"h","metadata":{` + strings.Join(metadata, ",") + `},"evidence":[` + strings.Join(evidence, ",") + `]}`
	d := NewReasoning("guide", "c", time.Time{})
	start := protocol.Envelope{ID: "c", From: "guide", Kind: protocol.KindReasoningStart, Payload: []byte(payload)}
	d.Begin(&start, refer)
	step := protocol.Envelope{ID: "h", From: "guide", Kind: "reasoning.hypothesis", Context: "c", Payload: []byte(payload)}
	d.Add(&step, refer)
	size := func(list int, n int) {
		if list == 0 || list > maxDetails+1 || n > maxDetail+len("…") {
			t.Errorf("%d details, one of %d bytes", list, n)
		}
	}
	for _, one := range d.Details() {
		size(len(d.Details()), len(one.Text))
	}
	for _, one := range d.Steps("")[0].Details {
		size(len(d.Steps("")[0].Details), len(one.Text))
	}
}

// TestDetails_Duration shows the actual duration only after the end.
func TestDetails_Duration(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)
	d := NewReasoning("guide", "c", at)
	start := protocol.Envelope{ID: "c", From: "guide", Kind: protocol.KindReasoningStart, TS: at, Payload: []byte(`{"metadata":{"estimated_duration":"5s"}}`)}
	d.Begin(&start, refer)
	if got := fmt.Sprint(d.Details()); got != "[{estimated duration 5s}]" {
		t.Error(got)
	}
	d.State, d.End = Thought, at.Add(4230*time.Millisecond)
	if got := fmt.Sprint(d.Details()); got != "[{estimated duration 5s, took 4.2s}]" {
		t.Error(got)
	}
}
