package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

func TestModel_OfferedTools(t *testing.T) {
	tools := []planner.Tool{
		tool("a.b", `{"type":"object","properties":{"z":{"type":"string"},"a":{}},"required":["z"]}`),
		tool("a_b", ``),
		tool("a b", `{"properties":{"rationale":{"type":"string"}}}`),
		tool(strings.Repeat("é", 90), `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","anyOf":[{"required":["x"]}],"properties":{"x":{}}}`),
		tool("a_b", `{"type":"object"}`), // a second one
		tool("remote", `{"$ref":"http://127.0.0.1:1/x"}`),
		tool("local", `{"$ref":"file:///etc/passwd"}`),
		tool("broken", `{"type":12}`),
	}
	_, model := decide(t, planner.State{Tools: tools, MaxDepth: 1}, text("Nothing."))
	offered := make(map[string]llm.Tool)
	var names []string
	for _, x := range model.asked[0].Tools {
		offered[x.Name] = x
		names = append(names, x.Name)
	}
	if len(names) != 5 || names[0] != planner.Subproblem || !strings.HasPrefix(names[1], "a_b_") || names[2] != "a_b" || !strings.HasPrefix(names[3], "a_b_") || names[4] != "tool" {
		t.Errorf("names %q", names)
	}
	const why = `{"type":"string","description":"one sentence for people: why this call now"}`
	for i, want := range map[int]string{
		1: `{"properties":{"rationale":` + why + `,"z":{"type":"string"},"a":{}},"required":["rationale","z"],"type":"object"}`,
		2: `{"properties":{"rationale":` + why + `},"required":["rationale"],"type":"object"}`,
		3: `{"properties":{"meup_rationale":` + why + `,"rationale":{"type":"string"}},"required":["meup_rationale"],"type":"object"}`,
		4: `{"properties":{"rationale":` + why + `,"x":{}},"required":["rationale"],"type":"object"}`,
	} {
		if got := string(offered[names[i]].InputSchema); got != want {
			t.Errorf("schema of %s\n%s\nwant\n%s", names[i], got, want)
		}
	}
	if d := offered["tool"].Description; !strings.Contains(d, `{"anyOf":[{"required":["x"]}]}`) {
		t.Errorf("description %q", d)
	}
}

func TestModel_SubproblemDepth(t *testing.T) {
	for depth, want := range []bool{true, true, false} {
		_, model := decide(t, planner.State{Depth: depth, MaxDepth: 2}, text("Nothing."))
		got := slices.ContainsFunc(model.asked[0].Tools, func(x llm.Tool) bool { return x.Name == planner.Subproblem })
		if got != want {
			t.Errorf("depth %d: offered %t", depth, got)
		}
	}
	d, _ := decide(t, planner.State{MaxDepth: 1}, calls("", `subproblem {"question":"And b?","rationale":"Apart."}`))
	if shown(d.Calls) != `subproblem {"question":"And b?"} Apart.` {
		t.Errorf("calls %s", shown(d.Calls))
	}
}

func TestModel_OwnRationaleParameter(t *testing.T) {
	own := tool("decide", `{"type":"object","properties":{"rationale":{"type":"string"}},"required":["rationale"]}`)
	d, _ := decide(t, planner.State{Tools: []planner.Tool{own}}, calls("", `decide {"rationale":"theirs","meup_rationale":"ours"}`))
	if shown(d.Calls) != `decide {"rationale":"theirs"} ours` {
		t.Errorf("calls %s", shown(d.Calls))
	}
}
