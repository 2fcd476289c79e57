// Package llm talks to language models: [Model] is the interface of one, and [Client]
// sends the requests of a provider. Its directories implement the wire format of each
// provider. The SDKs of the providers are not used: each adds 12 to 25 MB to a program,
// and leaves the differences between servers of one format to its caller.
package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"
)

// Role is the author of a message.
type Role string

// Values of Role.
const (
	System     Role = "system"
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolResult Role = "tool"
)

// Message is one message of a conversation with a model.
type Message struct {
	Role Role
	Text string

	// Calls are the tool calls of an Assistant's message.
	Calls []ToolCall
	// Opaque is the provider's own form of an Assistant's turn (thinking blocks
	// with their signatures, redacted blocks, reasoning fields). It is returned
	// verbatim to the provider that made it; other providers ignore it.
	Opaque ProviderState

	// CallID is the call that a ToolResult answers; IsError reports that the
	// call failed.
	CallID  string
	IsError bool
}

// ProviderState holds a provider's own data.
type ProviderState struct {
	Provider string // empty: none
	Data     json.RawMessage
}

// ToolCall is a call that a model requests. Arguments is a JSON object, or the
// model's text if that is not an object.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// Tool is a tool that a model may call.
type Tool struct {
	Name        string // 1 to 64 of A-Z a-z 0-9 _ -
	Description string
	InputSchema json.RawMessage
}

// ToolChoice sets whether a model must, may or must not call tools. Any other
// value is the name of the tool that it must call.
type ToolChoice string

// Values of ToolChoice. Auto is the zero value.
const (
	Auto     ToolChoice = ""
	None     ToolChoice = "none"
	Required ToolChoice = "required"
)

// Request is a request to a model.
type Request struct {
	Messages  []Message
	Tools     []Tool
	Choice    ToolChoice
	MaxTokens int // of the answer; 0 means the provider's default
	// Effort is the amount of thinking: "", "low", "medium", "high". Empty
	// leaves it to the model.
	Effort string
	// Schema is a JSON schema that the text of the answer must match; empty
	// means free text. In every object of it, additionalProperties is false and
	// all properties are required. Some servers ignore or reject it.
	Schema json.RawMessage
	// Whole requests the complete answer without pieces. A request for it is
	// retried even if the server fails during the answer.
	Whole bool
}

// DeltaKind is the kind of content in a Delta.
type DeltaKind int

// Values of DeltaKind.
const (
	TextDelta     DeltaKind = iota // the model's text
	ThinkingDelta                  // its raw thinking, or a summary of it
	CallDelta                      // a call begins; there is no text
)

// Delta is a piece of an incomplete answer.
type Delta struct {
	Kind DeltaKind
	Text string
}

// Stop is the reason why an answer ended.
type Stop string

// Values of Stop.
const (
	StopEnd     Stop = "stop"       // the model finished
	StopTools   Stop = "tool_calls" // the model waits for the results of its calls
	StopLength  Stop = "length"     // MaxTokens, or the model's own bound
	StopRefusal Stop = "refusal"    // the provider or the model refused
	StopOther   Stop = "other"
)

// Response is a complete answer.
type Response struct {
	ID    string // the provider's id
	Model string // the model that answered, as named by the provider
	// Message is the assistant's turn: Text without thinking, Calls, Opaque.
	Message Message
	// Thinking is the raw thinking, or the provider's summary of it; "" if
	// there was none. Its audience is restricted. Redacted thinking is only in
	// Message.Opaque.
	Thinking string
	Stop     Stop
	Usage    Usage
}

// Event is a piece of an answer, or the complete answer.
type Event struct {
	Delta              // a piece, if Response is nil
	Response *Response // the complete answer, which comes last
}

// Model is a language model. Its methods are safe for concurrent use.
type Model interface {
	// Generate returns the answer to a request: its pieces in order, as they
	// arrive, then the complete answer. The request is sent when the loop over
	// the sequence begins, and ended when it is left. An error ends the
	// sequence: *Error for a provider's refusal, ErrTruncated for an answer that
	// its transport broke off, ctx's own, network errors before an answer, and
	// others for an answer that cannot be decoded.
	Generate(ctx context.Context, req Request) iter.Seq2[Event, error]
	// Name is the model's name at its provider; Provider names the provider.
	Name() string
	Provider() string
}

// Ask returns the complete answer of a model, and counts it with the Meter of ctx,
// if there is one, as it does an answer that breaks off. It calls on with each piece; on
// may be nil.
func Ask(ctx context.Context, m Model, req Request, on func(Delta)) (Response, error) {
	req.Whole = on == nil
	meter, begun := meterOf(ctx), false
	for event, err := range m.Generate(ctx, req) {
		switch {
		case err != nil:
			if begun || errors.Is(err, ErrTruncated) {
				meter.add(Spent{Requested: m.Name(), Model: m.Name(), Uncounted: 1})
			}
			return Response{}, err
		case event.Response != nil:
			spent := Spent{Requested: m.Name(), Model: cmp.Or(event.Response.Model, m.Name()), Usage: event.Response.Usage}
			if spent.Usage == (Usage{}) {
				spent.Uncounted = 1
			}
			meter.add(spent)
			return *event.Response, nil
		case on != nil:
			begun = true
			on(event.Delta)
		}
	}
	return Response{}, ErrTruncated
}

// ErrTruncated: the answer ended early.
var ErrTruncated = errors.New("answer cut off")

// Error is a provider's refusal. Its text never contains a key.
type Error struct {
	Provider   string
	Status     int    // of HTTP, or of a refusal within a stream; 0 if that has none
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

// plainCode matches a provider's error code that is safe to publish.
var plainCode = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// Public describes the error without the provider's message, which may quote a
// request or an address.
func (e *Error) Public() string {
	if e.Status == 0 && !plainCode.MatchString(e.Code) {
		return "the model refused"
	}
	return "the model's provider answered with " + PublicCode(e.Status, e.Code)
}

// PublicCode formats a status, and a code if it is safe to publish.
func PublicCode(status int, code string) string {
	var parts []string
	if status != 0 {
		parts = append(parts, fmt.Sprintf("status %d", status))
	}
	if plainCode.MatchString(code) {
		parts = append(parts, code)
	}
	if len(parts) == 0 {
		return "an error"
	}
	return strings.Join(parts, ", ")
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
	return false
}

// TooLong reports whether the request exceeded the context window of the model.
func (e *Error) TooLong() bool {
	if e.Code == "context_length_exceeded" {
		return true
	}
	m := strings.ToLower(e.Message)
	return e.Status == 400 && (strings.Contains(m, "maximum context length") || strings.Contains(m, "prompt is too long") || strings.Contains(m, "context window"))
}

// Marshal returns the JSON form of v, which must have one, without HTML
// escapes.
func Marshal(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("{}")
	}
	return bytes.TrimSpace(b.Bytes())
}
