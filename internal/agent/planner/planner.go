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
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

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
	// NeedsApproval reports that the capabilities do not allow a call: the other
	// participants decide about it.
	NeedsApproval bool `json:"-"`

	noReason bool // a call needs no reason, because it is shown itself
}

// Decider decides the next step. *Model, *Remote and rules.Rules implement it. All
// are safe for concurrent use. With an error the Decision is empty, except that
// Model, Provider and Usage report the cost.
type Decider interface {
	Next(ctx context.Context, s State) (Decision, error)
}

// DefaultReason is the reason of a call that was made without one.
const DefaultReason = "Tool selected to satisfy the current subtask."

// State is the complete input of a decision.
type State struct {
	Question string
	Asker    string // the sender of the question; empty: not known
	// History is the conversation before the question, oldest first: User
	// messages, which begin with their sender and ": ", and Assistant messages
	// for the agent's own.
	History []llm.Message
	Tools   []Tool
	Steps   []contextwindow.Record
	// MaxSteps bounds the steps that use tools; 0 means DefaultMaxSteps.
	MaxSteps int
	// Depth is the number of problems that contain this one: 0 for the
	// question. At MaxDepth there are no more sub-problems.
	Depth, MaxDepth int

	// Open: others follow the reasoning and write into it. The planner may share
	// notes, and is given remarks as steps with the action Heard.
	Open bool
	// Delegates are the agents that can be asked to take a part.
	Delegates []string

	// Session is the id of the question. A Reasoning API records its decisions
	// with it, and requires one.
	Session string
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
	// need several requests. It is told whether the text can be the answer, and
	// whether calls can follow it. It is also called when a decider gives up. May be
	// nil. It is called on Next's own goroutine.
	Asking func(answer, calls bool)
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
	Notes   []Note // from the text of a model; may be empty
	Calls   []contextwindow.Call

	Answer     string  // Markdown, for the asker
	Conclusion string  // one sentence
	Confidence float64 // 0 to 1; 0: unknown
	// The following fields are empty if the model did not give them. References
	// are ids that it was shown.
	KeyFactors     []string
	Recommendation string
	References     []string

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
	if IsBuiltin(name) {
		for _, t := range s.builtins() {
			if t.Name == name {
				return &t
			}
		}
	}
	for i := range s.Tools {
		if s.Tools[i].Name == name {
			return &s.Tools[i]
		}
	}
	return nil
}

// Bounds of loop detection.
const (
	loopWindow  = 12 // latest calls that are compared
	loopRepeats = 3  // calls in the window that are the same with the same result
)

// repeats reports whether a call would bring nothing new: the last result of
// the same call was a success and no other call followed, or the same call had
// the same result loopRepeats times within the latest loopWindow calls. A
// failed call may be retried, and so may a call if other calls may have changed
// its result.
func (s *State) repeats(c contextwindow.Call) bool {
	key := c.Key()
	type outcome struct {
		key    string
		result [sha256.Size]byte
	}
	var window []outcome
	last, lastStep := (*contextwindow.Result)(nil), -1
	for i := range s.Steps {
		step := &s.Steps[i]
		for k, done := range step.Calls {
			o := outcome{key: done.Key()}
			if k < len(step.Results) {
				r := &step.Results[k]
				o.result = sha256.Sum256([]byte(r.Text + "\x00" + r.Error))
				if o.key == key {
					last, lastStep = r, i
				}
			}
			window = append(window, o)
		}
	}
	if last == nil {
		return false
	}
	calledSince := slices.ContainsFunc(s.Steps[lastStep+1:], func(r contextwindow.Record) bool { return len(r.Calls) > 0 })
	if last.OK() && !calledSince {
		return true
	}
	window = window[max(0, len(window)-loopWindow):]
	same := make(map[outcome]int)
	for _, o := range window {
		same[o]++
		if o.key == key && same[o] >= loopRepeats {
			return true
		}
	}
	return false
}

// WithFallback returns a decider that uses the first, and the second if the
// first fails: for example a model, and the rules if it does not decide. The second's
// decision has Fallback as its Source and the first's error as its Fault; its
// Usage includes the usage of the first. If ctx has ended, the second is not
// used.
func WithFallback(first, second Decider) Decider {
	return &fallback{first: first, second: second}
}

type fallback struct{ first, second Decider }

// Next decides the next step.
func (f *fallback) Next(ctx context.Context, s State) (Decision, error) {
	d, fault := f.first.Next(ctx, s)
	if fault == nil || ctx.Err() != nil {
		return d, fault
	}
	spent, by, provider := d.Usage, d.Model, d.Provider
	if s.Asking != nil { // the text of the first is part of no decision
		s.Asking(false, false)
	}
	d, err := f.second.Next(ctx, s)
	d.Usage = d.Usage.Plus(spent)
	if d.Model == "" {
		d.Model, d.Provider = by, provider // the failed request still has a cost
	}
	if err != nil {
		return d, fmt.Errorf("%w; and then: %w", fault, err)
	}
	d.Source, d.Fault = Fallback, fault
	return d, nil
}
