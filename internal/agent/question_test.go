package agent

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

func TestOldestQuestion(t *testing.T) {
	a := &Agent{questions: participant.Requests[*question]{Places: 8}}
	if got := a.OldestQuestion(); got != 0 {
		t.Errorf("%d without a question", got)
	}
	for i, seq := range []protocol.Seq{7, 3, 9} {
		q := &question{chat: protocol.Envelope{ID: protocol.ID(fmt.Sprint("q", seq)), Seq: seq}}
		if i == 1 {
			a.questions.Hold(&q.chat, q)
		} else if a.questions.Admit(&q.chat, q) != participant.Accepted {
			t.Fatal(seq)
		}
	}
	if got := a.OldestQuestion(); got != 3 {
		t.Errorf("%d, want 3", got)
	}
	a.questions.Remove("q3")
	if got := a.OldestQuestion(); got != 7 {
		t.Errorf("%d, want 7", got)
	}
}
