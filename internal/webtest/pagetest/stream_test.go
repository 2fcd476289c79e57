package pagetest

import (
	"testing"

	"github.com/meup-protocol/meup/internal/webtest"
)

// TestStream_OverHTTP shows the text of a stream in its block while it is written,
// by a participant without a connection, in a page that was opened after the
// stream.
func TestStream_OverHTTP(t *testing.T) {
	s := NewWith(t, []string{"planner"}, map[string][]string{"ada": {"*"}})
	s.Send("planner",
		Envelope{"id": "r", "kind": "reasoning.start", "payload": map[string]any{"message": "Look at the limits"}},
		Envelope{"kind": "stream.open", "context": "r", "payload": map[string]any{"stream_id": "s"}})
	tab := webtest.Shared(t).Private(t)
	s.Enter(tab, "ada")
	tab.Await(`document.querySelector("[data-context=r]")`)
	for _, text := range []string{"The limits are ", "per kind now. "} {
		s.Send("planner", Envelope{"kind": "stream.data", "context": "r", "payload": map[string]any{"stream_id": "s", "data": text}})
	}
	tab.Await(`document.querySelector("[data-context=r]").innerText.includes("The limits are per kind now.") && (` + title + `).startsWith("Reasoning · ")`)
	tab.Clean()
}
