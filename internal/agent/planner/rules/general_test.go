package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestRules_EverythingServer(t *testing.T) {
	set, err := mcptools.Start(t.Context(), []mcptools.Server{{Command: []string{testkit.EverythingServer(t)}}}, mcptools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	for _, test := range []struct{ question, call, want string }{
		{"echo hello world", `echo {"message":"hello world"}`, "Echo: hello world"},
		{"Please echo “what is in the docs folder?” for me", `echo {"message":"what is in the docs folder?"}`, "docs folder"},
		{"What is the sum of 2 and 40?", `get-sum {"a":2,"b":40}`, "42"},
		{"add 2 and 40", `get-sum {"a":2,"b":40}`, "42"},
		{"2 + 40", `get-sum {"a":2,"b":40}`, "42"},
		{"What is -1.5 plus 1,000?", `get-sum {"a":-1.5,"b":1000}`, "998.5"},
		{"What is the weather in New York?", `get-structured-content {"location":"New York"}`, "temperature"},
		{"Show me an annotated message of type success", `get-annotated-message {"messageType":"success"}`, "success"},
		{"Give me 5 resource links", `get-resource-links {"count":5}`, ""},
	} {
		t.Run(test.question, func(t *testing.T) {
			steps, d := session(t, set, test.question, 0)
			if len(steps) != 1 || len(steps[0].Calls) != 1 || shownBare(steps[0].Calls) != test.call || !strings.Contains(d.Answer, test.want) {
				t.Errorf("%q: %s\n%s", test.question, d.Answer, trace(steps))
			}
		})
	}
	for _, question := range []string{"What is the sum of 2?", "What is the sum of 1, 2 and 3?", "Run the simulated research on cats", "toggle simulated logging"} {
		if steps, d := session(t, set, question, 0); strings.Contains(trace(steps), "get-sum") || strings.Contains(trace(steps), "simulat") || d.Answer == "" {
			t.Errorf("%q: %s\n%s", question, d.Answer, trace(steps))
		}
	}
}

func shownBare(calls []contextwindow.Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Tool+" "+string(c.Arguments))
	}
	return strings.Join(out, "\n")
}

const (
	termTool  = `{"type":"object","properties":{"term":{"type":"string"}},"required":["term"]}`
	queryTool = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`
	sumTool   = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"integer"}},"required":["a","b"]}`
)

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`

func record(index int, tool, args, result string) contextwindow.Record {
	return contextwindow.Record{
		Index: index, Action: contextwindow.UseTools,
		Calls:   []contextwindow.Call{{ID: fmt.Sprintf("r%d", index), Tool: tool, Arguments: json.RawMessage(args), Reason: "why"}},
		Results: []contextwindow.Result{{Tool: tool, Success: true, Text: result}},
	}
}

// rule returns the rules' calls and decision.
func rule(t *testing.T, s planner.State) (string, planner.Decision) {
	t.Helper()
	d, err := rules.Rules{}.Next(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return shownBare(d.Calls), d
}

func TestRules_GeneralTools(t *testing.T) {
	hinted := func(tool planner.Tool, readOnly bool) planner.Tool {
		tool.Hinted, tool.ReadOnly = true, readOnly
		return tool
	}
	for _, test := range []struct {
		question string
		tools    []planner.Tool
		want     string // tool and arguments; empty: finishes
	}{
		{"add 2 and 40", []planner.Tool{tool("add", sumTool)}, `add {"a":2,"b":40}`},
		{"add 2 and 4.5", []planner.Tool{tool("add", sumTool)}, ``}, // b is an integer
		{"add 2 and 40", []planner.Tool{hinted(tool("add", sumTool), false)}, ``},
		{"add 2 and 40", []planner.Tool{tool("add_points", sumTool)}, ``},
		{"3 * 4", []planner.Tool{tool("add", sumTool), tool("multiply", sumTool)}, `multiply {"a":3,"b":4}`},
		{"sum of 1, 2 and 3", []planner.Tool{tool("get_sum", sumTool)}, ``},
		{"sum of 1", []planner.Tool{tool("get_sum", sumTool)}, ``},
		{"research on cats", []planner.Tool{{Name: "long_operation", Description: "Does research for 10 seconds", InputSchema: json.RawMessage(`{}`)}}, ``},
		{"weather in Rio de Janeiro", []planner.Tool{tool("get_weather", `{"properties":{"city":{"type":"string"}},"required":["city"]}`)}, `get_weather {"city":"Rio de Janeiro"}`},
		{"fetch page https://example.org/a?b=c.", []planner.Tool{tool("fetch_page", `{"properties":{"url":{"type":"string","format":"uri"}},"required":["url"]}`)}, `fetch_page {"url":"https://example.org/a?b=c"}`},
		{"look up user, id: 0815", []planner.Tool{tool("get_user", `{"properties":{"id":{"type":"string"}},"required":["id"]}`)}, `get_user {"id":"0815"}`},
		{"translate `guten Tag` please", []planner.Tool{tool("translate", `{"properties":{"phrase":{"type":"string"},"to":{"const":"en"}},"required":["phrase","to"]}`)}, "translate {\"phrase\":\"guten Tag\",\"to\":\"en\"}"},
		{"status of the build", []planner.Tool{tool("build_status", `{"properties":{"verbose":{"type":"boolean"}},"required":["verbose"]}`)}, ``},
		{"status of the build", []planner.Tool{tool("build_status", `{"properties":{"verbose":{"type":"boolean","default":true}},"required":["verbose"]}`)}, `build_status {"verbose":true}`},
		{"find auth logic", []planner.Tool{tool("clock", `{}`), tool("context.fts_search", queryTool)}, `context.fts_search {"query":"auth logic"}`},
		{"what is it about?", []planner.Tool{tool("context.fts_search", queryTool)}, `context.fts_search {"query":"what is it about?"}`},
		{"hello", []planner.Tool{tool("context.fts_search", queryTool)}, ``},
		{"hello x", []planner.Tool{tool("context.fts_search", queryTool)}, ``},
		{"Find x", []planner.Tool{tool("context.fts_search", queryTool)}, `context.fts_search {"query":"x"}`},
		{"find it", []planner.Tool{tool("context.fts_search", queryTool)}, `context.fts_search {"query":"find it"}`},
		{"look it up", []planner.Tool{tool("context.fts_search", queryTool)}, `context.fts_search {"query":"look it up"}`},
		{"find a b in auth", []planner.Tool{tool("context.fts_search", queryTool)}, `context.fts_search {"query":"auth"}`},
		{"search project for TODOs", []planner.Tool{tool("context.fts_search", queryTool), tool("memory.search", queryTool)}, `context.fts_search {"query":"todos"}`},
		{"what is x", []planner.Tool{tool("context.fts_search", queryTool)}, `context.fts_search {"query":"x"}`},
		{"what is x?", []planner.Tool{{Name: "glossary", Description: "Looks up a term.", InputSchema: json.RawMessage(termTool)}}, `glossary {"term":"x"}`},
		{"find it", []planner.Tool{tool("list_directory", pathSchema), tool("read_file", pathSchema), tool("find_customer", queryTool)}, `find_customer {"query":"find it"}`},
		{"hello", []planner.Tool{tool("list_directory", pathSchema), tool("read_file", pathSchema), tool("find_customer", queryTool)}, ``},
		{"天気は？", []planner.Tool{tool("web_search", queryTool)}, `web_search {"query":"天気は"}`},
	} {
		t.Run(test.question, func(t *testing.T) {
			got, d := rule(t, planner.State{Question: test.question, Tools: test.tools})
			if got != test.want {
				t.Errorf("%q: %s, want %s", test.question, got, test.want)
			}
			if got == "" && d.Answer == "" || got != "" && d.Source != planner.ByRules {
				t.Errorf("%q: %+v", test.question, d)
			}
		})
	}
}

func TestRules_NoRepeatedSearch(t *testing.T) {
	s := planner.State{Question: "find auth logic", Tools: []planner.Tool{tool("context.fts_search", queryTool), tool("web_search", queryTool)}}
	s.Steps = []contextwindow.Record{record(0, "context.fts_search", `{ "query": "authentication" }`, "in auth.go")}
	if got, d := rule(t, s); got != "" || !strings.Contains(d.Answer, "in auth.go") {
		t.Errorf("%s %+v", got, d)
	}
	// A failed call is not repeated; another tool is tried.
	s.Steps[0] = record(0, "context.fts_search", `{ "query": "auth logic" }`, "")
	s.Steps[0].Results[0] = contextwindow.Result{Tool: "context.fts_search", Outcome: contextwindow.Rejected, Error: "no"}
	if got, d := rule(t, s); got != `web_search {"query":"auth logic"}` {
		t.Errorf("%s %+v", got, d)
	}
	s.Stuck = true
	if got, d := rule(t, s); got != "" || !strings.Contains(d.Answer, "failed: no") {
		t.Errorf("%s %+v", got, d)
	}
}

func TestRules_Stuck(t *testing.T) {
	s := planner.State{Question: "find auth logic", Stuck: true, Tools: []planner.Tool{tool("context.fts_search", queryTool)}}
	if got, d := rule(t, s); got != "" || d.Answer == "" {
		t.Errorf("%s %+v", got, d)
	}
	s.Steps = []contextwindow.Record{record(0, "other", `{}`, "in auth.go")}
	if got, d := rule(t, s); got != "" || !strings.Contains(d.Answer, "in auth.go") {
		t.Errorf("%s %+v", got, d)
	}
}

func TestRules_Forced(t *testing.T) {
	list := tool("list_directory", pathSchema)
	read := tool("read_file", pathSchema)
	write := tool("write_note", `{"properties":{"text":{"type":"string"}},"required":["text"]}`)
	write.Hinted = true
	odd := tool("get_user", `{"properties":{"user":{"type":"string"},"n":{"type":"number"}},"required":["user","n"]}`)
	tools := []planner.Tool{list, read, write, odd, tool("search_files", `{"properties":{"path":{"type":"string"},"pattern":{"type":"string"}},"required":["path","pattern"]}`), tool("context.fts_search", queryTool)}
	for _, test := range []struct{ forced, question, want, err string }{
		{"context.fts_search", "find auth logic", `context.fts_search {"query":"auth logic"}`, ""},
		{"context.fts_search", "hello", `context.fts_search {"query":"hello"}`, ""},
		{"list_directory", "what is here?", `list_directory {"path":"."}`, ""},
		{"read_file", "what does a.md say?", `read_file {"path":"docs/a.md"}`, ""},
		{"search_files", "where are the logs?", `search_files {"path":".","pattern":"**/*[lL]og*"}`, ""},
		{"write_note", "write_note: buy milk", `write_note {"text":"buy milk"}`, ""},
		{"get_user", "who is it?", "", "`user`, `n`"},
		{"get_user", "who is “Bo”, 7?", `get_user {"n":7,"user":"Bo"}`, ""},
		{"read_file", "what does it say?", "", "`path`"},
		{"nowhere", "x", "", `no tool "nowhere"`},
		{planner.Subproblem, "what is it?", `subproblem {"question":"what is it?"}`, ""},
	} {
		t.Run(test.forced+" "+test.question, func(t *testing.T) {
			s := planner.State{Question: test.question, Forced: test.forced, Tools: tools, MaxDepth: 1, MaxSteps: 1}
			s.Steps = []contextwindow.Record{record(0, "list_directory", `{"path":"docs"}`, "[FILE] a.md")}
			d, err := rules.Rules{}.Next(t.Context(), s)
			if test.err != "" {
				if !errors.Is(err, planner.ErrForced) || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s %q: %v", test.forced, test.question, err)
				}
				return
			}
			if err != nil || shownBare(d.Calls) != test.want || d.Source != planner.ByForce || d.Calls[0].Reason == "" {
				t.Errorf("%s %q: %v, %s, want %s", test.forced, test.question, err, shownBare(d.Calls), test.want)
			}
		})
	}
	if _, err := (rules.Rules{}).Next(t.Context(), planner.State{Question: "q", Forced: planner.Subproblem, Tools: tools}); !errors.Is(err, planner.ErrForced) {
		t.Errorf("beyond the depth: %v", err)
	}
}

func TestRules_DivideQuestion(t *testing.T) {
	tools := []planner.Tool{tool("context.fts_search", queryTool)}
	for _, test := range []struct {
		question string
		want     []string // questions of the parts
	}{
		{"Which port is it? Who gives me a badge?", []string{"Which port is it?", "Who gives me a badge?"}},
		{"1. Which port is it?\n2) Who gives me\n   a badge\n\nThanks.", []string{"Which port is it?", "Who gives me a badge"}},
		{"About networking.md: \n (1) the port\n (2) the timeout", []string{"About networking.md: the port", "About networking.md: the timeout"}},
		{"I read e.g. networking.md. Which port? What timeout?", []string{"I read e.g. networking.md. Which port?", "I read e.g. networking.md. What timeout?"}},
		{"What is a badge? and who has it?", []string{"What is a badge?", "What is a badge, and who has it?"}},
		{"哪个端口？谁给徽章？", []string{"哪个端口？", "谁给徽章？"}},
		{"Which port? Which port?", nil},
		{"Which port is it?", nil},
		{"Which port is it??!", nil},
		{"see http://x.org/?a=1 and say what it is?", nil},
		{"1. only one", nil},
		{strings.Repeat("what? why? ", 1) + strings.Repeat("a? b? c? d? e? f? g? h? i? ", 1), nil}, // too many
	} {
		t.Run(test.question, func(t *testing.T) {
			got, d := rule(t, planner.State{Question: test.question, Tools: tools, MaxDepth: 1})
			var want []string
			for _, q := range test.want {
				b, _ := json.Marshal(map[string]string{"question": q})
				want = append(want, "subproblem "+string(b))
			}
			if test.want == nil && strings.Contains(got, planner.Subproblem) || test.want != nil && got != strings.Join(want, "\n") {
				t.Errorf("%q\n%s\nwant\n%s", test.question, got, strings.Join(want, "\n"))
			}
			if got, _ := rule(t, planner.State{Question: test.question, Tools: tools, Depth: 1, MaxDepth: 1}); strings.Contains(got, planner.Subproblem) {
				t.Errorf("%q is divided beyond the depth: %s", test.question, got)
			}
			if test.want != nil && d.Thought == "" {
				t.Errorf("%q: no thought", test.question)
			}
		})
	}
}

func TestRules_JoinParts(t *testing.T) {
	s := planner.State{Question: "Which port? Who has badges? Why?", Tools: []planner.Tool{tool("context.fts_search", queryTool)}, MaxDepth: 1, MaxSteps: 2}
	_, d := rule(t, s)
	step := contextwindow.Record{Action: d.Action, Calls: d.Calls}
	for i := range d.Calls {
		step.Results = append(step.Results, contextwindow.Result{Tool: planner.Subproblem, Success: i != 1, Text: fmt.Sprintf("answer %d", i), Error: "all is lost"})
	}
	s.Steps = []contextwindow.Record{step}
	_, d = rule(t, s)
	if want := "### Which port?\n\nanswer 0\n\n### Who has badges?\n\nI have no answer to this: all is lost.\n\n### Why?\n\nanswer 2"; d.Answer != want || !strings.Contains(d.Conclusion, "2 of the 3") {
		t.Errorf("%q\n%s", d.Conclusion, d.Answer)
	}
	// One at a time, as with a service that returns one call per decision.
	s.Steps[0].Calls, s.Steps[0].Results = step.Calls[:1], step.Results[:1]
	if got, _ := rule(t, s); strings.Count(got, planner.Subproblem) != 2 {
		t.Errorf("calls %s", got)
	}
	s.MaxSteps = 1
	if got, d := rule(t, s); got != "" || strings.Count(d.Answer, "no time left") != 2 {
		t.Errorf("%s %s", got, d.Answer)
	}
	// If no part got an answer, the question is handled as a whole.
	s.MaxSteps, step.Results = 3, nil
	for range step.Calls {
		step.Results = append(step.Results, contextwindow.Result{Tool: planner.Subproblem, Error: "not allowed"})
	}
	s.Steps = []contextwindow.Record{step}
	if got, _ := rule(t, s); !strings.HasPrefix(got, "context.fts_search") {
		t.Errorf("calls %s", got)
	}
}

// A failing call is made twice at most; a call that was refused is not repeated.
func TestRules_Retries(t *testing.T) {
	tests := []struct {
		name    string
		results []contextwindow.Result
		again   bool
	}{
		{"succeeded", []contextwindow.Result{{Success: true, Text: "x"}}, false},
		{"failed", []contextwindow.Result{{Error: "no"}}, true},
		{"failed twice", []contextwindow.Result{{Error: "no"}, {Error: "no"}}, false},
		{"rejected", []contextwindow.Result{{Outcome: contextwindow.Rejected, Error: "no"}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := planner.State{Question: "find auth logic", Tools: []planner.Tool{tool("web_search", queryTool)}}
			for i, res := range test.results {
				step := record(i, "web_search", `{"query":"auth logic"}`, "")
				res.Tool = "web_search"
				step.Results[0] = res
				s.Steps = append(s.Steps, step)
			}
			if got, _ := rule(t, s); (got != "") != test.again {
				t.Errorf("calls %q", got)
			}
		})
	}
}
