package reasoner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

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
