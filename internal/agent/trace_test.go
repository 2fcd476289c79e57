package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// asked runs an agent that answers one question, and returns the conversation
// after the agent has ended and all of its spans have been received.
func asked(t *testing.T, w *watched, opts agent.Options, question string) []protocol.Envelope {
	t.Helper()
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	opts.Telemetry, opts.OwnToolsOnly = w.Telemetry, true
	stop := employ(t, g, "planner", opts)
	all := conversation(t, alice, answerTo(ask(t, alice, question)))
	idle(t, alice, "planner") // it has received its own answer
	stop()
	w.end(t)
	return all
}

// thinking is a decider with a scripted model.
func thinking(t *testing.T, w *watched, turns ...llmtest.Turn) planner.Decider {
	t.Helper()
	server := llmtest.Start(t, llmtest.Turns(turns...))
	m, err := planner.Open(planner.Options{ModelName: "openai:scripted", BaseURL: server.URL(), Telemetry: w.Telemetry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// requestOf is the id of the request that contains a text.
func requestOf(t *testing.T, all []protocol.Envelope, text string) protocol.ID {
	t.Helper()
	for i := range all {
		if all[i].Kind == protocol.KindMCPRequest && strings.Contains(string(all[i].Payload), text) {
			return all[i].ID
		}
	}
	t.Fatalf("no request with %s in\n%s", text, script(all))
	return ""
}

func TestTrace_OneTree(t *testing.T) {
	w := watch(t)
	brain := thinking(t, w,
		llmtest.Turn{Text: "I look at both.", Calls: []llm.ToolCall{{Name: "read_text_file", Arguments: json.RawMessage(`{"path":"deploy.md"}`)}}},
		llmtest.Turn{Calls: []llm.ToolCall{{Name: "read_text_file", Arguments: json.RawMessage(`{"path":"nothing.md"}`)}}},
		llmtest.Turn{Text: "By the pipeline, says the hidden handbook."},
	)
	all := asked(t, w, agent.Options{Tools: tools(t, handbook), Planner: brain}, "how is it deployed, by the hidden question?")
	root := w.tree(t)
	want := "invoke_agent planner (plan planner (chat scripted), execute_tool read_text_file, " +
		"plan planner (chat scripted), execute_tool read_text_file, plan planner (chat scripted))"
	if got := root.outline(); got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	question, start := all[0].ID, all[1].ID
	about := func(operation string) map[string]string {
		return map[string]string{
			"gen_ai.operation.name": operation, "gen_ai.agent.name": "planner", "gen_ai.conversation.id": "lab",
			"meup.question": string(question), "meup.context": string(start),
		}
	}
	root.says(t, about("invoke_agent"))
	plan, first, second := root.within[0], root.within[1], root.within[3]
	plan.says(t, about("plan"))
	plan.says(t, map[string]string{"meup.decision.outcome": "use_tools", "meup.decision.source": "model"})
	root.within[4].says(t, map[string]string{"meup.decision.outcome": "finish"})
	plan.within[0].says(t, map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "scripted", "gen_ai.provider.name": "openai-compatible"})
	for span, call := range map[*branch]struct{ path, outcome, fault string }{first: {"deploy.md", "success", ""}, second: {"nothing.md", "error", "_OTHER"}} {
		span.says(t, about("execute_tool"))
		span.says(t, map[string]string{
			"gen_ai.tool.name": "read_text_file", "gen_ai.tool.call.id": string(requestOf(t, all, call.path)),
			"meup.outcome": call.outcome, "error.type": call.fault,
		})
	}
	if first.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR || second.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || second.Status.GetMessage() == "" {
		t.Errorf("the first tool's status is %v, the second's %v", first.Status, second.Status)
	}
	for _, said := range []string{"hidden", "Run the pipeline", "I look at both"} {
		if strings.Contains(w.sent.String(), said) {
			t.Errorf("the spans have %q in them", said)
		}
	}
}

func TestTrace_SubProblem(t *testing.T) {
	w := watch(t)
	asked(t, w, agent.Options{Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
		if s.Depth == 0 {
			return once(callOf(planner.Subproblem, `{"question":"is it safe?"}`))(ctx, s)
		}
		return planner.Decision{Action: contextwindow.Finish, Answer: "yes", Conclusion: "yes"}, nil
	})}, "shall we deploy?")
	root := w.tree(t)
	if got, want := root.outline(), "invoke_agent planner (plan planner, execute_tool subproblem (plan planner), plan planner)"; got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	call := root.within[1]
	attributes := fmt.Sprint(call.within[0].Attributes)
	for _, kv := range call.Attributes {
		if kv.Key == "meup.context" && strings.Contains(attributes, kv.Value.GetStringValue()+`"`) {
			t.Error("the part has the context of the whole")
		}
	}
}

// decisions are the events of the log, which contains nothing else.
func (w *watched) decisions(t *testing.T) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range strings.Lines(w.log.String()) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil || event["msg"] != "decision" {
			t.Fatalf("%v in the log: %s", err, line)
		}
		list = append(list, event)
	}
	return list
}

func TestTrace_Decisions(t *testing.T) {
	w := watch(t)
	all := asked(t, w, agent.Options{Tools: tools(t, handbook)}, "what is in the docs folder?")
	events := w.decisions(t)
	trace := w.tree(t).traceID()
	for i, event := range events {
		outcome := "use_tools"
		if i == len(events)-1 {
			outcome = "finish"
		}
		for key, want := range map[string]any{
			"level": "INFO", "space": "lab", "agent": "planner", "session": string(all[0].ID), "intent": string(all[1].ID),
			"source": "rules", "outcome": outcome, "trace_id": trace,
		} {
			if event[key] != want {
				t.Errorf("decision %d: %s is %v, want %v", i, key, event[key], want)
			}
		}
	}
	if chosen := fmt.Sprint(events[0]["tools"]); chosen != "[list_directory]" && chosen != "[list_allowed_directories]" {
		t.Errorf("the first decision chose %s", chosen)
	}
	page := w.metrics(t)
	for _, line := range []string{
		fmt.Sprintf(`meup_decisions_total{error_type="",model="",outcome="use_tools",provider="",source="rules"} %d`, len(events)-1),
		`meup_decisions_total{error_type="",model="",outcome="finish",provider="",source="rules"} 1`,
		`meup_decision_tools_total{tool="read_text_file"} 2`,
		fmt.Sprintf(`meup_plan_duration_seconds_count{error_type="",gen_ai_agent_name="planner"} %d`, len(events)),
		`gen_ai_invoke_agent_duration_seconds_count{error_type="",gen_ai_agent_name="planner"} 1`,
		`gen_ai_execute_tool_duration_seconds_count{error_type="",gen_ai_tool_name="read_text_file"} 2`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("no %s\n%s", line, w.log.String())
		}
	}
}

func TestTrace_FailedDecision(t *testing.T) {
	w := watch(t)
	asked(t, w, agent.Options{Planner: thinking(t, w, llmtest.Turn{Status: 403, Code: "no_credit", Message: "no credit"})}, "well?")
	root := w.tree(t)
	if got := root.outline(); got != "invoke_agent planner (plan planner (chat scripted))" {
		t.Fatal(got)
	}
	for _, span := range []*branch{root, root.within[0], root.within[0].within[0]} {
		span.says(t, map[string]string{"error.type": "403"})
		if span.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("%s has status %v", span.Name, span.Status)
		}
	}
	events := w.decisions(t)
	if len(events) != 1 || events[0]["error_type"] != "403" || events[0]["model"] != "scripted" {
		t.Errorf("decisions %v", events)
	}
	if line := `meup_decisions_total{error_type="403",model="scripted",outcome="",provider="openai-compatible",source=""} 1`; !strings.Contains(w.metrics(t), line) {
		t.Errorf("no %s", line)
	}
}

// Concatenated, so that no secret scanner reports it.
const secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"

func TestTrace_SecretsMasked(t *testing.T) {
	for name, planner := range map[string]agent.Planner{
		"a tool's name and its error": once(callOf("search_"+secret, `{"query":"x"}`)),
		"a decision's error": deciding(func(context.Context, planner.State) (planner.Decision, error) {
			return planner.Decision{}, errors.New("the key " + secret + " is wrong")
		}),
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			faulty := oneTool(t, "search_"+secret, func(context.Context) (string, error) { return "", errors.New("cannot use " + secret) })
			asked(t, w, agent.Options{Tools: faulty, Planner: planner}, "well?")
			for where, text := range map[string]string{"spans": w.sent.String(), "log": w.log.String(), "metrics": w.metrics(t)} {
				if strings.Contains(text, secret) {
					t.Errorf("the secret is in the %s", where)
				}
			}
			for where, text := range map[string]string{"spans": w.sent.String(), "log": w.log.String()} {
				if !strings.Contains(text, "[redacted:github-pat]") {
					t.Errorf("nothing was masked in the %s:\n%s", where, text)
				}
			}
		})
	}
}

// quoting is a tool whose calls fail with an error that contains a secret.
type quoting struct{ instantly }

func (quoting) Call(context.Context, string, json.RawMessage) (mcptools.Result, error) {
	return mcptools.Result{}, errors.New("cannot connect with " + secret)
}

func TestLog_SecretsMasked(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, space := join(t, g, "alice"), join(t, g, "planner")
	log := &watched{}
	a := agent.New(agent.Options{
		Space: space, OwnToolsOnly: true, Tools: quoting{}, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
			if len(s.Steps) > 0 {
				return planner.Decision{}, errors.New("the key " + secret + " is wrong")
			}
			return once(callOf("look", `{}`))(ctx, s)
		}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	all := conversation(t, alice, answerTo(ask(t, alice, "well?")))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if text := payloads(all); strings.Contains(text, secret) || strings.Contains(text, "cannot connect") {
		t.Errorf("the space is told\n%s", text)
	}
	said := log.log.String()
	for _, want := range []string{"cannot connect with [redacted:github-pat]", "the key [redacted:github-pat] is wrong"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, secret) {
		t.Errorf("the secret is in\n%s", said)
	}
}
