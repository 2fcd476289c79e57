package reasoner

import (
	"errors"
	"testing"
)

// TestExactNames: a field that only the case-insensitive standard decoder would
// accept is ignored.
func TestExactNames(t *testing.T) {
	r, err := DecodeAgentIntent([]byte(`{"session_id":"s","goal_text":"g","GOAL_TEXT":"other","Forced_Tool":"rm","llm":{"provider":"a","PROVIDER":"b"},"agent_state":{"Stuck":true}}`))
	if err != nil || r.GoalText != "g" || r.ForcedTool != "" || r.LLM.Provider != "a" || r.AgentState.Stuck {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = DecodeAgentIntent([]byte(`{"session_id":"s","goal_text":"g","max_steps":2.0}`))
	var f *Fault
	if !errors.As(err, &f) || f.Status != 422 || f.Path != "/max_steps" {
		t.Fatalf("%v", err)
	}
}
