package llm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrTruncated: the answer ended early.
var ErrTruncated = errors.New("answer cut off")

// Error is a provider's refusal. Its text never contains a key.
type Error struct {
	Provider   string
	Status     int    // of HTTP; 0 for a refusal within a stream
	Code       string // the provider's code, such as rate_limit_exceeded
	Message    string
	RetryAfter time.Duration // the provider's delay; 0 if it sent none
}

// Error returns the provider, the status, the code and the message.
func (e *Error) Error() string {
	s := e.Provider + " refused"
	if e.Status != 0 {
		s += fmt.Sprintf(" with status %d", e.Status)
	}
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Temporary reports whether the same request may succeed later. For a refusal
// within a stream it depends on the code.
func (e *Error) Temporary() bool {
	if e.Status != 0 {
		return e.Status == 429 || e.Status >= 500
	}
	switch e.Code {
	case "overloaded_error", "rate_limit_error", "timeout_error", "api_error", // Anthropic's
		"rate_limit_exceeded", "server_error", // OpenAI's
		"insufficient_system_resource": // DeepSeek's
		return true
	}
	status, err := strconv.Atoi(e.Code) // vLLM's and OpenRouter's are statuses
	return err == nil && (status == 429 || status >= 500)
}

// TooLong reports whether the request exceeded the context window of the model.
func (e *Error) TooLong() bool {
	if e.Code == "context_length_exceeded" {
		return true
	}
	m := strings.ToLower(e.Message)
	return e.Status == 400 && (strings.Contains(m, "maximum context length") || strings.Contains(m, "prompt is too long") || strings.Contains(m, "context window"))
}
