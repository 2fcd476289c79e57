package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
)

// FuzzRules checks that the rules terminate without an error for any question.
func FuzzRules(f *testing.F) {
	f.Add("1. a\n2. b", `{"properties":{"a":{"type":"number"},"b":{"enum":["x",1]}},"required":["a"]}`)
	f.Add("add 2 and 40 “x” at Rome https://a?b", `{"properties":{"url":{"format":"uri"},"n":{"type":"integer"},"city":{}},"required":["url","n","city"]}`)
	f.Add("a? b? -1,000.5", `{"properties":{"message":{"type":"string"}},"required":["message"]}`)
	f.Fuzz(func(t *testing.T, question, schema string) {
		tools := []planner.Tool{{Name: "get_sum", InputSchema: json.RawMessage(schema)}, {Name: "add", InputSchema: json.RawMessage(schema)}, {Name: "read_file", InputSchema: json.RawMessage(schema)}, {Name: "search_files", InputSchema: json.RawMessage(schema)}}
		for _, forced := range []string{"", "add", "read_file"} {
			d, err := rules.Rules{}.Next(t.Context(), planner.State{Question: question, Tools: tools, MaxDepth: 1, Forced: forced})
			if forced == "" && err != nil {
				t.Fatal(err)
			}
			for _, c := range d.Calls {
				if c.Reason == "" || !json.Valid(c.Arguments) {
					t.Fatalf("%+v", c)
				}
			}
		}
	})
}
