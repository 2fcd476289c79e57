package rules_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/internal/testing/testkit"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// folder writes files and returns their folder.
func folder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var docs = map[string]string{
	"README.md":           "# Handbook\n\nStart here.\n",
	"deploy.md":           "# How to deploy\n\nRun the pipeline.\n\n## Rollback\n\nTo roll back, press the red button twice.\n",
	"networking.md":       "# Networking\n\nThe gateway listens on port 8080.\n\nTimeouts are 30 seconds.\n",
	"logo.png":            "\x89PNG",
	"guide/onboarding.md": "# Onboarding\n\nAsk Maria for a badge.\n",
	"guide/empty.txt":     "",
}

// session runs the planner with real tools until it finishes.
func session(t *testing.T, set *mcptools.Set, question string, maxSteps int, history ...llm.Message) ([]contextwindow.Record, planner.Decision) {
	t.Helper()
	var tools []planner.Tool
	for _, x := range set.Tools() {
		tools = append(tools, planner.Tool{Name: x.Name, Description: x.Description, InputSchema: x.InputSchema, ReadOnly: x.ReadOnly, Hinted: x.Hinted})
	}
	state := planner.State{Question: question, History: history, Tools: tools, MaxSteps: maxSteps}
	seen := make(map[string]bool)
	for {
		d, err := rules.Rules{}.Next(t.Context(), state)
		if err != nil {
			t.Fatal(err)
		}
		if d.Action == contextwindow.Finish {
			return state.Steps, d
		}
		step := contextwindow.Record{Index: len(state.Steps), Thought: d.Thought, Action: d.Action, Calls: d.Calls}
		for _, c := range d.Calls {
			if key := c.Tool + string(c.Arguments); seen[key] {
				t.Errorf("%s %s is called again", c.Tool, c.Arguments)
			} else {
				seen[key] = true
			}
			if c.Reason == "" {
				t.Errorf("%s %s has no reason", c.Tool, c.Arguments)
			}
			res, err := set.Call(t.Context(), c.Tool, c.Arguments)
			if err != nil {
				t.Fatalf("%s %s: %v", c.Tool, c.Arguments, err)
			}
			r := contextwindow.Result{Tool: c.Tool, Success: !res.IsError, Text: res.Text}
			if res.IsError {
				r.Text, r.Error = "", res.Text
			}
			step.Results = append(step.Results, r)
		}
		state.Steps = append(state.Steps, step)
		if len(state.Steps) > 20 {
			t.Fatal("it does not come to an end")
		}
	}
}

// servers starts servers of the folder: the project's own and, if it is
// installed, the reference implementation's.
func servers(t *testing.T, dir string) map[string]*mcptools.Set {
	t.Helper()
	own, closeDir, err := toolserver.NewDocuments(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeDir() })
	all := map[string]mcptools.Server{"docserver": {InProcess: own}}
	if path := testkit.FindFilesystemServer(); path != "" {
		all["server-filesystem"] = mcptools.Server{Command: []string{path, dir}}
	}
	sets := make(map[string]*mcptools.Set)
	for name, server := range all {
		set, err := mcptools.Start(t.Context(), []mcptools.Server{server}, mcptools.Options{StartTimeout: testkit.Patience, CallTimeout: testkit.Patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = set.Close() })
		sets[name] = set
	}
	return sets
}

func TestRules_AnswersFromFolder(t *testing.T) {
	sets := servers(t, folder(t, "docs", docs))
	for _, test := range []struct {
		question string
		want     []string // in the answer
		not      []string
		calls    string // a tool that must have been called
		quotes   bool   // a server that searches the text is asked for passages instead, and nothing else
	}{
		{"what is in the docs folder?", []string{"4 files and 1 folder", "`deploy.md`: How to deploy", "`guide` (folder)", "`logo.png`"}, []string{"Run the pipeline"}, "read_text_file", false},
		{"Which files are there?", []string{"`networking.md`: Networking"}, nil, "list_directory", false},
		{"list the guide folder", []string{"`onboarding.md`: Onboarding", "`empty.txt`"}, []string{"deploy.md"}, "list_directory", false},
		{"How do I roll back a deployment?", []string{"press the red button twice", "deploy.md"}, []string{"badge"}, "search_files", true},
		{"Which port does the gateway listen on?", []string{"port 8080", "networking.md"}, nil, "read_text_file", true},
		{"Who gives me a badge?", []string{"Ask Maria", "onboarding.md"}, nil, "read_text_file", true},
		{"show me networking.md", []string{"port 8080"}, []string{"badge"}, "read_text_file", false},
		{"what does onboarding.md say?", []string{"Ask Maria"}, nil, "search_files", false},
		{"Tell me about unicorns", []string{"nothing about “unicorns”"}, nil, "read_text_file", true},
		{"what does deploy.md say about a rollback?", []string{"press the red button twice"}, []string{"Run the pipeline"}, "read_text_file", true},
		{"what does guide/onboarding.md say about a badge?", []string{"Ask Maria", "onboarding.md"}, []string{"red button"}, "read_text_file", true},
		{"what does deploy.md say about unicorns?", []string{"`deploy.md` says nothing about “unicorns”"}, []string{"pipeline"}, "read_text_file", false},
		{"what is in nowhere.md?", []string{"nothing about “nowhere.md”"}, nil, "search_files", false},
		{"hello", []string{"Ask me"}, nil, "", false},
		{"find it", []string{"Ask me"}, nil, "", false},
		{"what is z", []string{"nothing about “z”"}, nil, "search_files", true},
		{"find z", []string{"nothing about “z”"}, nil, "search_files", true},
	} {
		t.Run(test.question, func(t *testing.T) {
			for name, server := range sets {
				steps, d := session(t, server, test.question, 0)
				for _, want := range test.want {
					if !strings.Contains(d.Answer, want) {
						t.Errorf("%s: %q: no %q in the answer\n%s\n%s", name, test.question, want, d.Answer, trace(steps))
					}
				}
				for _, not := range test.not {
					if strings.Contains(d.Answer, not) {
						t.Errorf("%s: %q: %q in the answer\n%s", name, test.question, not, d.Answer)
					}
				}
				calls := test.calls
				if name == "docserver" && test.quotes {
					calls = "read_passages"
				}
				if !strings.Contains(trace(steps), calls) || name == "docserver" && test.quotes && len(steps) != 1 {
					t.Errorf("%s: %q: %s was not called, or too much\n%s", name, test.question, calls, trace(steps))
				}
				if strings.Contains(d.Answer, "`/") {
					t.Errorf("%s: %q: an absolute path in the answer\n%s", name, test.question, d.Answer)
				}
				if d.Conclusion == "" || d.Confidence <= 0 || d.Confidence > 1 {
					t.Errorf("%s: %q: conclusion %q, confidence %g", name, test.question, d.Conclusion, d.Confidence)
				}
			}
		})
	}
}

func trace(steps []contextwindow.Record) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%d %s\n", s.Index, s.Thought)
		for i, c := range s.Calls {
			fmt.Fprintf(&b, "  %s %s: %s → %t %.60q\n", c.Tool, c.Arguments, c.Reason, s.Results[i].Success, s.Results[i].Text)
		}
	}
	return b.String()
}

func TestRules_Subfolder(t *testing.T) {
	dir := folder(t, "project", map[string]string{"main.go": "package main", "docs/deploy.md": "# How to deploy\n", "src/x.go": "package x"})
	for name, server := range servers(t, dir) {
		steps, d := session(t, server, "@helper what is in the docs folder?", 0)
		if !strings.Contains(d.Answer, "`deploy.md`: How to deploy") || strings.Contains(d.Answer, "main.go") {
			t.Errorf("%s: %s\n%s", name, d.Answer, trace(steps))
		}
	}
}

func TestRules_ReadsFilesTogether(t *testing.T) {
	server := servers(t, folder(t, "docs", docs))["docserver"]
	steps, _ := session(t, server, "what is in the docs folder?", 0)
	last := steps[len(steps)-1]
	if len(last.Calls) != 3 {
		t.Errorf("%d calls in the last step:\n%s", len(last.Calls), trace(steps))
	}
}

func TestRules_MaxSteps(t *testing.T) {
	server := servers(t, folder(t, "docs", docs))["docserver"]
	for limit := 1; limit < 4; limit++ {
		steps, d := session(t, server, "Tell me about unicorns", limit)
		if len(steps) > limit || d.Answer == "" {
			t.Errorf("limit %d: %d steps, answer %q", limit, len(steps), d.Answer)
		}
	}
}

func tool(name, schema string) planner.Tool {
	return planner.Tool{Name: name, Description: "Does " + name, InputSchema: json.RawMessage(schema)}
}

func TestRules_OtherTools(t *testing.T) {
	const query = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`
	for _, test := range []struct {
		question string
		tools    []planner.Tool
		want     string // tool and arguments; empty: finishes
	}{
		{"find auth logic", []planner.Tool{tool("context.fts_search", query)}, `context.fts_search {"query":"auth logic"}`},
		{"what is the weather in Paris?", []planner.Tool{tool("get_time", `{}`), tool("get_weather", query)}, `get_weather {"query":"weather paris"}`},
		{"what time is it?", []planner.Tool{tool("get_time", `{"type":"object"}`), tool("get_weather", query)}, `get_time {}`},
		{"what is the weather?", []planner.Tool{tool("get_time", `{}`)}, ""},
		{"delete the weather", []planner.Tool{tool("delete_weather", query)}, ""},
		{"weather", []planner.Tool{tool("weather", `{"properties":{"lat":{"type":"number"}},"required":["lat"]}`)}, ""},
		{"weather", nil, ""},
	} {
		t.Run(test.question, func(t *testing.T) {
			d, err := rules.Rules{}.Next(t.Context(), planner.State{Question: test.question, Tools: test.tools})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if d.Action == contextwindow.UseTools {
				got = d.Calls[0].Tool + " " + string(d.Calls[0].Arguments)
			}
			if got != test.want {
				t.Errorf("%q: %q, want %q", test.question, got, test.want)
			}
			if got == "" && d.Answer == "" {
				t.Errorf("%q: neither a call nor an answer", test.question)
			}
		})
	}
}

func TestRules_UnsafeTools(t *testing.T) {
	write := tool("search_files", `{"properties":{"path":{"type":"string"},"pattern":{"type":"string"}}}`)
	write.Hinted = true // and not read-only
	d, err := rules.Rules{}.Next(t.Context(), planner.State{Question: "search_files unicorns", Tools: []planner.Tool{write}})
	if err != nil || d.Action != contextwindow.Finish || !strings.Contains(d.Answer, "left alone 1 tool") {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestRules_ReportsFailures(t *testing.T) {
	tools := []planner.Tool{
		tool("list_directory", `{"properties":{"path":{"type":"string"}},"required":["path"]}`),
		tool("read_text_file", `{"properties":{"path":{"type":"string"}},"required":["path"]}`),
	}
	state := planner.State{Question: "what is in the docs folder?", Tools: tools}
	for range 10 {
		d, err := rules.Rules{}.Next(t.Context(), state)
		if err != nil {
			t.Fatal(err)
		}
		if d.Action == contextwindow.Finish {
			if !strings.Contains(d.Answer, "`list_directory` failed: not allowed") || d.Confidence > 0.3 {
				t.Errorf("answer %q, confidence %g", d.Answer, d.Confidence)
			}
			return
		}
		step := contextwindow.Record{Calls: d.Calls}
		for _, c := range d.Calls {
			step.Results = append(step.Results, contextwindow.Result{Tool: c.Tool, Error: "not allowed"})
		}
		state.Steps = append(state.Steps, step)
	}
	t.Error("it does not give up")
}

// A call whose outcome is unknown is made again only if its tool reads; any
// other is reported.
func TestRules_UnknownOutcome(t *testing.T) {
	object := func(name string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"` + name + `":{"type":"string"}},"required":["` + name + `"]}`)
	}
	tools := []planner.Tool{
		{Name: "list_directory", InputSchema: object("path"), ReadOnly: true, Hinted: true},
		{Name: "read_text_file", InputSchema: object("path"), ReadOnly: true, Hinted: true},
		{Name: "write_file", InputSchema: object("path"), Hinted: true},
	}
	call := func(tool string) contextwindow.Call {
		return contextwindow.Call{Tool: tool, Arguments: json.RawMessage(`{"path":"notes.md"}`)}
	}
	unknown := contextwindow.Result{Outcome: contextwindow.Unknown, Error: "outcome unknown"}
	s := planner.State{Question: "What is in notes.md?", Tools: tools, Steps: []contextwindow.Record{{
		Action: contextwindow.UseTools, Calls: []contextwindow.Call{call("read_text_file"), call("write_file")},
		Results: []contextwindow.Result{unknown, unknown},
	}}}
	seen := make(map[string]bool)
	for range 4 {
		d, err := rules.Rules{}.Next(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Action == contextwindow.Finish {
			if !seen["read_text_file"] || seen["write_file"] || !strings.Contains(d.Answer, "`write_file` was called before a restart, and its outcome is unknown") ||
				strings.Contains(d.Answer, "`read_text_file` was called") {
				t.Errorf("called %v; answer %s", seen, d.Answer)
			}
			return
		}
		r := contextwindow.Record{Index: len(s.Steps), Action: d.Action, Calls: d.Calls}
		for _, c := range d.Calls {
			seen[c.Tool] = true
			r.Results = append(r.Results, contextwindow.Result{Tool: c.Tool, Success: true, Text: "# Notes"})
		}
		s.Steps = append(s.Steps, r)
	}
	t.Fatal("no answer")
}
