package reasoner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

const triage = `{"run_id":"r1","workflow_name":"triage","current_node":"read",
	"outputs":{"read":{"text":"It crashes since Tuesday."},"before":"nothing"},
	"params":{"team":"blue","workflow":{"nodes":[{"id":"read","decide":"model"},{"id":"fix it","tool":"edit","args":{}},{"id":"answer"},{"id":"urgent"}],
		"edges":[{"from":"read","to":"fix it","description":"something is broken"},{"from":"read","to":"answer"},{"from":"read","to":"urgent","when":"outputs.read.urgent"}]}},
	"llm":{"provider":"openai","model":"gpt-x","api_key":"` + requestKey + `"}}`

func chooseNode(t *testing.T, s *Service, body string) (*wire.WorkflowIntentResponse, error) {
	t.Helper()
	r, err := DecodeWorkflow([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Workflow(t.Context(), r)
	if err == nil {
		checkSchema(t, "workflow_intent.response", out)
	}
	return out, err
}

func enters(node string) llmtest.Turn {
	return llmtest.Turn{Calls: []llm.ToolCall{{Name: enterNode, Arguments: []byte(`{"node":"` + node + `","rationale":"The report is of a crash."}`)}}}
}

// TestWorkflow_ModelChooses: the model sees the outputs, the parameters and the
// options, and its choice is in the response, the log and the metrics.
func TestWorkflow_ModelChooses(t *testing.T) {
	server := llmtest.Start(t, llmtest.Turns(enters("fix it")), func(s *llmtest.Server) { s.Key = requestKey })
	s, log := newModelService(t, server, Options{})
	out, err := chooseNode(t, s, triage)
	if err != nil {
		t.Fatal(err)
	}
	if out.NextNode != "fix it" || out.ToolName != "edit" || !strings.Contains(out.Reasoning, "The report is of a crash.") {
		t.Errorf("%+v", out)
	}
	asked := server.Requests()[0]
	for _, want := range []string{"It crashes since Tuesday.", "something is broken", "blue", "fix it", "answer"} {
		if !strings.Contains(string(asked.Body), want) {
			t.Errorf("the model was not shown %q: %s", want, asked.Body)
		}
	}
	if asked.Choice != enterNode || len(asked.Tools) != 1 || strings.Contains(string(asked.Body), "urgent") {
		t.Errorf("%s, %v", asked.Choice, asked.Tools)
	}
	if !strings.Contains(log.String(), "source=model outcome=use_tools") || strings.Contains(log.String(), requestKey) || strings.Contains(log.String(), "crash") {
		t.Errorf("%s", log)
	}
	if metrics := metricsOf(t, s.o.Telemetry); !strings.Contains(metrics, `model="gpt-x",outcome="use_tools"`) {
		t.Errorf("%s", metrics)
	}
}

// TestWorkflow_ChoiceIsBounded: a node that does not follow is rejected, and
// the model may correct itself once.
func TestWorkflow_ChoiceIsBounded(t *testing.T) {
	urgent := enters("urgent")
	urgent.Usage = llm.Usage{Input: 100, Output: 10}
	for name, test := range map[string]struct {
		turns     []llmtest.Turn
		next, why string
	}{
		"corrected":          {[]llmtest.Turn{enters("urgent"), enters("answer")}, "answer", ""},
		"again":              {[]llmtest.Turn{urgent, urgent}, "", "requested calls that cannot be made"},
		"another tool":       {[]llmtest.Turn{{Calls: []llm.ToolCall{{Name: "edit"}}}, {Text: "I would fix it."}}, "", "did not call the tool that it had to call"},
		"a model that fails": {[]llmtest.Turn{{Status: http.StatusBadRequest, Message: "no"}}, "", "refused with status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Start(t, llmtest.Turns(test.turns...))
			s, _ := newModelService(t, server, Options{})
			out, err := chooseNode(t, s, triage)
			var f *Fault
			switch {
			case test.next != "" && (err != nil || out.NextNode != test.next):
				t.Errorf("%+v, %v", out, err)
			case test.next == "" && (!errors.As(err, &f) || f.Status != 503 || f.Code != CodeUndecided || !strings.Contains(f.Message, test.why)):
				t.Errorf("%+v, %v", out, err)
			}
			if want := (&wire.Usage{Input: 200, Output: 20}); name == "again" && !reflect.DeepEqual(UsageOf(err), want) {
				t.Errorf("usage %+v of the decision that failed, want %+v", UsageOf(err), want)
			}
		})
	}
}

// TestWorkflow_ContextWindow: the window, its utilization and the summaries of a
// request apply to the model that chooses.
func TestWorkflow_ContextWindow(t *testing.T) {
	outputs := map[string]string{}
	for i := range 4 {
		outputs[fmt.Sprintf("node-%d", i)] = strings.Repeat("The gateway routes each envelope to a space. ", 450)
	}
	raw, err := json.Marshal(outputs)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Replace(triage, `{"read":{"text":"It crashes since Tuesday."},"before":"nothing"}`, string(raw), 1)
	for name, test := range map[string]struct {
		fields             string
		budget, summarized int
	}{
		"default":     {``, 128_000, 0},
		"window":      {`"context_tokens":8192,`, 8192, 0},
		"utilization": {`"context_tokens":8192,"context_utilization":"low",`, 8192 / 4, 0},
		"summaries":   {`"summarization_model":"openai:small",`, 128_000, 4},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Start(t, windowed(100_000, "It is about routing.", func(llmtest.Request) llmtest.Turn { return enters("answer") }))
			s, _ := newModelService(t, server, Options{})
			out, err := chooseNode(t, s, strings.Replace(body, `{`, `{`+test.fields, 1))
			if err != nil {
				t.Fatal(err)
			}
			var c *wire.ContextTrace
			for _, item := range out.Trace {
				if item.Context != nil {
					c = item.Context
				}
			}
			if c == nil || c.Budget > test.budget || c.Budget < test.budget/4 || c.Summarized != test.summarized || summaries(server)["small"] != test.summarized {
				t.Errorf("%+v", c)
			}
		})
	}
	s, _ := newModelService(t, llmtest.Start(t, answerText), Options{})
	_, err = chooseNode(t, s, strings.Replace(triage, `{`, `{"summarization_model":"nobody:m",`, 1))
	var f *Fault
	if !errors.As(err, &f) || f.Status != 422 || f.Path != "/summarization_model" {
		t.Errorf("%v", err)
	}
	_, err = DecodeWorkflow([]byte(strings.Replace(triage, `{`, `{"context_tokens":100,`, 1)))
	if !errors.As(err, &f) || f.Path != "/context_tokens" {
		t.Errorf("%v", err)
	}
}

// TestWorkflow_NoModel: without a model, a branch that needs one is rejected,
// and a condition decides as before.
func TestWorkflow_NoModel(t *testing.T) {
	s := New(Options{})
	for _, body := range []string{triage, strings.Replace(triage, `"llm"`, `"ignored"`, 1)} {
		_, err := chooseNode(t, s, body)
		var f *Fault
		if !errors.As(err, &f) || f.Status != 422 || f.Code != CodeUndecided || strings.Contains(f.Message, requestKey) {
			t.Errorf("%v", err)
		}
		out, err := chooseNode(t, s, strings.Replace(body, `"text"`, `"urgent":true,"text"`, 1))
		if err != nil || out.NextNode != "urgent" {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
