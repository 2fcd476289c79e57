package agent

import (
	"errors"
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/protocol"
)

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		name  string
		cause error
		want  string
	}{
		{"rejected token", &reasoner.APIError{Status: 401, Code: "unauthorized", Message: "token tk-1"}, "the Reasoning API answered with status 401, unauthorized"},
		{"status alone", &reasoner.APIError{Status: 502, Code: "<html>"}, "the Reasoning API answered with status 502"},
		{"no answer", fmt.Errorf("%w after 5s: http://10.0.0.1", reasoner.ErrTimeout), "the Reasoning API did not answer in time"},
		{"unusable decision", fmt.Errorf("%w: it finishes without a text", planner.ErrRemote), planner.ErrRemote.Error()},
		{"failing provider", &llm.Error{Provider: "openai", Code: "server_error"}, "the model's provider answered with server_error"},
		{"refusal without a code", &llm.Error{Provider: "openai"}, "the model refused"},
		{"unknown", errors.New("dial 10.0.0.1"), "internal error; see the log of the agent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := explain(fmt.Errorf("decide: %w", test.cause)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

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
