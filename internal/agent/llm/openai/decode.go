package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

var (
	doneMark = []byte("[DONE]") // ends a stream of Chat Completions
	errEmpty = fmt.Errorf("the answer is empty: %w", llm.ErrTruncated)
)

// failed is OpenAI's code of a failure of the server, after which the same request may
// succeed.
const failed = "server_error"

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

// beginCall reports the beginning of a call.
func (p *pieces) beginCall() {
	if p.emit != nil {
		p.emit(llm.Delta{Kind: llm.CallDelta})
	}
}

// readUsage parses the token counts of an answer, of either API; missing counts
// are 0.
func readUsage(raw json.RawMessage) llm.Usage {
	type details struct {
		Cached    llm.Count `json:"cached_tokens"`
		Reasoning llm.Count `json:"reasoning_tokens"`
	}
	var u struct {
		Prompt     llm.Count `json:"prompt_tokens"`
		Completion llm.Count `json:"completion_tokens"`
		CacheHit   llm.Count `json:"prompt_cache_hit_tokens"` // DeepSeek's
		PromptOf   details   `json:"prompt_tokens_details"`
		OutputOf   details   `json:"completion_tokens_details"`

		Input         llm.Count `json:"input_tokens"`
		Output        llm.Count `json:"output_tokens"`
		InputDetails  details   `json:"input_tokens_details"`
		OutputDetails details   `json:"output_tokens_details"`
	}
	_ = json.Unmarshal(raw, &u) // it reads the members that fit
	return llm.Usage{
		Input: int(max(u.Prompt, u.Input)), Output: int(max(u.Completion, u.Output)),
		Cached:    int(max(u.PromptOf.Cached, u.CacheHit, u.InputDetails.Cached)),
		Reasoning: int(max(u.OutputOf.Reasoning, u.OutputDetails.Reasoning)),
	}
}
