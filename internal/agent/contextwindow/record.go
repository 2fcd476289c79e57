// Package contextwindow builds the context of a request to a language model.
//
// A [Record] is one finished step of an agent: the thought, the tool calls and
// their results. A [Builder] turns a conversation and its records into messages
// for a goal, within a budget of tokens. Tokens are estimates; see
// [EstimateTokens].
package contextwindow

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Action is the decision of a step.
type Action string

// The actions.
const (
	UseTools Action = "use_tools"
	Finish   Action = "finish"
)

// Call is a tool call of a step.
type Call struct {
	ID        string          `json:"call_id,omitempty"` // the model's; empty for a call of another planner
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"` // an object, valid for the tool's schema
	Reason    string          `json:"reasoning"` // one sentence
}

// Key is the same for two calls of the same tool with equal arguments,
// regardless of their formatting.
func (c *Call) Key() string {
	dec := json.NewDecoder(bytes.NewReader(c.Arguments))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return c.Tool + " " + string(c.Arguments)
	}
	canonical, _ := json.Marshal(v) // a decoded value has a JSON form
	return c.Tool + " " + string(canonical)
}

// Outcome is the outcome of a call.
type Outcome string

// The outcomes. The last four are outcomes of a proposal, which is made when
// the capabilities do not allow the call itself.
const (
	Success   Outcome = "success"
	Failure   Outcome = "error"     // the tool failed or could not be called
	Refused   Outcome = "refused"   // the capabilities allow neither the call nor a proposal
	Fulfilled Outcome = "fulfilled" // another participant made the call; the result is there
	Rejected  Outcome = "rejected"  // another participant rejected it
	Withdrawn Outcome = "withdrawn" // the proposer withdrew it
	Expired   Outcome = "expired"   // no decision in time
)

// Result is the result of a call.
type Result struct {
	Tool    string        `json:"tool_name"`
	Success bool          `json:"success"`
	Outcome Outcome       `json:"outcome,omitempty"` // empty: Success or Failure, according to Success
	Text    string        `json:"result,omitempty"`  // text or JSON
	Error   string        `json:"error,omitempty"`   // a sentence; empty with Success
	Elapsed time.Duration `json:"duration_ns,omitempty"`
}

// OK reports whether the call succeeded, by Outcome if it is set.
func (r *Result) OK() bool {
	if r.Outcome == "" {
		return r.Success
	}
	return r.Outcome == Success || r.Outcome == Fulfilled
}

// Record is one finished step. In JSON, nil lists are empty lists and the
// time is RFC 3339.
type Record struct {
	Index      int       `json:"step_index"` // from 0
	Thought    string    `json:"thought"`
	Action     Action    `json:"next_action"`
	Calls      []Call    `json:"tool_predictions"`
	Results    []Result  `json:"tool_results"` // in the order of Calls
	Concurrent bool      `json:"concurrent_execution"`
	Time       time.Time `json:"timestamp"` // of the decision

	// Turn is the model's own message, which is sent back unchanged; nil if no
	// model decided.
	Turn *llm.Message `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (r Record) MarshalJSON() ([]byte, error) {
	type plain Record // has no methods
	if r.Calls == nil {
		r.Calls = []Call{}
	}
	if r.Results == nil {
		r.Results = []Result{}
	}
	return json.Marshal(plain(r))
}
