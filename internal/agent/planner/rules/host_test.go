package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
)

// A path that one host lists is never passed to a tool of another host.
func TestRules_PathsPerHost(t *testing.T) {
	const question = "Which port does the gateway listen on?"
	tests := []struct {
		name     string
		question string
		own      []string // tools of the first host
		want     string   // host of all calls
	}{
		{"both hosts have all file tools", question, []string{"list_allowed_directories", "list_directory", "read_text_file", "search_files"}, "own"},
		{"the first host reads under another name", question, []string{"list_directory", "read_file"}, "own"},
		{"the first host can only list", question, []string{"list_allowed_directories", "list_directory"}, "files"},
		{"the first host can only read", question, []string{"read_text_file"}, "files"},
		{"the question names a file", "what does networking.md say?", []string{"list_allowed_directories", "list_directory", "read_text_file"}, "own"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hosts := map[string]*mcptools.Set{"own": serveFolder(t, "docs"), "files": serveFolder(t, "shared")}
			target := make(map[string]string)
			state := planner.State{Question: test.question, MaxSteps: 8}
			add := func(host, name, calls string) {
				target[name] = calls
				for _, x := range hosts[host].Tools() {
					if x.Name == calls {
						state.Tools = append(state.Tools, planner.Tool{Name: name, InputSchema: x.InputSchema, ReadOnly: true, Hinted: true, Host: host})
					}
				}
			}
			for _, name := range test.own {
				add("own", name, strings.Replace(name, "read_file", "read_text_file", 1))
			}
			for _, x := range hosts["files"].Tools() {
				add("files", "files__"+x.Name, x.Name)
			}
			for range 20 {
				d, err := rules.Rules{}.Next(t.Context(), state)
				if err != nil {
					t.Fatal(err)
				}
				if d.Action == contextwindow.Finish {
					if !strings.Contains(d.Answer, "port 8080") {
						t.Errorf("answer %q", d.Answer)
					}
					return
				}
				step := contextwindow.Record{Index: len(state.Steps), Action: d.Action, Calls: d.Calls}
				for _, c := range d.Calls {
					host := "own"
					if strings.HasPrefix(c.Tool, "files__") {
						host = "files"
					}
					if host != test.want {
						t.Errorf("%s %s is called", c.Tool, c.Arguments)
					}
					step.Results = append(step.Results, result(t, hosts[host], target[c.Tool], c.Arguments))
				}
				state.Steps = append(state.Steps, step)
			}
			t.Fatal("no answer")
		})
	}
}

func serveFolder(t *testing.T, name string) *mcptools.Set {
	t.Helper()
	server, closeDir, err := toolserver.NewDocuments(folder(t, name, docs), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeDir() })
	set, err := mcptools.Start(t.Context(), []mcptools.Server{{InProcess: server}}, mcptools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

func result(t *testing.T, set *mcptools.Set, tool string, args json.RawMessage) contextwindow.Result {
	t.Helper()
	res, err := set.Call(t.Context(), tool, args)
	switch {
	case err != nil:
		return contextwindow.Result{Tool: tool, Error: err.Error()}
	case res.IsError:
		return contextwindow.Result{Tool: tool, Error: res.Text}
	}
	return contextwindow.Result{Tool: tool, Success: true, Text: res.Text}
}
