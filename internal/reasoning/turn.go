package reasoning

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/internal/llm"
)

// answer is a call as the model made it, and where its result is.
type answer struct {
	id   string
	tool string
	at   int // in the record's results, if it is there already; -1: never will be
}

// turnOf is the assistant's message of a step, and what answers its calls. A
// turn without calls, of a step that has some, is that of a model that writes
// its calls as text: a message is made for it, since providers refuse answers
// to calls that were not made.
func turnOf(r *Record) (llm.Message, []answer) {
	if r.Turn == nil || len(r.Turn.Calls) == 0 && len(r.Calls) > 0 {
		return madeTurn(r)
	}
	msg := *r.Turn
	answers := make([]answer, len(msg.Calls))
	for i := range msg.Calls {
		if msg.Calls[i].ID == "" {
			msg.Calls = slices.Clone(msg.Calls) // the turn itself stays as it is
			msg.Calls[i].ID = madeID(r, i)
		}
		answers[i] = answer{id: msg.Calls[i].ID, tool: msg.Calls[i].Name, at: callOf(r, i)}
		if j := answers[i].at; j >= 0 {
			answers[i].tool = r.Calls[j].Tool
		}
	}
	return msg, answers
}

// callOf finds the record's call that is a turn's i-th: by its id, else by its
// place.
func callOf(r *Record, i int) int {
	if id := r.Turn.Calls[i].ID; id != "" {
		if j := slices.IndexFunc(r.Calls, func(c Call) bool { return c.ID == id }); j >= 0 {
			return j
		}
	}
	if i < len(r.Calls) && r.Calls[i].ID == "" {
		return i
	}
	return -1
}

// resultOf is one of the results; nil when there is none.
func resultOf(r *Record, i int) *Result {
	if i < 0 || i >= len(r.Results) {
		return nil
	}
	return &r.Results[i]
}

// madeTurn makes a message from the thought and the calls.
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
		for n := i; id == "" || hasID(msg.Calls[:i], id); n += len(r.Calls) {
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

func hasID(calls []llm.ToolCall, id string) bool {
	return slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return c.ID == id })
}

// madeID names a call that has no name; steps and calls count from 0.
func madeID(r *Record, call int) string { return fmt.Sprintf("step%d_call%d", r.Index, call) }

// sameTurn reports whether turnOf would say the same of two records, but for
// the results.
func sameTurn(a, b *Record) bool {
	return a.Turn == b.Turn && a.Index == b.Index && a.Thought == b.Thought && slices.EqualFunc(a.Calls, b.Calls, func(x, y Call) bool {
		return x.ID == y.ID && x.Tool == y.Tool && bytes.Equal(x.Arguments, y.Arguments)
	})
}
