package openai

import (
	"encoding/json"
	"math"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

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
