package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/schemas"
)

// checkResponse validates a response that has what its service adds.
func checkResponse(t *testing.T, out *wire.WorkflowIntentResponse) {
	t.Helper()
	full := *out
	full.Status, full.IntentID = wire.StatusOK, "wf-1"
	if full.Trace == nil {
		full.Trace = []wire.TraceItem{}
	}
	raw, err := json.Marshal(full)
	if err == nil {
		err = schemas.Document("reasoner/workflow_intent.response", raw)
	}
	if err != nil {
		t.Errorf("%s: %v", raw, err)
	}
}

const review = `{"start":"test","nodes":[
	{"id":"test","type":"tool","tool":"ci.run","args":{"ref":"{{params.branch}}","note":"run {{params.branch}} of {{memory.who}}","all":["{{outputs.test.failed}}"],"n":1e2}},
	{"id":"gate","when":"outputs.test.slow","type":"human","next":"merge"},
	{"id":"merge","type":"tool","tool":"git.merge","args":{"ref":"{{params.branch}}","failed":"{{ outputs.test.failed }}"},"next":"end"},
	{"id":"fix","type":"human"},
	{"id":"alone"},
	{"id":"end","type":"end"}],
	"edges":[
	{"from":"test","to":"gate","when":["outputs.test.passed == true","outputs.test.failed.0 != \"x\""]},
	{"from":"test","to":"fix","when":"outputs.test.failed contains \"lint\""}]}`

func ask(t *testing.T, current, outputs, params string) string {
	t.Helper()
	return fmt.Sprintf(`{"run_id":"r","workflow_name":"w","current_node":%q,"outputs":%s,"params":%s,"memory_state":{"who":"ada"}}`, current, outputs, params)
}

func TestWorkflow(t *testing.T) {
	for _, test := range []struct {
		name, current, outputs string
		next, action, args     string
		finish                 bool
		reason                 string
	}{
		{"begins", "", `{"test":{"failed":[2]}}`, "test", "tool", `{"all":[[2]],"n":1e2,"note":"run main of ada","ref":"main"}`, false, "begins with `test`"},
		{"follows an edge", "test", `{"test":{"passed":true,"failed":["y"],"slow":1}}`, "gate", "human", "", false, "since `outputs.test.passed == true` and"},
		{"passes a node over", "test", `{"test":{"passed":true,"failed":[],"slow":0}}`, "merge", "tool", `{"failed":[],"ref":"main"}`, false, "`merge` follows `gate`"},
		{"takes the next edge", "test", `{"test":{"passed":false,"failed":["lint"]}}`, "fix", "human", "", false, "contains"},
		{"no condition holds", "test", `{"test":{"passed":false,"failed":[]}}`, "", "", "", true, "None of the conditions after `test` holds"},
		{"reaches the end", "merge", `{}`, "end", "end", "", true, "`end` follows `merge`"},
		{"stands at the end", "end", `{}`, "", "", "", true, "Nothing follows `end`"},
		{"nothing follows", "alone", `null`, "", "", "", true, "Nothing follows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := DecodeWorkflow([]byte(ask(t, test.current, test.outputs, `{"branch":"main","workflow":`+review+`}`)))
			if err != nil {
				t.Fatal(err)
			}
			out, err := nextNode(t.Context(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkResponse(t, out)
			if out.NextNode != test.next || out.ActionType != test.action || string(out.ToolArgs) != test.args ||
				(out.ToolName != "") != (test.action == "tool") || out.Finish != test.finish || !strings.Contains(out.Reasoning, test.reason) {
				t.Errorf("%+v %s", out, out.ToolArgs)
			}
		})
	}
}

func TestWorkflow_WithoutDefinition(t *testing.T) {
	for params, want := range map[string]string{`{"next":"b"}`: "b", `{}`: "", `null`: "", `{"workflow":null,"next":null}`: ""} {
		r, err := DecodeWorkflow([]byte(ask(t, "a", `{}`, params)))
		if err != nil {
			t.Fatal(err)
		}
		out, err := nextNode(t.Context(), r, nil)
		if err != nil || out.NextNode != want || out.Finish != (want == "") || out.Reasoning == "" {
			t.Errorf("%s: %+v, %v", params, out, err)
		}
	}
}

func TestWorkflow_Faults(t *testing.T) {
	many := strings.Repeat(`{"from":"a","to":"a","when":"params.no"},`, maxChecks+1)
	long := strings.Repeat("{{params.long}}", 1000)
	for name, test := range map[string]struct{ current, workflow, code, path string }{
		"unknown node":      {"z", `{"nodes":[{"id":"a"}]}`, CodeUnknownNode, "/current_node"},
		"unknown next":      {"a", `{"nodes":[{"id":"a","next":"z"}]}`, CodeUnknownNode, "/params/workflow/nodes/0/next"},
		"unknown start":     {"", `{"start":"z","nodes":[{"id":"a"}]}`, CodeUnknownNode, "/params/workflow/start"},
		"edge from nowhere": {"a", `{"nodes":[{"id":"a"}],"edges":[{"from":"z","to":"a"}]}`, CodeUnknownNode, "/params/workflow/edges/0/from"},
		"edge to nowhere":   {"a", `{"nodes":[{"id":"a"}],"edges":[{"from":"a","to":"z"}]}`, CodeUnknownNode, "/params/workflow/edges/0/to"},
		"twins":             {"a", `{"nodes":[{"id":"a"},{"id":"a"}]}`, CodeInvalidRequest, "/params/workflow/nodes/1/id"},
		"circle":            {"a", `{"nodes":[{"id":"a","next":"b"},{"id":"b","next":"c","when":"params.no"},{"id":"c","next":"b","when":"params.no"}]}`, CodeInvalidRequest, "/params/workflow"},
		"condition":         {"a", `{"nodes":[{"id":"a","next":"b"},{"id":"b","when":"rm -rf"}]}`, CodeInvalidRequest, "/params/workflow"},
		"operator":          {"a", `{"nodes":[{"id":"a","next":"b"},{"id":"b","when":"params.x ~ 1"}]}`, CodeInvalidRequest, "/params/workflow"},
		"operand":           {"a", `{"nodes":[{"id":"a","next":"b"},{"id":"b","when":"params.x == y"}]}`, CodeInvalidRequest, "/params/workflow"},
		"no operator":       {"a", `{"nodes":[{"id":"a","next":"b"},{"id":"b","when":"!params.x == 1"}]}`, CodeInvalidRequest, "/params/workflow"},
		"missing value":     {"a", `{"nodes":[{"id":"a","next":"b"},{"id":"b","tool":"t","args":{"x":"a {{outputs.no.more}}"}}]}`, CodeMissingValue, "/outputs/no/more"},
		"too many checks":   {"a", `{"nodes":[{"id":"a"}],"edges":[` + many + `{"from":"a","to":"a"}]}`, CodeInvalidRequest, "/params/workflow"},
		"too long":          {"a", `{"nodes":[{"id":"a","next":"b"},{"id":"b","tool":"t","args":{"x":"` + long + `"}}]}`, CodeTooLarge, "/params/workflow"},
	} {
		t.Run(name, func(t *testing.T) {
			params := `{"x":1,"long":"` + strings.Repeat("y", 10_000) + `","workflow":` + test.workflow + `}`
			r, err := DecodeWorkflow([]byte(ask(t, test.current, `{}`, params)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = nextNode(t.Context(), r, nil)
			var f *Fault
			if !errors.As(err, &f) || f.Status != 400 || f.Code != test.code || f.Path != test.path || len(f.Message) > 1000 {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestWorkflow_ExactNames: only the fields that the schema validated are read.
func TestWorkflow_ExactNames(t *testing.T) {
	workflow := `{"nodes":[{"id":"a","ID":"b","Tool":"rm","When":"params.no"}],"Nodes":[],"Start":"z","Edges":[{"from":"z"}]}`
	r, err := DecodeWorkflow([]byte(ask(t, "", `{}`, `{"workflow":`+workflow+`}`)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := nextNode(t.Context(), r, nil)
	if err != nil || out.NextNode != "a" || out.ToolName != "" {
		t.Fatalf("%+v, %v", out, err)
	}
}

func TestConditions(t *testing.T) {
	v := &values{all: map[string]any{"params": decoded([]byte(`{"n":2,"big":10000000000000000000000,"s":"abc","e":"","t":true,"f":false,"z":0,"l":[1,"a",{"k":null}],"o":{"k":1},"null":null}`))}}
	for text, want := range map[string]bool{
		"params.n": true, "params.z": false, "params.s": true, "params.e": false, "params.t": true, "params.f": false, "params.l": true,
		"params.o": true, "params.null": false, "params.no": false, "!params.no": true, "!params.n": false, " params.n ": true,
		"params.n == 2": true, "params.n == 2.0": true, "params.n != 3": true, "params.n < 3": true, "params.n <= 2": true, "params.n > 2": false, "params.n >= 2": true,
		"params.s > 1": false, "params.no < 1": false, "params.big > 1e3": true,
		`params.s == "abc"`: true, `params.s == "b c"`: false, `params.s contains "bc"`: true, `params.s contains 1`: false,
		"params.null == null": true, "params.no == null": true, "params.t == true": true, "params.t == \"true\"": false, "params.n == \"2\"": false,
		"params.l contains 1": true, `params.l contains {"k":null}`: true, "params.l contains 2": false, `params.o contains "k"`: true,
		`params.l == [1,"a",{"k":null}]`: true, `params.l == [1]`: false, `params.l.2.k == null`: true, "params.l.9": false, "params.l.-1": false, "params.l.x": false,
		`params.o == {"k":1.0}`: true, `params.o == {"k":2}`: false, "params.n == [2]": false, "params.s.x": false,
	} {
		t.Run(text, func(t *testing.T) {
			got, err := holdsOne(text, v)
			if err != nil || got != want {
				t.Errorf("%s: %v, %v", text, got, err)
			}
		})
	}
}

// FuzzWorkflow: any input is either rejected or answered with a response that
// conforms to the schema.
func FuzzWorkflow(f *testing.F) {
	f.Add([]byte(`{"run_id":"r","workflow_name":"w","current_node":"","outputs":{"test":{"failed":[1]}},"params":{"branch":"m","workflow":` + review + `},"memory_state":{"who":1}}`))
	f.Add([]byte(`{"run_id":"r","workflow_name":"w","current_node":"","params":{"workflow":{"nodes":[{"id":"a"}],"Nodes":[]}}}`))
	f.Add([]byte(`{"run_id":"r","workflow_name":"w","current_node":"a","params":{"next":"b"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := DecodeWorkflow(raw)
		if err == nil {
			out, err := nextNode(t.Context(), r, nil)
			if err == nil {
				checkResponse(t, out)
				return
			}
		}
		var fault *Fault
		if err != nil && (!errors.As(err, &fault) || fault.Status < 400 || fault.Status > 499) {
			t.Errorf("%v", err)
		}
	})
}

const triageWorkflow = `{"nodes":[
	{"id":"read","decide":"model","next":%s},
	{"id":"fix","description":"a defect","tool":"edit","args":{}},{"id":"answer"},{"id":"never","when":"params.no"},{"id":"urgent"}],
	"edges":[{"from":"read","to":"fix","description":"something is broken"},{"from":"read","to":"answer"},{"from":"read","to":"answer"},
	{"from":"read","to":"never"},{"from":"read","to":"urgent","when":"outputs.read.urgent"}]}`

// next asks for the node after read, with a chooser that chooses an option by
// its id and records the choice.
func next(t *testing.T, workflow, outputs string, choose workflowChooser) (*wire.WorkflowIntentResponse, error) {
	t.Helper()
	r, err := DecodeWorkflow([]byte(ask(t, "read", outputs, `{"workflow":`+workflow+`}`)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := nextNode(t.Context(), r, choose)
	if err == nil {
		checkResponse(t, out)
	}
	return out, err
}

// TestBranch_Model: where no condition decides, the chooser chooses among the
// edges without a condition whose nodes may be entered.
func TestBranch_Model(t *testing.T) {
	var got workflowChoice
	out, err := next(t, fmt.Sprintf(triageWorkflow, "null"), `{"read":{"urgent":false}}`, func(_ context.Context, c workflowChoice) (workflowChosen, error) {
		got = c
		return workflowChosen{Index: 0, Reason: "It is broken.", Trace: []wire.TraceItem{{Step: "llm"}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "{read [{fix something is broken a defect edit} {answer  }]}"
	if fmt.Sprint(got) != want || out.NextNode != "fix" || out.ToolName != "edit" || !strings.Contains(out.Reasoning, "The model chose `fix` after `read`: It is broken.") {
		t.Errorf("%v, %+v", got, out)
	}
	if n := len(out.Trace); n != 3 || out.Trace[n-1].Step != "llm" {
		t.Errorf("%+v", out.Trace)
	}
}

// TestBranch_Condition: the chooser is not asked if a condition decides, or if
// there is nothing to choose.
func TestBranch_Condition(t *testing.T) {
	never := func(context.Context, workflowChoice) (workflowChosen, error) {
		t.Error("asked")
		return workflowChosen{}, nil
	}
	for name, test := range map[string]struct{ workflow, outputs, next string }{
		"condition":   {fmt.Sprintf(triageWorkflow, "null"), `{"read":{"urgent":1}}`, "urgent"},
		"one option":  {`{"nodes":[{"id":"read","decide":"model"},{"id":"a"}],"edges":[{"from":"read","to":"a"}]}`, `{}`, "a"},
		"own next":    {`{"nodes":[{"id":"read","decide":"model","next":"a"},{"id":"a"}]}`, `{}`, "a"},
		"no options":  {`{"nodes":[{"id":"read","decide":"model"}]}`, `{}`, ""},
		"not allowed": {`{"nodes":[{"id":"read"},{"id":"a"},{"id":"b"}],"edges":[{"from":"read","to":"a"},{"from":"read","to":"b"}]}`, `{}`, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := next(t, test.workflow, test.outputs, never)
			if err != nil || out.NextNode != test.next || out.Finish != (test.next == "") {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
}

// TestBranch_Undecided: without a choice the node's own next follows, or the
// request is rejected.
func TestBranch_Undecided(t *testing.T) {
	fails := func(context.Context, workflowChoice) (workflowChosen, error) {
		return workflowChosen{}, errors.New("m gave no answer")
	}
	for name, test := range map[string]struct {
		choose workflowChooser
		status int
		want   string
	}{
		"no model":     {nil, 422, "there is no model"},
		"model failed": {fails, 503, "m gave no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := next(t, fmt.Sprintf(triageWorkflow, "null"), `{}`, test.choose)
			var f *Fault
			if !errors.As(err, &f) || f.Status != test.status || f.Code != CodeUndecided || !strings.Contains(f.Message, test.want) {
				t.Errorf("%v", err)
			}
			out, err := next(t, fmt.Sprintf(triageWorkflow, `"answer"`), `{}`, test.choose)
			if err != nil || out.NextNode != "answer" || out.Trace[len(out.Trace)-1].Step != "fallback" || !strings.Contains(out.Trace[len(out.Trace)-1].Detail, test.want) {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
}

// TestBranch_Bounds: too many options and too many choices are rejected.
func TestBranch_Bounds(t *testing.T) {
	var nodes, edges []string
	for i := range maxOptions + 1 {
		nodes = append(nodes, fmt.Sprintf(`{"id":"n%d"}`, i))
		edges = append(edges, fmt.Sprintf(`{"from":"read","to":"n%d"}`, i))
	}
	many := `{"nodes":[{"id":"read","decide":"model"},` + strings.Join(nodes, ",") + `],"edges":[` + strings.Join(edges, ",") + `]}`
	circle := `{"nodes":[{"id":"read","decide":"model","next":"s"},{"id":"s","when":"params.no","next":"s2"},{"id":"s2","when":"params.no","decide":"model","next":"s"},{"id":"a"},{"id":"b"}],
		"edges":[{"from":"read","to":"a"},{"from":"read","to":"b"},{"from":"s2","to":"a"},{"from":"s2","to":"b"}]}`
	for name, workflow := range map[string]string{"options": many, "circle": circle} {
		asked := 0
		_, err := next(t, workflow, `{}`, func(context.Context, workflowChoice) (workflowChosen, error) {
			asked++
			return workflowChosen{}, errors.New("no")
		})
		var f *Fault
		if !errors.As(err, &f) || f.Status != 400 || asked > maxChoices {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
	}
}
