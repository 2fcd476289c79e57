package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/protocol"
)

// ends returns the metadata with which the planner ended its contexts, in order.
func ends(t *testing.T, all []protocol.Envelope) (list []string) {
	t.Helper()
	for i := range all {
		if k := all[i].Kind; all[i].From == "planner" && (k == protocol.KindReasoningConclusion || k == protocol.KindReasoningCancel) {
			m, err := json.Marshal(decode(t, &all[i])["metadata"])
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%s %s", k, m))
		}
	}
	return list
}

func TestUsage(t *testing.T) {
	part := llm.ToolCall{Name: planner.Subproblem, Arguments: []byte(`{"question":"is it safe?"}`)}
	for name, test := range map[string]struct {
		turns []llmtest.Turn
		want  []string
	}{
		"a part has its own": {[]llmtest.Turn{
			{Calls: []llm.ToolCall{part}, Usage: llm.Usage{Input: 100, Output: 10, Cached: 60, Reasoning: 4}},
			{Text: "It is safe.", Usage: llm.Usage{Input: 20, Output: 2}},
			{Text: "Deploy.", Usage: llm.Usage{Input: 200, Output: 30, Cached: 90, Reasoning: 6}},
		}, []string{
			`reasoning.conclusion {"model":"scripted","usage":{"input_tokens":20,"output_tokens":2}}`,
			`reasoning.conclusion {"model":"scripted","usage":{"cached_tokens":150,"input_tokens":300,"output_tokens":40,"reasoning_tokens":10}}`,
		}},
		"a failed answer": {[]llmtest.Turn{
			{Calls: []llm.ToolCall{{Name: "unknown"}}, Usage: llm.Usage{Input: 5, Output: 1}},
			{Status: 403, Code: "no_credit", Message: "no credit"},
		}, []string{`reasoning.cancel {"model":"scripted","usage":{"input_tokens":5,"output_tokens":1}}`}},
		"a correction": {[]llmtest.Turn{
			{Calls: []llm.ToolCall{{Name: "unknown"}}, Usage: llm.Usage{Input: 5, Output: 1}},
			{Text: "Deploy.", Usage: llm.Usage{Input: 7, Output: 2}},
		}, []string{`reasoning.conclusion {"model":"scripted","usage":{"input_tokens":12,"output_tokens":3}}`}},
		"an answer that breaks off": {[]llmtest.Turn{
			{Text: "It is a long story.", CutAfter: 5},
			{Text: "Deploy.", Usage: llm.Usage{Input: 7, Output: 2}},
		}, []string{`reasoning.conclusion {"model":"scripted","uncounted":1,"usage":{"input_tokens":7,"output_tokens":2}}`}},
		"nothing was spent": {[]llmtest.Turn{{Status: 403, Code: "no_credit", Message: "no credit"}}, []string{`reasoning.cancel null`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			all := asked(t, w, agent.Options{Planner: thinking(t, w, test.turns...)}, "shall we deploy?")
			if got := ends(t, all); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("ends\n%s\nwant\n%s\nin\n%s", got, test.want, script(all))
			}
		})
	}
}

func TestUsage_Cost(t *testing.T) {
	turns := []llmtest.Turn{{Text: "Deploy.", Usage: llm.Usage{Input: 1000, Output: 100, Cached: 400}}}
	for name, want := range map[string]string{
		"scripted": `reasoning.conclusion {"cost":0.0024,"currency":"EUR","model":"scripted","usage":{"cached_tokens":400,"input_tokens":1000,"output_tokens":100}}`,
		"another":  `reasoning.conclusion {"model":"scripted","usage":{"cached_tokens":400,"input_tokens":1000,"output_tokens":100}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			all := asked(t, w, agent.Options{
				Planner: thinking(t, w, turns...), Currency: "EUR", Prices: llm.Prices{name: {Input: 2, Output: 10, Cached: 0.5}},
			}, "shall we deploy?")
			if got := fmt.Sprint(ends(t, all)); got != "["+want+"]" {
				t.Errorf("ends %s\nwant [%s]", got, want)
			}
		})
	}
}

// spending is a planner of which a service asks a model.
type spending struct{}

func (spending) Next(ctx context.Context, _ planner.State) (planner.Decision, error) {
	llm.Spend(ctx, llm.Usage{Input: 7, Output: 2}, 1)
	return finishing("Deploy."), nil
}

// The usage of a service has no model, and no cost.
func TestUsage_Service(t *testing.T) {
	all := asked(t, watch(t), agent.Options{Planner: spending{}, Prices: llm.Prices{"scripted": {Input: 2}}}, "shall we deploy?")
	want := `[reasoning.conclusion {"uncounted":1,"usage":{"input_tokens":7,"output_tokens":2}}]`
	if got := fmt.Sprint(ends(t, all)); got != want {
		t.Errorf("ends %s\nwant %s", got, want)
	}
}
