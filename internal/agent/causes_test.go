package agent

import (
	"errors"
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
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
			if got := explainCause(fmt.Errorf("decide: %w", test.cause)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
