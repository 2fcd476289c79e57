package exchange

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// TestTracker_Bounds checks that tables and lists keep their bounds with any
// input.
func TestTracker_Bounds(t *testing.T) {
	tr := NewAnswers()
	for i := range 10 * maxChats {
		id, asker := protocol.ID(fmt.Sprint("q", i)), protocol.ParticipantID(fmt.Sprint("p", i%700))
		tr.Apply(&protocol.Envelope{ID: id, From: asker, To: []protocol.ParticipantID{"agent", asker + "x"}, Kind: protocol.KindChat})
		if i%2 == 0 {
			tr.Apply(&protocol.Envelope{From: "agent", Kind: protocol.KindChatAcknowledge, Correlation: protocol.CorrelateTo(id)})
		}
		tr.Apply(&protocol.Envelope{ID: "s" + id, From: asker, Kind: protocol.KindReasoningStart})
	}
	for name, n := range map[string][2]int{
		"chats": {tr.chats.Len(), 2 * maxChats}, "contexts": {tr.contexts.Len(), 2 * maxContexts},
		"takers": {tr.takers.Len(), 2 * maxTakers},
	} {
		if n[0] > n[1] {
			t.Errorf("%d %s, want at most %d", n[0], name, n[1])
		}
	}
	w, _ := tr.takers.Get("agent")
	if len(w.Taken) != maxTasks || len(w.Asked) != maxTasks {
		t.Errorf("%d taken and %d asked, want %d each", len(w.Taken), len(w.Asked), maxTasks)
	}
}
