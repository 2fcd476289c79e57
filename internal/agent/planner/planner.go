// Package planner decides what an agent does next: which tools to call and why,
// or what to answer.
//
// [Rules] decides by rules alone: it knows what to do with tools that list,
// read and search, whatever they are called, and says so honestly when they do
// not help. [Model] asks a language model, [Remote] a service that has one, and
// [WithFallback] the second of two where the first does not decide. None keeps
// anything between two decisions: everything that they know is in the [State],
// so that whoever holds the records of a question can go on with it at any time.
package planner

import (
	"context"
	"encoding/json"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
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
	// Host identifies the server that runs the tool. What one tool of a host
	// returns (a path, say) is for the tools of the same host.
	Host string `json:"-"`
}

// Decider decides the next step. Rules, *Model and *Remote do; all may be used
// by many at the same time. With an error the Decision is empty, except that
// Model, Provider and Usage tell what was spent.
type Decider interface {
	Next(ctx context.Context, s State) (Decision, error)
}

// Subproblem is the name of the tool that every planner has besides those that
// are offered: a question of its own, {"question": "…"}, that is reasoned about
// in a context within the present one. Its result is the answer.
const Subproblem = "subproblem"

// DefaultReason is what is said of a call for which nobody gave a reason.
const DefaultReason = "Tool selected to satisfy the current subtask."

// State is everything that a decision is made from.
type State struct {
	Question string
	// History is what was said before the question, oldest first: User and
	// Assistant messages, the latter the agent's own.
	History []llm.Message
	Tools   []Tool
	Steps   []contextwindow.Record
	// MaxSteps bounds the steps that use tools; 0 stands for DefaultMaxSteps.
	MaxSteps int
	// Depth is how many problems this one is a part of: 0 for the question.
	// At MaxDepth there are no more sub-problems.
	Depth, MaxDepth int

	// Instructions are the operator's: who the agent is, what it must heed.
	Instructions string
	// Forced is the tool that must be called next; empty: none.
	Forced string
	// Stuck: what was done of late led nowhere. Nothing of it is done again.
	Stuck bool

	// Watch is given the pieces of a model's answer while it grows; may be nil.
	// It is called by Next's own goroutine.
	Watch func(llm.Delta)
	// Asking is called before each time that a model is asked, so that Watch can
	// tell the pieces of one answer from those of the next: a decision may take
	// several. May be nil; Next's own goroutine calls it.
	Asking func(contextwindow.Goal)
	// Memory makes the decisions on one question faster; may be nil.
	Memory *Memory
}

// limit is how many steps may use tools.
func (s *State) limit() int {
	if s.MaxSteps <= 0 {
		return DefaultMaxSteps
	}
	return s.MaxSteps
}

// DefaultMaxSteps is the bound where none is given.
const DefaultMaxSteps = 8

// Source says who made a decision.
type Source string

// The sources.
const (
	ByRules  Source = "rules"
	ByModel  Source = "model"
	ByForce  Source = "forced"   // the caller named the tool
	ByRemote Source = "remote"   // a service that does not say how it decided
	Fallback Source = "fallback" // the rules, since the model did not decide
)

// Decision is what to do next: with UseTools the Calls, which may all run at
// the same time; with Finish the Answer.
type Decision struct {
	Action  contextwindow.Action
	Thought string // what was found so far, and what follows from it; may be empty
	Calls   []contextwindow.Call

	Answer     string  // Markdown, for whoever asked
	Conclusion string  // one sentence
	Confidence float64 // 0 to 1; 0: not said

	Source Source
	// Of a model's decision: its raw thinking, which is not for everybody;
	// which model it was, what it cost, what it was shown, and its turn, to be
	// kept in the step's record.
	Thinking string
	Model    string
	Provider string
	Usage    llm.Usage
	Shown    *contextwindow.Meta
	Turn     *llm.Message
	// Fault is why the model did not decide, where Source is Fallback.
	Fault error
}

func finish(answer, conclusion string, confidence float64) Decision {
	return Decision{Action: contextwindow.Finish, Source: ByRules, Answer: answer, Conclusion: conclusion, Confidence: confidence}
}
