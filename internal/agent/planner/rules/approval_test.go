package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
)

// A person decides about one read at a time, about none after a rejection, and about none
// that the answer can do without.
func TestRules_ReadsNeedApproval(t *testing.T) {
	const pathParameter = `{"properties":{"path":{"type":"string"}},"required":["path"]}`
	approved := contextwindow.Result{Outcome: contextwindow.Fulfilled, Text: "Nothing of interest."}
	for name, test := range map[string]struct {
		question string
		read     contextwindow.Result // of each read
		want     string               // numbers of reads in each step
		answer   string
	}{
		"a listing": {"what is in the docs folder?", approved, "", "`.` holds 3 files"},
		"a search":  {"how do I roll back?", approved, "1 1 1", "I read 3 files"},
		"a rejection": {
			"how do I roll back?", contextwindow.Result{Outcome: contextwindow.Rejected, Error: "rejected by alice: unsafe"}, "1",
			"I could not look into “roll back”.\n\nNot everything worked:\n\n- `read_text_file` failed: rejected by alice: unsafe.",
		},
		"named files": {"compare a.md with b.md", approved, "2", "From `b.md`"},
	} {
		t.Run(name, func(t *testing.T) {
			read := tool("read_text_file", pathParameter)
			read.NeedsApproval = true
			state := planner.State{Question: test.question, Tools: []planner.Tool{tool("list_directory", pathParameter), read}}
			got := ""
			for {
				d, err := rules.Rules{}.Next(t.Context(), state)
				if err != nil {
					t.Fatal(err)
				}
				if d.Action == contextwindow.Finish {
					if strings.TrimSpace(got) != test.want || !strings.Contains(d.Answer, test.answer) || strings.Contains(d.Thought, " 0 ") {
						t.Errorf("reads %q, thought %q, answer\n%s", got, d.Thought, d.Answer)
					}
					return
				}
				step := contextwindow.Record{Calls: d.Calls}
				reads := 0
				for _, c := range d.Calls {
					if c.Tool == "list_directory" {
						step.Results = append(step.Results, contextwindow.Result{Success: true, Text: "[FILE] a.md\n[FILE] b.md\n[FILE] c.md"})
						continue
					}
					reads++
					step.Results = append(step.Results, test.read)
				}
				if reads > 0 {
					got += fmt.Sprint(reads, " ")
				}
				state.Steps = append(state.Steps, step)
			}
		})
	}
}

// A read that the answer can do without is not made again, and no failure of the question.
func TestRules_OptionalReads(t *testing.T) {
	const pathParameter = `{"properties":{"path":{"type":"string"}},"required":["path"]}`
	state := planner.State{
		Question: "what is in the docs folder?", Tools: []planner.Tool{tool("list_directory", pathParameter), tool("read_text_file", pathParameter)},
		Steps: []contextwindow.Record{record(0, "list_directory", `{"path":"."}`, "[FILE] a.md")},
	}
	_, d := rule(t, state)
	if len(d.Calls) != 1 || d.Calls[0].Tool != "read_text_file" || !d.Calls[0].Optional {
		t.Fatalf("calls %+v", d.Calls)
	}
	state.Steps = append(state.Steps, contextwindow.Record{Calls: d.Calls, Results: []contextwindow.Result{{Outcome: contextwindow.Refused, Error: "not allowed"}}})
	_, d = rule(t, state)
	if d.Answer != "`.` holds 1 file:\n\n- `a.md`" || d.Confidence != 0.95 {
		t.Errorf("%+v", d)
	}
}
