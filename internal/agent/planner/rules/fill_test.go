package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
)

func TestFill(t *testing.T) {
	for name, test := range map[string]struct{ goal, schema, args, missing string }{
		"search":              {"find auth logic", queryTool, `{"query":"find auth logic"}`, ""},
		"optional search":     {"find auth logic", `{"properties":{"task":{"type":"string"}}}`, `{"task":"find auth logic"}`, ""},
		"file":                {"read lib/auth.rb now", pathSchema, `{"path":"lib/auth.rb"}`, ""},
		"optional file":       {"read lib/auth.rb", `{"properties":{"path":{},"query":{}},"required":["query"]}`, `{"path":"lib/auth.rb","query":"read lib/auth.rb"}`, ""},
		"no file":             {"read it", pathSchema, `{}`, "path"},
		"the only text":       {"say it", `{"properties":{"phrase":{"type":"string"},"to":{"const":"en"}},"required":["phrase","to"]}`, `{"phrase":"say it","to":"en"}`, ""},
		"one of two texts":    {"say it", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`, `{}`, "a b"},
		"default":             {"go on", `{"properties":{"n":{"type":"integer","default":3}},"required":["n"]}`, `{"n":3}`, ""},
		"a number too large":  {"what about port 5433", `{"properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":50}},"required":["query"]}`, `{"query":"what about port 5433"}`, ""},
		"a number too small":  {"why 0 errors", `{"properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":50}},"required":["query"]}`, `{"query":"why 0 errors"}`, ""},
		"a number that fits":  {"the 5 newest", `{"properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":50}},"required":["query"]}`, `{"limit":5,"query":"the 5 newest"}`, ""},
		"without a schema":    {"go on", ``, `{}`, ""},
		"not for the rules":   {"go on", `{"properties":{"mode":{"enum":["x"]},"n":{"type":"number"}},"required":["mode","n"]}`, `{}`, "mode n"},
		"the schema is wrong": {"go on", `[]`, `{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args, missing := rules.Fill(&planner.Tool{Name: "t", InputSchema: json.RawMessage(test.schema)}, test.goal, test.goal)
			if string(args) != test.args || strings.Join(missing, " ") != test.missing {
				t.Errorf("%s, missing %q", args, missing)
			}
		})
	}
}
