package contextwindow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// answer is a call of the model and the position of its result.
type answer struct {
	id   string
	tool string
	at   int // index in Record.Calls and Record.Results; -1: none
}

// turnOf returns the assistant's message of a step and the answers to its
// calls. If the step has calls and the model's message has none, because the
// model writes calls as text, turnOf makes a message: providers reject results
// without a call.
func turnOf(r *Record) (llm.Message, []answer) {
	if r.Turn == nil || len(r.Turn.Calls) == 0 && len(r.Calls) > 0 {
		return madeTurn(r)
	}
	msg := *r.Turn
	answers := make([]answer, len(msg.Calls))
	for i := range msg.Calls {
		// It is the call with the id, or else the one at the position.
		id, tool := msg.Calls[i].ID, msg.Calls[i].Name
		at := slices.IndexFunc(r.Calls, func(c Call) bool { return id != "" && c.ID == id })
		if at < 0 && i < len(r.Calls) && r.Calls[i].ID == "" {
			at = i
		}
		if at >= 0 {
			tool = r.Calls[at].Tool
		}
		if id == "" {
			id = madeID(r, i)
			msg.Calls = slices.Clone(msg.Calls) // do not modify r.Turn
			msg.Calls[i].ID = id
		}
		answers[i] = answer{id, tool, at}
	}
	return msg, answers
}

// madeTurn returns a message made of the thought and the calls.
func madeTurn(r *Record) (llm.Message, []answer) {
	msg := llm.Message{Role: llm.Assistant, Text: r.Thought}
	if len(r.Calls) == 0 {
		return msg, nil
	}
	msg.Calls = make([]llm.ToolCall, len(r.Calls))
	answers := make([]answer, len(r.Calls))
	for i := range r.Calls {
		c := &r.Calls[i]
		id := c.ID
		taken := func(c llm.ToolCall) bool { return c.ID == id }
		for n := i; id == "" || slices.ContainsFunc(msg.Calls[:i], taken); n += len(r.Calls) {
			id = madeID(r, n)
		}
		msg.Calls[i] = llm.ToolCall{ID: id, Name: c.Tool, Arguments: c.Arguments}
		if len(c.Arguments) == 0 {
			msg.Calls[i].Arguments = json.RawMessage("{}")
		}
		answers[i] = answer{id: id, tool: c.Tool, at: i}
	}
	return msg, answers
}

// madeID returns an id for a call without one.
func madeID(r *Record, call int) string { return fmt.Sprintf("step%d_call%d", r.Index, call) }
