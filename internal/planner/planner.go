// Package planner decides what an agent does next: which tools to call and why,
// or what to answer.
//
// [Rules] decides by rules alone: it knows what to do with tools that list,
// read and search, whatever they are called, and says so honestly when they do
// not help. It keeps nothing between two decisions: everything that it knows is
// in the [State], so that whoever holds the records of a question can go on
// with it at any time.
package planner

import (
	"encoding/json"
	"time"
)

// Tool is one that may be called.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// ReadOnly: the tool's owner says that it changes nothing. Without Hinted
	// nobody has said anything.
	ReadOnly bool `json:"-"`
	Hinted   bool `json:"-"`
}

// Call is a tool call that was decided on.
type Call struct {
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"` // an object, valid against the tool's schema
	Reason    string          `json:"reasoning"` // one sentence for people
}

// Result is what became of a call.
type Result struct {
	Tool    string `json:"tool_name"`
	Success bool   `json:"success"`
	Text    string `json:"result,omitempty"`
	Error   string `json:"error,omitempty"` // a sentence; empty with Success
}

// Action is what a step decided to do.
type Action string

// The actions.
const (
	UseTools Action = "use_tools"
	Finish   Action = "finish"
)

// Record is one finished step: what was thought, planned and found out.
type Record struct {
	Index      int       `json:"step_index"` // from 0
	Thought    string    `json:"thought"`
	Action     Action    `json:"next_action"`
	Calls      []Call    `json:"tool_predictions"`
	Results    []Result  `json:"tool_results"` // in the order of Calls
	Concurrent bool      `json:"concurrent_execution"`
	Time       time.Time `json:"timestamp"` // when it was decided
}

// State is everything that a decision is made from.
type State struct {
	Question string
	Tools    []Tool
	Steps    []Record
	// MaxSteps bounds the steps that use tools; 0 stands for DefaultMaxSteps.
	MaxSteps int
}

// DefaultMaxSteps is the bound where none is given.
const DefaultMaxSteps = 8

// Decision is what to do next: with UseTools the Calls, which may all run at
// the same time; with Finish the Answer.
type Decision struct {
	Action  Action
	Thought string // what was found so far, and what follows from it; may be empty
	Calls   []Call

	Answer     string  // Markdown, for whoever asked
	Conclusion string  // one sentence
	Confidence float64 // 0 to 1
}

func finish(answer, conclusion string, confidence float64) Decision {
	return Decision{Action: Finish, Answer: answer, Conclusion: conclusion, Confidence: confidence}
}
