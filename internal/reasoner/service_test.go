package reasoner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// sequentialIDs returns a generator of predictable ids.
const example = `{"session_id":"s1","persona":{},"goal_text":"search project for TODOs"}`

func sequentialIDs() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint(n) }
}

func decide(t *testing.T, s *Service, body string) (*wire.AgentIntentResponse, error) {
	t.Helper()
	r, err := DecodeAgentIntent([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	out, err := s.Decide(t.Context(), r)
	if err == nil {
		checkSchema(t, "agent_intent.response", out)
	}
	return out, err
}

// TestPublishedExample checks the response to the example of the specification.
func TestPublishedExample(t *testing.T) {
	s := New(Options{NewID: sequentialIDs(), Now: func() time.Time { return time.Unix(0, 0) }})
	out, err := decide(t, s, example)
	if err != nil {
		t.Fatal(err)
	}
	if out.Status != "ok" || out.IntentID != "agent-1" || out.ToolName != "context.fts_search" ||
		string(out.ToolArgs) != `{"query":"search project for TODOs"}` || out.Finish || out.Reasoning == "" || len(out.Trace) == 0 {
		t.Errorf("%+v", out)
	}
}

const searchTools = `"tools":[{"name":"context.fts_search","inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}},
	{"name":"list_directory","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},
	{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]`

func TestRules(t *testing.T) {
	for name, test := range map[string]struct {
		body        string
		tool, args  string
		final, step string
	}{
		"search is favoured": {
			body: `{"session_id":"s","goal_text":"Find auth logic",` + searchTools + `}`,
			tool: wire.SearchTool, args: `{"query":"Find auth logic"}`, step: "rules",
		},
		"a dash does not exclude a word": {
			body: `{"session_id":"s","goal_text":"- Find --auth logic in x-y -- now",` + searchTools + `}`,
			tool: wire.SearchTool, args: `{"query":"Find auth logic in x-y  now"}`, step: "rules",
		},
		"no results of the agent's memory": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":[
				{"tool_name":"context.fts_search","tool_args":{"query":"auth"},"result":"No results: no envelope has any of the words.\n"}]}`,
			final: "found nothing", step: "rules",
		},
		"a word of one letter": {
			body: `{"session_id":"s","goal_text":"Find x"}`, tool: wire.SearchTool, args: `{"query":"Find x"}`, step: "rules",
		},
		"a search that names nothing": {
			body: `{"session_id":"s","goal_text":"find it"}`, tool: wire.SearchTool, args: `{"query":"find it"}`, step: "rules",
		},
		"an own tool for a search that names nothing": {
			body: `{"session_id":"s","goal_text":"find it","tools":[{"name":"find_customer","description":"","inputSchema":{"properties":{"query":{"type":"string"}},"required":["query"]}}]}`,
			tool: "find_customer", args: `{"query":"find it"}`, step: "rules",
		},
		"an own tool for a word of one letter": {
			body: `{"session_id":"s","goal_text":"what is x","tools":[{"name":"glossary","description":"Looks up a term","inputSchema":{"properties":{"term":{"type":"string"}},"required":["term"]}}]}`,
			tool: "glossary", args: `{"term":"x"}`, step: "rules",
		},
		"nothing is asked": {
			body: `{"session_id":"s","goal_text":"Hello!"}`, final: "Hello", step: "rules",
		},
		"results end the search": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":[
				{"tool_name":"context.fts_search","tool_args":{"query":"auth"},"result":[{"path":"lib/auth.rb","chunk":"def authenticate"}]}]}`,
			final: "- `lib/auth.rb`: def authenticate", step: "rules",
		},
		"results of a runtime that nests them": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":[
				{"action":{"action":"tool","tool_name":"context.fts_search","args":{"query":"auth"}},
				 "output":{"content":[{"type":"text","text":"{\"results\":[{\"file\":\"a.rb\",\"snippet\":\"x\"}]}"}]}}]}`,
			final: "- `a.rb`: x", step: "rules",
		},
		"results that are words": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":[
				{"tool":"context.fts_search","args":{"query":"auth"},"output":"see lib/auth.rb"}]}`,
			final: "> see lib/auth.rb", step: "rules",
		},
		"a search that found nothing is not repeated": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":[
				{"tool":"context.fts_search","args":{"query":"auth"},"output":{"results":[]}}]}`,
			final: "found nothing", step: "rules",
		},
		"nor one that failed": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":[
				{"tool":"context.fts_search","args":{"query":"auth"},"error":"index is gone"}]}`,
			final: "failed: index is gone", step: "rules",
		},
		"other tools follow a search that found nothing": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":[
				{"tool":"context.fts_search","args":{"query":"auth"},"output":[]}],` + searchTools + `}`,
			tool: "list_directory", args: `{"path":"."}`, step: "rules",
		},
		"a sentence is no search": {
			body: `{"session_id":"s","goal_text":"Find auth logic","history":["The user is in a hurry.",{"role":"user","content":"quick"}]}`,
			tool: wire.SearchTool, args: `{"query":"Find auth logic"}`, step: "rules",
		},
		"max_steps": {
			body:  `{"session_id":"s","goal_text":"Find auth logic","max_steps":2,"history":[{"tool":"grep","args":{},"error":"none"},"a",{"tool":"grep","args":{},"error":"none"}]}`,
			final: "found nothing for “Find auth logic”", step: "rules",
		},
		"max_steps are calls, not sentences": {
			body: `{"session_id":"s","goal_text":"Find auth logic","max_steps":2,"history":["a",{"role":"user","content":"b"},{"role":"assistant","content":"c"}]}`,
			tool: wire.SearchTool, args: `{"query":"Find auth logic"}`, step: "rules",
		},
		"max_steps with results": {
			body:  `{"session_id":"s","goal_text":"Find auth logic","max_steps":1,"history":[{"tool":"grep","args":{},"result":"auth.rb:1"}]}`,
			final: "`grep` says:\n\n> auth.rb:1", step: "rules",
		},
		"stuck before any search": {
			body: `{"session_id":"s","goal_text":"Find auth logic","agent_state":{"stuck":true},"history":[{"tool":"grep","args":{},"error":"none"}]}`,
			tool: wire.SearchTool, args: `{"query":"Find auth logic"}`, step: "rules",
		},
		"stuck": {
			body:  `{"session_id":"s","goal_text":"Find auth logic","agent_state":{"stuck":true},"history":[{"tool":"context.fts_search","args":{"query":"Find auth logic"},"result":[]}],` + searchTools + `}`,
			final: "nothing", step: "rules",
		},
		"forced": {
			body: `{"session_id":"s","goal_text":"Find auth logic","forced_tool":"context.fts_search"}`,
			tool: wire.SearchTool, args: `{"query":"Find auth logic"}`, step: "forced_tool",
		},
		"forced beyond max_steps": {
			body: `{"session_id":"s","goal_text":"read lib/auth.rb","forced_tool":"read_file","max_steps":1,"history":[{"tool":"grep","args":{},"error":"none"}],` + searchTools + `}`,
			tool: "read_file", args: `{"path":"lib/auth.rb"}`, step: "forced_tool",
		},
		"forced without a schema": {
			body: `{"session_id":"s","goal_text":"Find auth logic","forced_tool":"mystery"}`,
			tool: "mystery", args: `{}`, step: "forced_tool",
		},
		"forced with arguments that no goal tells": {
			body: `{"session_id":"s","goal_text":"do it","forced_tool":"move","tools":[{"name":"move","inputSchema":{"type":"object",
				"properties":{"count":{"type":"integer"},"mode":{"const":"fast"}},"required":["count","mode"]}}]}`,
			tool: "move", args: `{"mode":"fast"}`, step: "forced_tool",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := decide(t, New(Options{}), test.body)
			if err != nil {
				t.Fatal(err)
			}
			if out.ToolName != test.tool || string(out.ToolArgs) != test.args || out.Finish != (test.tool == "") ||
				!strings.Contains(out.FinalText, test.final) || out.Reasoning == "" || out.Trace[0].Step != test.step {
				t.Errorf("%+v %s", out, out.ToolArgs)
			}
		})
	}
}

func TestForcedTool_Unknown(t *testing.T) {
	_, err := decide(t, New(Options{}), `{"session_id":"s","goal_text":"g","forced_tool":"fly",`+searchTools+`}`)
	var f *Fault
	if !errors.As(err, &f) || f.Status != 422 || f.Code != CodeUnknownTool || f.Path != "/forced_tool" {
		t.Fatalf("%v", err)
	}
}

func TestDecide_CanceledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := New(Options{}).Decide(ctx, &wire.AgentIntentRequest{SessionID: "s", GoalText: "find x"})
	if !errors.Is(err, context.Canceled) || out != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := New(Options{}).Workflow(ctx, &wire.WorkflowIntentRequest{RunID: "r"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestInstructions(t *testing.T) {
	r, err := DecodeAgentIntent([]byte(`{"session_id":"s","goal_text":"g","instructions":"Be brief.",
		"persona":{"name":"savant-engineer","traits":["careful",{"voice":"dry"}]},"rules":{"must":"cite\nfiles","never":null},
		"driver":{},"memory_state":{"seen":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "## Instructions\n\nBe brief.\n\n## Who you are\n\n" + `{"name":"savant-engineer","traits":["careful",{"voice":"dry"}]}` +
		"\n\n## Rules\n\n" + `{"must":"cite\nfiles","never":null}` + "\n\n## What you remember\n\n" + `{"seen":2}` + "\n\n## What happened before\n\n- It rained."
	if got := instructions(r, []string{"It rained."}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	r.Persona = []byte(`["` + strings.Repeat("x", 1<<20) + `"]`)
	if n := len(instructions(r, nil)); n > maxPrompt+10 {
		t.Errorf("%d bytes", n)
	}
}

func TestHistory_Bounds(t *testing.T) {
	items := make([]wire.HistoryItem, 2000)
	for i := range items {
		items[i] = []byte(`{"tool":"t","args":{"n":` + fmt.Sprint(i) + `},"result":"r"}`)
	}
	p := readHistory(items)
	if len(p.steps) != maxSteps || p.stepCount != len(items) || !strings.Contains(string(p.steps[maxSteps-1].Calls[0].Arguments), "1999") {
		t.Errorf("%d steps", len(p.steps))
	}
}

// TestHistory_WholeResults: readHistory does not shorten results.
func TestHistory_WholeResults(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	p := readHistory([]wire.HistoryItem{
		[]byte(`{"tool":"t","result":"` + long + `"}`),
		[]byte(`{"tool":"t","error":"` + long + `"}`),
		[]byte(`{"tool":"t","result":{"content":[{"text":"` + long + `"}],"isError":true}}`),
	})
	if p.steps[0].Results[0].Text != long || p.steps[1].Results[0].Error != long || p.steps[2].Results[0].Error != long {
		t.Error("a result was cut")
	}
}

func TestIsEmptyResult(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " \n": true, "[]": true, "null": true, "{}": true, `{"results":[],"total":0}`: true, `{"a":"","b":[]}`: true,
		"No results for x": true, "[1]": false, "0": false, "x": false, `{"a":1}`: false, `{"hits":[{}]}`: false,
	} {
		t.Run(text, func(t *testing.T) {
			if got := isEmptyResult(text); got != want {
				t.Errorf("%q: %v", text, got)
			}
		})
	}
}

// FuzzDecide: any input is either rejected or answered with a response that
// conforms to the schema.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(`{"session_id":"s1","persona":{},"goal_text":"search project for TODOs"}`))
	f.Add([]byte(`{"session_id":"s","goal_text":"Find x","history":[{"tool":"context.fts_search","output":{"content":[{"text":"a"}]}},"x",{"role":"user","content":"y"}],"max_steps":3}`))
	f.Add([]byte(`{"session_id":"s","goal_text":"go","forced_tool":"t","tools":[{"name":"t","inputSchema":{"properties":{"q":{}},"required":["q","n"]}}]}`))
	s := New(Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := DecodeAgentIntent(raw)
		if err == nil {
			var out *wire.AgentIntentResponse
			out, err = s.Decide(t.Context(), r)
			if err == nil {
				checkSchema(t, "agent_intent.response", out)
				return
			}
		}
		var fault *Fault
		if !errors.As(err, &fault) || fault.Status < 400 || fault.Status > 499 || fault.Message == "" {
			t.Errorf("%v", err)
		}
	})
}

func TestSearch_Failed(t *testing.T) {
	service := New(Options{})
	for _, state := range []*wire.AgentState{nil, {Stuck: true}} {
		resp, err := service.Decide(t.Context(), &wire.AgentIntentRequest{
			SessionID: "s1", GoalText: "find TODOs", AgentState: state,
			History: []wire.HistoryItem{[]byte(`{"tool_name":"context.fts_search","tool_args":{"query":"find TODOs"},"error":"timeout"}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !resp.Finish || resp.FinalText != "The search for “find TODOs” failed: timeout" {
			t.Errorf("finish %t: %q", resp.Finish, resp.FinalText)
		}
	}
}
