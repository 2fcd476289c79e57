package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// chatAnswer assembles an answer of Chat Completions from its chunks.
type chatAnswer struct {
	model *Model
	pieces

	id, name string
	refused  bool
	tags     thinkTags
	written  writtenCalls
	calls    calls
	kept     replayBuilder
	usage    llm.Usage
	begun    bool   // a choice has arrived
	finish   string // the finish_reason
}

// newChatAnswer returns the decoder of an answer to a request with these tools.
func newChatAnswer(m *Model, tools []llm.Tool, emit func(llm.Delta)) *chatAnswer {
	a := &chatAnswer{model: m, pieces: pieces{emit: emit}}
	a.written = writtenCalls{text: a.addText, tools: tools}
	a.tags = thinkTags{text: a.addText, thinking: a.addThinking}
	if len(tools) > 0 {
		a.tags.text = a.written.write
	}
	return a
}

// Event applies one event, up to [DONE].
func (a *chatAnswer) Event(ev llm.ServerEvent) (last bool, err error) {
	if bytes.Equal(bytes.TrimSpace(ev.Data), doneMark) {
		if !a.begun {
			return false, a.model.client.Refusal(0, failed, "the answer is empty")
		}
		return true, nil
	}
	if ev.Name == "error" {
		return false, a.model.refusal(ev.Data)
	}
	err = a.add(ev.Data)
	var refusal *llm.Error
	if errors.As(err, &refusal) && refusal.Status == 0 && refusal.Code == "" {
		refusal.Code = failed // of a proxy whose upstream failed: a server refuses a request before the stream
	}
	return false, err
}

// Complete reports whether the answer has ended: a connection that breaks
// between the finish_reason and [DONE] loses the usage at most.
func (a *chatAnswer) Complete() bool { return a.finish != "" }

// Document applies the answer of a server that does not stream.
func (a *chatAnswer) Document(body []byte) error {
	if err := a.add(body); err != nil {
		return err
	}
	if !a.begun {
		return errEmpty
	}
	return nil
}

// add applies a chunk, or a complete answer.
func (a *chatAnswer) add(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return err // its text contains only names of fields and single characters
	}
	if some(c.Error) || c.Object == "error" {
		return a.model.refusal(data)
	}
	if a.id == "" {
		a.id = string(c.ID)
	}
	if a.name == "" {
		a.name = string(c.Model)
	}
	if some(c.Usage) {
		a.usage = readUsage(c.Usage)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 { // one choice was requested
			continue
		}
		if err := a.choice(ch); err != nil {
			return err
		}
	}
	return nil
}

func (a *chatAnswer) choice(ch choice) error {
	if some(ch.Error) {
		return a.model.refusal(ch.Error)
	}
	a.begun = true
	d := ch.Delta
	if d == nil {
		d = ch.Message
	}
	if d != nil {
		if err := a.delta(d); err != nil {
			return err
		}
	}
	if ch.FinishReason == "" {
		return nil
	}
	a.finish = string(ch.FinishReason)
	return a.broken()
}

// broken returns an error for the finish reasons of an incomplete answer.
func (a *chatAnswer) broken() error {
	switch a.finish {
	case "error", "insufficient_system_resource":
		return a.model.client.Refusal(0, a.finish, "the answer was broken off")
	case "abort", "aborted":
		return fmt.Errorf("aborted by the server: %w", llm.ErrTruncated)
	}
	return nil
}

func (a *chatAnswer) delta(d *delta) error {
	a.reasoning(d)
	a.addThinking(d.Content.thinking)
	a.tags.write(d.Content.text)
	if d.Refusal != "" {
		a.refused = true
		a.addText(string(d.Refusal))
	}
	called := d.ToolCalls
	if d.FunctionCall != nil && len(called) == 0 {
		called = []callDelta{{Index: new(int), Function: *d.FunctionCall}}
	}
	before := len(a.calls.list)
	for _, c := range called {
		if err := a.calls.add(c); err != nil {
			return err
		}
	}
	if len(a.calls.list) > before {
		a.beginCall()
	}
	return nil
}

// reasoning adds a piece of thinking in one of its forms: a server that sends
// several forms sends the same text in each.
func (a *chatAnswer) reasoning(d *delta) {
	switch {
	case d.ReasoningContent != "":
		a.kept.content.WriteString(string(d.ReasoningContent))
		a.addThinking(string(d.ReasoningContent))
	case d.Reasoning != "":
		a.kept.reasoning.WriteString(string(d.Reasoning))
		a.addThinking(string(d.Reasoning))
	default:
		a.addThinking(a.kept.textOf(d.ReasoningDetails))
	}
	a.kept.add(d.ReasoningDetails)
}

// Response returns the complete answer.
func (a *chatAnswer) Response() llm.Response {
	a.tags.end()
	a.written.end(&a.calls)
	calls, extra := a.calls.finish(a.model.newID)
	text, thinking := splitUnopened(a.text.String(), a.thinking.String())
	return llm.Response{
		ID: a.id, Model: a.name,
		Message: llm.Message{
			Role: llm.Assistant, Text: text, Calls: calls,
			Opaque: a.kept.opaque(a.model.provider, extra),
		},
		Thinking: thinking,
		Stop:     a.stop(len(calls) > 0),
		Usage:    a.usage,
	}
}

// stop returns the reason why the answer ended. Some servers send stop together
// with calls.
func (a *chatAnswer) stop(called bool) llm.Stop {
	if a.refused {
		return llm.StopRefusal
	}
	switch a.finish {
	case "", "stop", "tool_calls", "function_call", "end_turn", "eos":
		if called {
			return llm.StopTools
		}
		return llm.StopEnd
	case "length", "max_tokens":
		return llm.StopLength
	case "content_filter", "refusal":
		return llm.StopRefusal
	}
	return llm.StopOther
}
