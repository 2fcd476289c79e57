package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/llmhttp"
)

// answer assembles an answer from its chunks.
type answer struct {
	model *Model
	on    func(llm.Delta)

	id, name string
	text     strings.Builder
	thinking strings.Builder
	refused  bool
	tags     thinkTags
	calls    calls
	kept     replayBuilder
	usage    llm.Usage
	begun    bool   // a choice has arrived
	finish   string // the finish_reason
}

func newAnswer(m *Model, on func(llm.Delta)) *answer {
	if on == nil {
		on = func(llm.Delta) {}
	}
	a := &answer{model: m, on: on}
	a.tags = thinkTags{text: a.addText, thinking: a.addThinking}
	return a
}

// read reads the complete answer.
func (a *answer) read(s *llmhttp.Stream) error {
	if body, ok := s.JSON(); ok {
		return a.document(body)
	}
	return a.stream(s)
}

// stream reads the events up to [DONE], or to the end of a stream with a
// complete answer. A connection that breaks between the two loses the usage at
// most.
func (a *answer) stream(s *llmhttp.Stream) error {
	for n := 1; ; n++ {
		ev, err := s.Next()
		switch {
		case err == nil:
		case a.finish != "" && (errors.Is(err, io.EOF) || errors.Is(err, llm.ErrTruncated)):
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("read answer of %s: %w", a.model.provider, llm.ErrTruncated)
		default:
			return fmt.Errorf("read answer of %s: %w", a.model.provider, err)
		}
		done, err := a.event(ev)
		if err != nil {
			return a.wrap(n, err)
		}
		if done {
			return nil
		}
	}
}

func (a *answer) wrap(n int, err error) error {
	var refusal *llm.Error
	if errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("read answer of %s: event %d: %w", a.model.provider, n, err)
}

func (a *answer) event(ev llmhttp.Event) (done bool, err error) {
	data := strings.TrimSpace(string(ev.Data))
	switch data {
	case "":
		return false, nil
	case "[DONE]":
		if !a.begun {
			return false, fmt.Errorf("the answer is empty: %w", llm.ErrTruncated)
		}
		return true, nil
	}
	if ev.Name == "error" {
		return false, a.model.refusal([]byte(data))
	}
	return false, a.add([]byte(data))
}

// document reads the answer of a server that does not stream.
func (a *answer) document(body []byte) error {
	if len(bytes.TrimSpace(body)) > 0 { // DeepSeek sends empty lines while a request is in its queue
		if err := a.add(body); err != nil {
			return a.wrap(1, err)
		}
	}
	if !a.begun {
		return fmt.Errorf("read answer of %s: the answer is empty: %w", a.model.provider, llm.ErrTruncated)
	}
	return nil
}

// add applies a chunk, or a complete answer.
func (a *answer) add(data []byte) error {
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

func (a *answer) choice(ch choice) error {
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
func (a *answer) broken() error {
	switch a.finish {
	case "error", "insufficient_system_resource":
		return a.model.client.Refusal(0, a.finish, "the answer was broken off")
	case "abort", "aborted":
		return fmt.Errorf("aborted by the server: %w", llm.ErrTruncated)
	}
	return nil
}

func (a *answer) delta(d *delta) error {
	a.reasoning(d)
	a.addThinking(d.Content.thinking)
	a.tags.write(d.Content.text)
	if d.Refusal != "" {
		a.refused = true
		a.addText(string(d.Refusal))
	}
	for _, c := range d.ToolCalls {
		if err := a.calls.add(c); err != nil {
			return err
		}
	}
	return nil
}

// reasoning adds a piece of thinking in one of its forms: a server that sends
// several forms sends the same text in each.
func (a *answer) reasoning(d *delta) {
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

func (a *answer) addText(s string) {
	if s != "" {
		a.text.WriteString(s)
		a.on(llm.Delta{Kind: llm.TextDelta, Text: s})
	}
}

func (a *answer) addThinking(s string) {
	if s != "" {
		a.thinking.WriteString(s)
		a.on(llm.Delta{Kind: llm.ThinkingDelta, Text: s})
	}
}

// response returns the complete answer.
func (a *answer) response() llm.Response {
	a.tags.end()
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
func (a *answer) stop(called bool) llm.Stop {
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

func (m *Model) refusal(data []byte) error {
	code, message := parseError(data)
	return m.client.Refusal(0, code, message)
}

// readUsage parses the token counts of an answer; missing counts are 0.
func readUsage(raw json.RawMessage) llm.Usage {
	var u struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
		CacheHit   count `json:"prompt_cache_hit_tokens"` // DeepSeek's
		PromptOf   struct {
			Cached count `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionOf struct {
			Reasoning count `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return llm.Usage{}
	}
	return llm.Usage{
		Input: int(u.Prompt), Output: int(u.Completion),
		Cached: max(int(u.PromptOf.Cached), int(u.CacheHit)), Reasoning: int(u.CompletionOf.Reasoning),
	}
}

// count is a number of tokens; an invalid value is 0.
type count int

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(b []byte) error {
	var f float64
	if json.Unmarshal(b, &f) == nil && f > 0 && f <= math.MaxInt32 {
		*c = count(f)
	}
	return nil
}
