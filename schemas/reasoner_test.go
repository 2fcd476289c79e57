package schemas

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestReasonerFiles: every file has a description, and accepts its own
// examples.
func TestReasonerFiles(t *testing.T) {
	names, err := fs.Glob(files, "reasoner/*"+suffix)
	if err != nil || len(names) != len(reasoner()) || len(names) < 9 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			Schema      string `json:"$schema"`
			ID          string `json:"$id"`
			Title       string
			Description string
			Examples    []json.RawMessage
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if head.Schema == "" || head.ID != base+name || head.Title == "" || head.Description == "" || len(head.Examples) == 0 {
			t.Errorf("%s: needs $schema, its $id, title, description and examples", name)
		}
		for _, example := range head.Examples {
			if err := Document(strings.TrimSuffix(name, suffix), example); err != nil {
				t.Errorf("%s: example %s: %v", name, example, err)
			}
		}
	}
}

// TestPublishedExamples: the examples of the Reasoning API's specification, and
// the placeholders that its published client sends for unknown values.
func TestPublishedExamples(t *testing.T) {
	for _, text := range []string{
		`{"session_id":"s1","persona":{},"goal_text":"search project for TODOs"}`,
		`{"session_id":"s1","persona":{"name":"savant-engineer"},"goal_text":"Find auth logic","history":[]}`,
		`{"session_id":"s1","persona":{},"goal_text":"List Makefile targets"}`,
		`{"session_id":"s1","persona":null,"driver":null,"rules":null,"instructions":null,"llm":null,"repo_context":null,
		  "memory_state":null,"history":null,"goal_text":"x","forced_tool":null,"max_steps":null,"agent_state":null,
		  "callback_url":null,"correlation_id":null,"tools":null}`,
		`{"session_id":"s1","goal_text":"x","agent_state":{"stuck":true,"current_state":"SEARCHING"},"of_tomorrow":[1]}`,
	} {
		if err := Document("reasoner/agent_intent.request", []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	answer := `{"status":"ok","intent_id":"agent-1","tool_name":"context.fts_search","tool_args":{"query":"search project for TODOs"},"finish":false}`
	if err := Document("reasoner/agent_intent.response", []byte(answer)); err != nil {
		t.Error(err)
	}
}

func TestReasonerFaults(t *testing.T) {
	for _, test := range []struct {
		schema  string
		text    string
		path    string
		message string
		syntax  bool
	}{
		{"agent_intent", ``, "", "not JSON", true},
		{"agent_intent", `{"session_id":"s","goal_text":"a","goal_text":"b"}`, "/goal_text", "not JSON", true},
		{"agent_intent", strings.Repeat("[", 1000), "", "not JSON", true},
		{"agent_intent", `[]`, "", "expected an object, got array", false},
		{"agent_intent", `{"session_id":"s"}`, "/goal_text", "lacks /goal_text: add what the agent is to do, in words: at most 100,000 characters.", false},
		{"agent_intent", `{"session_id":"s","goal_text":""}`, "/goal_text", "not empty", false},
		{"agent_intent", `{"session_id":"s","goal_text":7}`, "/goal_text", "expected a string, got number", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","persona":"me"}`, "/persona", "expected an object or null, got string", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","history":[{},7]}`, "/history/1", "an object or a string, got number", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","max_steps":-1}`, "/max_steps", "from 0 to", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","max_steps":1e999999999}`, "/max_steps", "from 0 to 1000000", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","tools":[{}]}`, "/tools/0/name", "lacks /tools/0/name", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","agent_state":{"stuck":"yes"}}`, "/agent_state/stuck", "a boolean or null", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","llm":{"api_key":5}}`, "/llm/api_key", "a string or null", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","llm":{"base_url":"http://x"}}`, "/llm/base_url", "for the service's operator to say", false},
		{"agent_intent", `{"session_id":"s","goal_text":"g","llm":{"endpoint":"http://x"}}`, "/llm/endpoint", "for the service's operator to say", false},
		{"agent_intent_cancel", `{}`, "/correlation_id", "lacks /correlation_id", false},
		{"agent_intent_cancel", `{"correlation_id":""}`, "/correlation_id", "not empty", false},
		{"workflow_intent", `{"run_id":"r","workflow_name":"w"}`, "/current_node", "lacks /current_node", false},
		{"workflow_intent", `{"run_id":"r","workflow_name":"w","current_node":"","params":{"workflow":{"nodes":[]}}}`, "/params/workflow/nodes", "not empty", false},
		{"workflow_intent", `{"run_id":"r","workflow_name":"w","current_node":"","params":{"workflow":{"nodes":[{"id":"a"}],"edges":[{"from":"a"}]}}}`, "/params/workflow/edges/0/to", "lacks", false},
	} {
		err := Document("reasoner/"+test.schema+".request", []byte(test.text))
		var fault *Fault
		if !errors.As(err, &fault) {
			t.Errorf("%.80s: %v", test.text, err)
			continue
		}
		pathOK := fault.Path == test.path || test.syntax
		if !pathOK || fault.Syntax != test.syntax || !strings.Contains(fault.Message, test.message) {
			t.Errorf("%.80s: at %q: %s", test.text, fault.Path, fault.Message)
		}
	}
}

// FuzzReasonerDocuments: every input is checked without a panic.
func FuzzReasonerDocuments(f *testing.F) {
	f.Add([]byte(`{"session_id":"s1","persona":{},"goal_text":"search project for TODOs"}`))
	f.Add([]byte(`{"run_id":"r","workflow_name":"w","current_node":"a","params":{"workflow":{"nodes":[{"id":"a","when":["x"]}]}}}`))
	f.Add([]byte(`{"session_id":"s","goal_text":"g","max_steps":1e999999999}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name := range reasoner() {
			var fault *Fault
			if err := Document("reasoner/"+name, raw); err != nil && (!errors.As(err, &fault) || fault.Message == "") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func BenchmarkAgentIntent(b *testing.B) {
	raw := []byte(`{"session_id":"s1","persona":{},"goal_text":"search project for TODOs"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Document("reasoner/agent_intent.request", raw); err != nil {
			b.Fatal(err)
		}
	}
}
