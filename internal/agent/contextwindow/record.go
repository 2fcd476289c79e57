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

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Action is the decision of a step.
type Action string

// The actions.
const (
	UseTools Action = "use_tools"
	Finish   Action = "finish"
	Heard    Action = "heard" // no decision: remarks of others, in Turn as a user's message
)

// Call is a tool call of a step.
type Call struct {
	ID        string // the model's; empty for a call of another planner
	Tool      string
	Arguments json.RawMessage // an object, valid for the tool's schema
	Reason    string          // one sentence
	Thought   string          // the id of an envelope in the log that explains the call; "": a thought with Reason does
	Optional  bool            // not worth the decision of a person: it is not proposed if the capabilities do not allow it
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

// The outcomes. The four before Unknown are outcomes of a proposal, which is made
// when the capabilities do not allow the call itself.
const (
	Success   Outcome = "success"
	Failure   Outcome = "error"     // the tool failed or could not be called
	Refused   Outcome = "refused"   // the capabilities allow neither the call nor a proposal
	Fulfilled Outcome = "fulfilled" // another participant made the call; the result is there
	Rejected  Outcome = "rejected"  // another participant rejected it
	Withdrawn Outcome = "withdrawn" // the proposer withdrew it
	Expired   Outcome = "expired"   // no decision in time
	Unknown   Outcome = "unknown"   // sent before a restart; it may have taken effect or not
)

// Result is the result of a call.
type Result struct {
	Tool    string
	Success bool
	Outcome Outcome // empty: Success or Failure, according to Success
	Text    string  // text or JSON
	Error   string  // a sentence; empty with Success
	Reason  string  // of Rejected, as the other participant gave it
	JSON    string  // the tool's result as it is, for a caller that is no planner; "": there is none
	Ref     string  // id by which a model may refer to the result; "": none
}

// OK reports whether the call succeeded, by Outcome if it is set.
func (r *Result) OK() bool {
	if r.Outcome == "" {
		return r.Success
	}
	return r.Outcome == Success || r.Outcome == Fulfilled
}

// Record is one finished step.
type Record struct {
	Index   int // from 0
	Thought string
	Action  Action
	Calls   []Call
	Results []Result // in the order of Calls

	// Turn is the model's own message, which is sent back unchanged, or the
	// message with remarks of others; nil if no model decided.
	Turn *llm.Message
}
