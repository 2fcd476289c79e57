package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

var weather = []llm.Tool{
	{Name: "get_weather", Description: "The weather of a place.", InputSchema: json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}`)},
	{Name: "get_time"},
}

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.ToolResult, CallID: id, Text: text}
}

// TestRequests compares the bodies of requests with golden files.
func TestRequests(t *testing.T) {
	thought := llm.ProviderState{Provider: "anthropic", Data: json.RawMessage(
		`[{"type":"thinking","thinking":"a < b","signature":"c2ln+/=="},{"type":"redacted_thinking","data":"ZGF0YQ=="},` +
			`{"type":"text","text":"Both."},{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"location":"Oslo"}},` +
			`{"type":"tool_use","id":"toolu_2","name":"get_time","input":{}}]`)}
	calls := []llm.ToolCall{call("toolu_1", "get_weather", `{"location":"Oslo"}`), call("toolu_2", "get_time", ``)}
	conversation := []llm.Message{
		{Role: llm.System, Text: "You are an agent."},
		{Role: llm.System, Text: " "},
		{Role: llm.System, Text: "Answer in Markdown."},
		{Role: llm.User, Text: "Hello."},
		{Role: llm.User, Text: "How is it in Oslo, and how late?"},
		{Role: llm.Assistant, Text: "Both.", Calls: calls, Opaque: thought},
		{Role: llm.User, Text: "Quickly, please."},
		result("toolu_1", "-3 °C & snow"),
		{Role: llm.ToolResult, CallID: "toolu_2", Text: "no clock", IsError: true},
	}
	for name, req := range map[string]struct {
		model string
		llm.Request
	}{
		"simple":       {"claude-sonnet-5-5", llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hello."}}}},
		"conversation": {"claude-opus-5-5", llm.Request{Messages: conversation, Tools: weather, Effort: "high"}},
		"other_provider": {"claude-opus-4-6", llm.Request{Tools: weather, MaxTokens: 1000, Messages: []llm.Message{
			{Role: llm.Assistant, Text: "Earlier.", Opaque: llm.ProviderState{Provider: "openai", Data: json.RawMessage(`{"reasoning_content":"x"}`)}},
			{Role: llm.Assistant, Calls: []llm.ToolCall{call("call_1", "get_time", `"not an object"`), call("call_2", "get_time", `{"a":`)}},
			result("call_1", ""), result("call_2", "bad arguments"),
		}}},
		"budget":             {"claude-haiku-4-5", llm.Request{Messages: conversation, Tools: weather, Effort: "medium", MaxTokens: 4000}},
		"budget_no_thinking": {"claude-haiku-4-5", llm.Request{Messages: withoutOpaque(conversation), Tools: weather, Effort: "medium", MaxTokens: 4000}},
		"forced_always":      {"claude-sonnet-5-5", llm.Request{Messages: conversation, Tools: weather, Choice: "get_time"}},
		"forced_by_default":  {"claude-opus-5", llm.Request{Messages: conversation, Tools: weather, Choice: "get_time"}},
		"forced_budget":      {"claude-haiku-4-5", llm.Request{Messages: conversation, Tools: weather, Choice: llm.Required, Effort: "low"}},
		"none":               {"claude-opus-4-8", llm.Request{Messages: conversation, Tools: weather, Choice: llm.None, Effort: "low"}},
		"schema":             {"claude-sonnet-5-5", llm.Request{Messages: conversation[:4], Effort: "low", Schema: json.RawMessage(`{"type":"object"}`)}},
		"choice_no_tools":    {"claude-opus-4-8", llm.Request{Messages: conversation[:4], Choice: llm.Required}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "request_"+name+".json", build(req.model, defaultMaxTokens, req.Request, true))
		})
	}
}

func TestWithoutThinking(t *testing.T) {
	body := build("claude-opus-5-5", defaultMaxTokens, llm.Request{Effort: "low", Schema: json.RawMessage(`{}`)}, true)
	if c := withoutThinking(body).OutputConfig; c == nil || c.Effort != "" || c.Format == nil {
		t.Errorf("got %+v, want the format alone", c)
	}
	if c := withoutThinking(build("claude-opus-5-5", defaultMaxTokens, llm.Request{Effort: "low"}, true)).OutputConfig; c != nil {
		t.Errorf("got %+v, want none", c)
	}
}

func withoutOpaque(in []llm.Message) []llm.Message {
	out := append([]llm.Message(nil), in...)
	for i := range out {
		out[i].Opaque = llm.ProviderState{}
	}
	return out
}

// TestOpaque_ChangedTurn checks that blocks that do not match the message are not
// sent.
func TestOpaque_ChangedTurn(t *testing.T) {
	own := json.RawMessage(`[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"tool_use","id":"a","name":"x","input":{}},{"type":"tool_use","id":"b","name":"x","input":{}}]`)
	for name, m := range map[string]llm.Message{
		"a call was taken out":   {Calls: []llm.ToolCall{call("a", "x", "{}")}, Opaque: llm.ProviderState{Provider: provider, Data: own}},
		"the calls have new ids": {Calls: []llm.ToolCall{call("c", "x", "{}"), call("d", "x", "{}")}, Opaque: llm.ProviderState{Provider: provider, Data: own}},
		"not an array":           {Text: "hm", Opaque: llm.ProviderState{Provider: provider, Data: json.RawMessage(`{"type":"thinking"}`)}},
		"not JSON":               {Text: "hm", Opaque: llm.ProviderState{Provider: provider, Data: json.RawMessage(`[`)}},
		"not blocks":             {Text: "hm", Opaque: llm.ProviderState{Provider: provider, Data: json.RawMessage(`[1]`)}},
		"empty":                  {Text: "hm", Opaque: llm.ProviderState{Provider: provider, Data: json.RawMessage(`[]`)}},
	} {
		m.Role = llm.Assistant
		got := conversation([]llm.Message{{Role: llm.User, Text: "?"}, m}, true)
		if len(got) != 2 || hasThinking(got) || strings.Contains(string(llm.Marshal(got)), "signature") {
			t.Errorf("%s: sent %s", name, llm.Marshal(got))
		}
	}
}

func TestThinkingModes(t *testing.T) {
	for name, want := range map[string]thinkingMode{
		"claude-haiku-4-5": byBudget, "claude-haiku-4-5-20251001": byBudget, "claude-sonnet-4-5-20250929": byBudget,
		"claude-opus-4-20250514": byBudget, "claude-opus-4-1-20250805": byBudget, "claude-opus-4-5": byBudget,
		"claude-3-7-sonnet-20250219": byBudget, "claude-2.1": byBudget, "claude-instant-1.2": byBudget,
		"claude-opus-4-6": onRequest, "claude-sonnet-4-6": onRequest, "claude-opus-4-7": onRequest, "claude-opus-4-8": onRequest,
		"anthropic/claude-opus-4.6": onRequest, "us.anthropic.claude-opus-4-6-v1": onRequest,
		"claude-opus-5": byDefault, "claude-sonnet-5": byDefault, "claude-haiku-5-5": byDefault,
		"claude-opus-5-5": always, "claude-sonnet-5-5": always, "claude-fable-5": always, "claude-fable-5-1": always,
		"claude-mythos-5": always, "claude-mythos-preview": always,
		"claude-opus-6": always, "claude-sonnet-10-1-20301231": always, "claude-novel-7": always, "claude-sonnet-latest": always,
		"deepseek-v4-pro": byBudget, "MiniMax-M3": byBudget, "": byBudget,
	} {
		if got := thinkingModeOf(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

// TestBuild_ForcedExcludesThinking checks that no request combines a forced call
// with thinking, and that every budget is below max_tokens.
func TestBuild_ForcedExcludesThinking(t *testing.T) {
	for _, model := range []string{"claude-haiku-4-5", "claude-opus-4-6", "claude-opus-5", "claude-haiku-5-5", "claude-opus-5-5", "other"} {
		for _, choice := range []llm.ToolChoice{llm.Auto, llm.None, llm.Required, "get_time"} {
			for _, effort := range []string{"", "low", "medium", "high"} {
				for _, tokens := range []int{0, 1, 100_000} {
					req := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "?"}}, Tools: weather, Choice: choice, Effort: effort, MaxTokens: tokens}
					exclude(t, model, build(model, defaultMaxTokens, req, true), req)
				}
			}
		}
	}
}

func exclude(t *testing.T, model string, r request, req llm.Request) {
	t.Helper()
	how := thinkingModeOf(model)
	forced := r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool")
	thinks := r.Thinking != nil && r.Thinking.Type != "disabled" || r.Thinking == nil && how >= byDefault
	if forced && thinks {
		t.Errorf("%s: %s", model, llm.Marshal(r))
	}
	if r.Thinking != nil && r.Thinking.BudgetTokens > 0 && (r.Thinking.BudgetTokens < 1024 || r.Thinking.BudgetTokens >= r.MaxTokens) {
		t.Errorf("%s: budget %d of %d", model, r.Thinking.BudgetTokens, r.MaxTokens)
	}
	if want := req.MaxTokens; r.MaxTokens < want || r.MaxTokens <= 0 {
		t.Errorf("%s: max_tokens %d", model, r.MaxTokens)
	}
	if r.OutputConfig != nil && (how == byBudget || r.OutputConfig.Effort != req.Effort) {
		t.Errorf("%s: effort %s", model, llm.Marshal(r))
	}
}

func TestStops(t *testing.T) {
	for reason, want := range map[string]llm.Stop{
		"end_turn": llm.StopEnd, "stop_sequence": llm.StopEnd, "tool_use": llm.StopTools, "max_tokens": llm.StopLength,
		"model_context_window_exceeded": llm.StopLength, "refusal": llm.StopRefusal, "pause_turn": llm.StopOther, "": llm.StopOther, "new": llm.StopOther,
	} {
		if got := stopOf(reason); got != want {
			t.Errorf("%q: got %s, want %s", reason, got, want)
		}
	}
}
