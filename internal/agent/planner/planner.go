// Package planner decides the next action of an agent: tool calls with their
// reasons, or an answer.
//
// [Model] asks a language model, [Remote] a service that uses one; package rules
// decides without either. [WithFallback] asks
// a second decider when the first fails. No decider keeps state between two
// decisions: the [State] holds everything, so that any process with the records
// of a question can continue it at any time.
package planner

import (
	"context"
	"encoding/json"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Tool describes a tool that may be called.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// ReadOnly reports that the tool changes nothing, according to its owner.
	// It is only meaningful if Hinted is set; otherwise the owner gave no hint.
	ReadOnly bool `json:"-"`
	Hinted   bool `json:"-"`
	// Host identifies the server that runs the tool. Values that one tool of a
	// host returns, such as paths, are valid only for tools of the same host.
	Host string `json:"-"`
}

// Decider decides the next step. *Model, *Remote and rules.Rules implement it. All
// are safe for concurrent use. With an error the Decision is empty, except that
// Model, Provider and Usage report the cost.
type Decider interface {
	Next(ctx context.Context, s State) (Decision, error)
}

// Subproblem is the name of a tool that every planner has in addition to the
// offered ones. It takes {"question": "…"}, which is reasoned about in a
// context within the present one. Its result is the answer.
const Subproblem = "subproblem"

// DefaultReason is the reason of a call that was made without one.
const DefaultReason = "Tool selected to satisfy the current subtask."

// State is the complete input of a decision.
type State struct {
	Question string
	// History is the conversation before the question, oldest first: User
	// messages, and Assistant messages for the agent's own.
	History []llm.Message
	Tools   []Tool
	Steps   []contextwindow.Record
	// MaxSteps bounds the steps that use tools; 0 means DefaultMaxSteps.
	MaxSteps int
	// Depth is the number of problems that contain this one: 0 for the
	// question. At MaxDepth there are no more sub-problems.
	Depth, MaxDepth int

	// Instructions are set by the operator: the agent's role and its
	// constraints.
	Instructions string
	// Forced is the tool that must be called next; empty means none.
	Forced string
	// Stuck reports that the latest steps made no progress. None of them is
	// repeated.
	Stuck bool

	// Watch receives the pieces of a model's answer as they arrive; may be nil.
	// It is called on Next's own goroutine.
	Watch func(llm.Delta)
	// Asking is called before each request to a model, so that Watch can
	// separate the pieces of consecutive answers: a decision may
	// need several requests. May be nil. It is called on Next's own goroutine.
	Asking func(contextwindow.Goal)
	// Memory speeds up the decisions on one question; may be nil.
	Memory *Memory
}

// Limit returns the maximum number of steps that use tools.
func (s *State) Limit() int {
	if s.MaxSteps <= 0 {
		return DefaultMaxSteps
	}
	return s.MaxSteps
}

// DefaultMaxSteps is the default of State.MaxSteps.
const DefaultMaxSteps = 8

// Source identifies the component that made a decision.
type Source string

// Values of Source.
const (
	ByRules  Source = "rules"
	ByModel  Source = "model"
	ByForce  Source = "forced"   // the caller named the tool
	ByRemote Source = "remote"   // a service that does not report how it decided
	Fallback Source = "fallback" // the rules, because the model did not decide
)

// Decision is the next action: with UseTools the Calls, which may all run
// concurrently; with Finish the Answer.
type Decision struct {
	Action  contextwindow.Action
	Thought string // findings so far and their consequence; may be empty
	Calls   []contextwindow.Call

	Answer     string  // Markdown, for the asker
	Conclusion string  // one sentence
	Confidence float64 // 0 to 1; 0: unknown

	Source Source
	// Thinking and the following fields are set for a model's decision: its raw
	// thinking, which has a restricted audience, the model's name and provider,
	// the cost, the contents of the context, and the model's turn, to be stored
	// in the step's record.
	Thinking string
	Model    string
	Provider string
	Usage    llm.Usage
	Shown    *contextwindow.Meta
	Turn     *llm.Message
	// Fault is the reason why the model did not decide, if Source is Fallback.
	Fault error
}

// Tool returns the tool of that name, or nil.
func (s *State) Tool(name string) *Tool {
	if name == Subproblem && s.Depth < s.MaxDepth {
		t := subproblemTool
		return &t
	}
	for i := range s.Tools {
		if s.Tools[i].Name == name {
			return &s.Tools[i]
		}
	}
	return nil
}
