// Package llm talks to language models: one narrow interface, and a directory
// for each provider's wire format.
package llm

import (
	"context"
	"encoding/json"
)

// Role says whose a message is.
type Role string

// The roles.
const (
	System     Role = "system"
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolResult Role = "tool"
)

// Message is one of a conversation with a model.
type Message struct {
	Role Role
	Text string

	// Calls are those that an Assistant made.
	Calls []ToolCall
	// Opaque is the provider's own form of an Assistant's turn (thinking blocks
	// with their signatures, redacted ones, reasoning fields). It goes back to
	// the provider that made it verbatim; others do not look at it.
	Opaque Opaque

	// CallID says which call a ToolResult answers, IsError that it failed.
	CallID  string
	IsError bool
}

// Opaque is a provider's own data.
type Opaque struct {
	Provider string // empty: none
	Data     json.RawMessage
}

// ToolCall is a call that a model asks for. Arguments is a JSON object, or
// what the model wrote in its place, when that is none.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// Tool is one that a model may call.
type Tool struct {
	Name        string // 1 to 64 of A-Z a-z 0-9 _ -
	Description string
	InputSchema json.RawMessage
}

// ToolChoice says whether a model must, may or must not call tools; any other
// value than these names the one that it must call.
type ToolChoice string

// The choices. Auto is the zero value.
const (
	Auto     ToolChoice = ""
	None     ToolChoice = "none"
	Required ToolChoice = "required"
)

// Request is what a model is asked.
type Request struct {
	Messages  []Message
	Tools     []Tool
	Choice    ToolChoice
	MaxTokens int // of the answer; 0 stands for the provider's default
	// Effort is how much the model should think: "", "low", "medium", "high".
	// Empty leaves it to the model.
	Effort string
}

// DeltaKind says what a Delta is a piece of.
type DeltaKind int

// The kinds of a Delta.
const (
	TextDelta     DeltaKind = iota // what the model says
	ThinkingDelta                  // its raw thinking, or the summary of it
)

// Delta is a piece of an answer that is still growing.
type Delta struct {
	Kind DeltaKind
	Text string
}

// Stop says why an answer ended.
type Stop string

// The reasons.
const (
	StopEnd     Stop = "stop"       // the model had finished
	StopTools   Stop = "tool_calls" // it waits for the results of its calls
	StopLength  Stop = "length"     // MaxTokens, or the model's own bound
	StopRefusal Stop = "refusal"    // the provider or the model would not
	StopOther   Stop = "other"
)

// Usage counts tokens. Input includes those read from a cache, Output those
// that were thought.
type Usage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	Cached    int `json:"cached_tokens,omitempty"`
	Reasoning int `json:"reasoning_tokens,omitempty"`
}

// Response is a whole answer.
type Response struct {
	ID    string // the provider's
	Model string // that answered, as the provider names it
	// Message is the assistant's turn: Text without thinking, Calls, Opaque.
	Message Message
	// Thinking is the raw thinking, or the summary that the provider gives of
	// it; "" when there was none. Not for everybody's eyes. What the provider
	// redacted is in Message.Opaque alone.
	Thinking string
	Stop     Stop
	Usage    Usage
}

// Model is a language model. Its methods may be called at the same time.
type Model interface {
	// Generate asks and returns the whole answer. While it grows, on is called
	// with its pieces, in order, by this goroutine; on may be nil. Errors:
	// *Error for what the provider refuses, ErrCut for an answer that broke
	// off, ctx's own, and those of the network.
	Generate(ctx context.Context, req Request, on func(Delta)) (Response, error)
	// Name is the model's name at its provider, Provider the provider's.
	Name() string
	Provider() string
}
