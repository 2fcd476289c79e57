package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

type thinkInput struct {
	Action     string   `json:"action" jsonschema:"open, step, conclude or cancel"`
	Message    string   `json:"message" jsonschema:"the text; of cancel, the reason"`
	Context    string   `json:"context,omitempty" jsonschema:"the context that open has returned; for open, the context to open this one in"`
	ReplyTo    string   `json:"reply_to,omitempty" jsonschema:"of open: id of the message that you work on"`
	Kind       string   `json:"kind,omitempty" jsonschema:"of step: thought (the default), observation, hypothesis or question"`
	Confidence *float64 `json:"confidence,omitempty" jsonschema:"from 0 to 1"`
	Key        string   `json:"key,omitempty" jsonschema:"any text; a second call with the same key and arguments sends nothing"`
}

type thought struct {
	ID      string `json:"id"`
	Context string `json:"context" jsonschema:"pass it as context of the next step"`
	Cursor  string `json:"cursor" jsonschema:"pass it as after of wait"`
}

// steps are the kinds of a step.
var steps = map[string]protocol.Kind{
	"": protocol.KindReasoningThought, "thought": protocol.KindReasoningThought, "observation": protocol.KindReasoningObservation,
	"hypothesis": protocol.KindReasoningHypothesis, "question": protocol.KindReasoningQuestion,
}

func (c *caller) think(ctx context.Context, in thinkInput) (*thought, error) {
	e, err := in.envelope()
	if err != nil {
		return nil, err
	}
	e.ID, err = c.id("think", in.Key, in)
	if err != nil {
		return nil, err
	}
	path := e.Context
	if e.Kind == protocol.KindReasoningStart { // its id is the last segment of the new context
		if e.ID == "" {
			e.ID = protocol.ID(uuid.Must(uuid.NewV7()).String())
		}
		path = e.Context.Child(e.ID)
	}
	out, err := c.send(ctx, e)
	if err != nil {
		return nil, err
	}
	return &thought{ID: out.ID, Context: string(path), Cursor: out.Cursor}, nil
}

// envelope returns the envelope of an action, without its id.
func (in *thinkInput) envelope() (protocol.Envelope, error) {
	e, field := protocol.Envelope{Context: protocol.ContextPath(in.Context)}, "message"
	switch in.Action {
	case "open":
		e.Kind = protocol.KindReasoningStart
	case "step":
		kind, ok := steps[in.Kind]
		if !ok {
			return e, errors.New("kind: expected thought, observation, hypothesis or question")
		}
		e.Kind = kind
	case "conclude":
		e.Kind = protocol.KindReasoningConclusion
	case "cancel":
		e.Kind, field = protocol.KindReasoningCancel, "reason"
	default:
		return e, errors.New("action: expected open, step, conclude or cancel")
	}
	switch {
	case in.Action != "open" && in.Context == "":
		return e, fmt.Errorf("context: %s needs the context that open has returned", in.Action)
	case in.Action != "open" && in.ReplyTo != "":
		return e, errors.New("reply_to: only open takes it")
	case in.Action != "step" && in.Kind != "":
		return e, errors.New("kind: only step takes it")
	case in.Confidence != nil && (*in.Confidence < 0 || *in.Confidence > 1):
		return e, errors.New("confidence: expected 0 to 1")
	}
	if in.ReplyTo != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(in.ReplyTo))
	}
	switch {
	case in.Confidence == nil:
		e.Payload = object(field, in.Message)
	case e.Kind == protocol.KindReasoningStart:
		e.Payload = object(field, in.Message, "metadata", map[string]any{"confidence": *in.Confidence})
	default:
		e.Payload = object(field, in.Message, "confidence", *in.Confidence)
	}
	return e, nil
}
