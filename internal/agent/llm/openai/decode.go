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

var (
	doneMark = []byte("[DONE]") // ends a stream of Chat Completions
	errEmpty = fmt.Errorf("the answer is empty: %w", llm.ErrTruncated)
)

// decoder assembles an answer in one of the two formats.
type decoder interface {
	// event applies an event. It returns true for the last one.
	event(ev llmhttp.Event) (done bool, err error)
	// document applies an answer in one piece.
	document(body []byte) error
	// complete reports whether the answer is complete without further events.
	complete() bool
	response() llm.Response
}

// decode reads the complete answer.
func (m *Model) decode(s *llmhttp.Stream, d decoder) (llm.Response, error) {
	if body, ok := s.JSON(); ok {
		if len(bytes.TrimSpace(body)) == 0 { // DeepSeek sends empty lines while a request is in its queue
			return llm.Response{}, m.readError(1, errEmpty)
		}
		if err := d.document(body); err != nil {
			return llm.Response{}, m.readError(1, err)
		}
		return d.response(), nil
	}
	for n := 1; ; n++ {
		ev, err := s.Next()
		switch {
		case err == nil && len(bytes.TrimSpace(ev.Data)) == 0:
			continue
		case err == nil:
		case d.complete() && (errors.Is(err, io.EOF) || errors.Is(err, llm.ErrTruncated)):
			return d.response(), nil
		case errors.Is(err, io.EOF):
			return llm.Response{}, fmt.Errorf("read answer of %s: %w", m.provider, llm.ErrTruncated)
		default:
			return llm.Response{}, fmt.Errorf("read answer of %s: %w", m.provider, err)
		}
		done, err := d.event(ev)
		switch {
		case err != nil:
			return llm.Response{}, m.readError(n, err)
		case done:
			return d.response(), nil
		}
	}
}

func (m *Model) readError(n int, err error) error {
	var refusal *llm.Error
	if errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("read answer of %s: event %d: %w", m.provider, n, err)
}

// refusal returns the error in the body of a refusal within a stream.
func (m *Model) refusal(data []byte) error {
	code, message := parseError(data)
	return m.client.Refusal(0, code, message)
}

// pieces collects text and thinking and passes each piece on.
type pieces struct {
	emit           func(llm.Delta)
	text, thinking strings.Builder
}

func (p *pieces) addText(s string) { p.add(llm.TextDelta, &p.text, s) }

func (p *pieces) addThinking(s string) { p.add(llm.ThinkingDelta, &p.thinking, s) }

func (p *pieces) add(kind llm.DeltaKind, to *strings.Builder, s string) {
	if s == "" {
		return
	}
	to.WriteString(s)
	if p.emit != nil {
		p.emit(llm.Delta{Kind: kind, Text: s})
	}
}

// readUsage parses the token counts of an answer, of either API; missing counts
// are 0.
func readUsage(raw json.RawMessage) llm.Usage {
	type details struct {
		Cached    count `json:"cached_tokens"`
		Reasoning count `json:"reasoning_tokens"`
	}
	var u struct {
		Prompt     count   `json:"prompt_tokens"`
		Completion count   `json:"completion_tokens"`
		CacheHit   count   `json:"prompt_cache_hit_tokens"` // DeepSeek's
		PromptOf   details `json:"prompt_tokens_details"`
		OutputOf   details `json:"completion_tokens_details"`

		Input         count   `json:"input_tokens"`
		Output        count   `json:"output_tokens"`
		InputDetails  details `json:"input_tokens_details"`
		OutputDetails details `json:"output_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return llm.Usage{}
	}
	return llm.Usage{
		Input: int(max(u.Prompt, u.Input)), Output: int(max(u.Completion, u.Output)),
		Cached:    int(max(u.PromptOf.Cached, u.CacheHit, u.InputDetails.Cached)),
		Reasoning: int(max(u.OutputOf.Reasoning, u.OutputDetails.Reasoning)),
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
