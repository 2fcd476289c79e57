package schemas

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// TestSmallBodiesMakeNoLargeTrees: a document that is short to send but
// expensive to check is rejected before it is checked.
func TestSmallBodiesMakeNoLargeTrees(t *testing.T) {
	for name, history := range map[string]string{
		"objects":          "[" + strings.Repeat("{},", 1_300_000) + "{}]",
		"lists":            "[[" + strings.Repeat("[],", 1_300_000) + "[]]]",
		"fields":           `[{"a":` + strings.Repeat(`[1,`, MaxValues) + "1" + strings.Repeat("]", MaxValues) + "}]",
		"too many objects": "[" + strings.Repeat("{},", 40_000) + "{}]",
		"of a wrong type":  "[" + strings.Repeat("1,", 90_000) + "1]",
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(`{"session_id":"s","goal_text":"g","history":` + history + `}`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := Document("reasoner/agent_intent.request", raw)
			runtime.ReadMemStats(&after)
			var f *Fault
			if !errors.As(err, &f) || f.Syntax || !strings.Contains(f.Message, "more than") && !strings.Contains(f.Message, "at most 10000 elements") {
				t.Fatalf("%v", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("%d bytes", took)
			}
		})
	}
}

func TestValuesAreCountedOutsideTexts(t *testing.T) {
	text := `{"session_id":"s","goal_text":"g","history":["` + strings.Repeat(`,[{:\"`, MaxValues) + `"]}`
	if err := Document("reasoner/agent_intent.request", []byte(text)); err != nil {
		t.Error(err)
	}
	many := `{"session_id":"s","goal_text":"g","memory_state":{"v":[` + strings.Repeat("1,", MaxValues-100) + `1]}}`
	if err := Document("reasoner/agent_intent.request", []byte(many)); err != nil {
		t.Error(err)
	}
}

// TestTextsAreBounded: texts that a model reads verbatim are bounded.
func TestTextsAreBounded(t *testing.T) {
	for _, field := range []string{"goal_text", "instructions"} {
		for _, n := range []int{100_000, 100_001} {
			fields := map[string]string{"goal_text": "g", "instructions": "i"}
			fields[field] = strings.Repeat("ü", n)
			err := Document("reasoner/agent_intent.request", fmt.Appendf(nil, `{"session_id":"s","goal_text":%q,"instructions":%q}`, fields["goal_text"], fields["instructions"]))
			var f *Fault
			if n == 100_000 && err != nil || n > 100_000 && (!errors.As(err, &f) || f.Path != "/"+field) {
				t.Errorf("%s of %d characters: %v", field, n, err)
			}
		}
	}
}

// TestManyFaultsAreNotAllExplained: selecting the reported fault must not take
// longer than finding the faults.
func TestManyFaultsAreNotAllExplained(t *testing.T) {
	many := &jsonschema.ValidationError{}
	for range 10 {
		part := &jsonschema.ValidationError{Causes: make([]*jsonschema.ValidationError, 1000)}
		for i := range part.Causes {
			part.Causes[i] = &jsonschema.ValidationError{}
		}
		many.Causes = append(many.Causes, part)
	}
	if n := len(violations(nil, reasoner()["error"], many, maxViolations)); n != maxViolations {
		t.Errorf("%d faults", n)
	}
	text := `{"run_id":"r","workflow_name":"w","current_node":"","params":{"workflow":{"nodes":[` + strings.Repeat("1,", 90_000) + `1]}}}`
	var f *Fault
	if err := Document("reasoner/workflow_intent.request", []byte(text)); !errors.As(err, &f) || f.Path != "/params/workflow/nodes/0" {
		t.Errorf("%v", err)
	}
}
