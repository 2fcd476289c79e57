// Package reasoning keeps what an agent has thought and found out, and builds
// from it what a model is shown next.
//
// A [Record] is one finished step: the thought, the tools that were chosen and
// what became of each. A [Builder] turns a conversation and its records into
// messages for a goal, within a budget of tokens.
package reasoning

import (
	"encoding/json"
	"time"

	"github.com/meup-protocol/meup/internal/llm"
)

// Action is what a step decided to do.
type Action string

// The actions.
const (
	UseTools Action = "use_tools"
	Finish   Action = "finish"
)

// Call is a tool call that was decided on.
type Call struct {
	// ID is the model's own name of the call; empty where no model made it.
	ID        string          `json:"call_id,omitempty"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"` // an object, valid against the tool's schema
	Reason    string          `json:"reasoning"` // one sentence for people
}

// Outcome is what became of a call, in one word.
type Outcome string

// The outcomes. The last four are those of a proposal: the call was not
// allowed, and somebody else was asked to make it.
const (
	Success   Outcome = "success"
	Failure   Outcome = "error"     // the tool failed, or could not be called
	Refused   Outcome = "refused"   // the capabilities allow neither the call nor a proposal
	Fulfilled Outcome = "fulfilled" // somebody made the call; the result is there
	Rejected  Outcome = "rejected"  // somebody said no
	Withdrawn Outcome = "withdrawn" // it was taken back before anybody decided
	Expired   Outcome = "expired"   // nobody decided in time
)

// Result is what became of a call.
type Result struct {
	Tool    string        `json:"tool_name"`
	Success bool          `json:"success"`
	Outcome Outcome       `json:"outcome,omitempty"` // empty: Success or Failure, as Success says
	Text    string        `json:"result,omitempty"`  // text or JSON
	Error   string        `json:"error,omitempty"`   // a sentence; empty with Success
	Elapsed time.Duration `json:"duration_ns,omitempty"`
}

// OK reports whether the result has what the call was made for. The outcome
// says so, where there is one.
func (r *Result) OK() bool {
	if r.Outcome == "" {
		return r.Success
	}
	return r.Outcome == Success || r.Outcome == Fulfilled
}

// Record is one finished step: what was thought, planned and found out.
// Section: the step records of the agent's context management.
type Record struct {
	Index      int       `json:"step_index"` // from 0
	Thought    string    `json:"thought"`
	Action     Action    `json:"next_action"`
	Calls      []Call    `json:"tool_predictions"`
	Results    []Result  `json:"tool_results"` // in the order of Calls
	Concurrent bool      `json:"concurrent_execution"`
	Time       time.Time `json:"timestamp"` // when it was decided

	// Turn is the model's own form of this step, to be returned to it as it
	// was; nil where no model decided.
	Turn *llm.Message `json:"-"`
}
