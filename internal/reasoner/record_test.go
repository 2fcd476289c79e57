package reasoner

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

// TestRecord: each decision has a record, with its ids and outcome, and without
// the key, the goal and the arguments of the request.
func TestRecord(t *testing.T) {
	server := llmtest.Start(t, llmtest.Turns(
		llmtest.Turn{Calls: []llm.ToolCall{{Name: "context_fts_search", Arguments: []byte(`{"query":"private words","rationale":"I look with ` + requestKey + `"}`)}}},
		llmtest.Turn{Status: 400, Message: "no"},
		enters("answer"),
	))
	var records []wire.LogRecord
	s, _ := newModelService(t, server, Options{NewID: sequentialIDs(), Record: func(r *wire.LogRecord) { records = append(records, *r) }})
	for _, more := range []string{`,"correlation_id":"c-1"`, ``, `,"forced_tool":"fly","tools":[{"name":"walk"}]`} {
		_, _ = decide(t, s, withModel+more+`}`) // the last one is rejected
	}
	_, _ = chooseNode(t, s, triage)
	_, _ = chooseNode(t, s, strings.Replace(triage, `"read","outputs"`, `"nowhere","outputs"`, 1))
	want := []wire.LogRecord{
		{Type: wire.JobAgentIntent, SessionID: "s", IntentID: "agent-1", CorrelationID: "c-1", Status: "ok", Outcome: "use_tools", Source: "model", Model: "gpt-x", ToolName: wire.SearchTool},
		{Type: wire.JobAgentIntent, SessionID: "s", IntentID: "agent-2", Status: "ok", Outcome: "use_tools", Source: "fallback", Model: "gpt-x", ToolName: wire.SearchTool, Error: "400"},
		{Type: wire.JobAgentIntent, SessionID: "s", IntentID: "agent-3", Status: "error", Outcome: "refused", Error: CodeUnknownTool},
		{Type: wire.JobWorkflowIntent, SessionID: "r1", IntentID: "wf-4", Status: "ok", Outcome: "enter_node", Source: "model", Model: "gpt-x"},
	}
	if len(records) < len(want) {
		t.Fatalf("%+v", records)
	}
	for i, w := range want {
		r := records[i]
		got := wire.LogRecord{Type: r.Type, SessionID: r.SessionID, IntentID: r.IntentID, CorrelationID: r.CorrelationID, Status: r.Status,
			Outcome: r.Outcome, Source: r.Source, Model: r.Model, ToolName: r.ToolName, Error: r.Error}
		if got != w {
			t.Errorf("got  %+v\nwant %+v", got, w)
		}
	}
	if r := records[0]; r.InputTokens == 0 || r.Context == nil || !strings.Contains(r.Reasoning, "I look with [key]") {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(records[1].Fallback, "refused with status 400") || records[3].NextNode != "answer" || records[2].Message == "" {
		t.Errorf("%+v", records)
	}
	for _, private := range []string{requestKey, "Find auth logic", "Be brief", "private words", "crashes"} {
		if strings.Contains(fmt.Sprintf("%+v", records), private) {
			t.Errorf("%q is in %+v", private, records)
		}
	}
}

// A decision that ends with its request has the tokens of its answers, in its error and in its record.
func TestRecord_UsageOfFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := llmtest.Start(t, func(r llmtest.Request) llmtest.Turn {
		if r.N == 2 {
			cancel()
		}
		return llmtest.Turn{Calls: []llm.ToolCall{{Name: "fly"}}, Usage: llm.Usage{Input: 100, Output: 10}}
	})
	var record wire.LogRecord
	s, _ := newModelService(t, server, Options{Record: func(r *wire.LogRecord) { record = *r }})
	r, err := DecodeAgentIntent([]byte(withModel + "}"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Decide(ctx, r)
	if used := UsageOf(err); used == nil || used.Input < 100 || used.Output < 10 {
		t.Errorf("error %v with the usage %+v, want at least that of the first answer", err, used)
	}
	if record.Status != wire.StatusError || record.InputTokens < 100 || record.OutputTokens < 10 || record.Model != "gpt-x" {
		t.Errorf("record %+v, want the tokens of the first answer at least", record)
	}
}
