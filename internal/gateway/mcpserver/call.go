package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/meup-protocol/meup/protocol"
)

// States of a call.
const (
	callAnswered = "answered"
	callPending  = "pending"
	callProposed = "proposed"
)

type toolsInput struct {
	Participant string `json:"participant" jsonschema:"id of the participant"`
	Seconds     int    `json:"seconds,omitempty" jsonschema:"how long to wait at most, up to 50, or 600 if the client requests progress; 25 by default"`
}

type callInput struct {
	Participant string          `json:"participant" jsonschema:"id of the participant that runs the tool"`
	Tool        string          `json:"tool" jsonschema:"name of its tool"`
	Arguments   json.RawMessage `json:"arguments,omitempty" jsonschema:"arguments of the tool, an object"`
	Context     string          `json:"context,omitempty" jsonschema:"the context of your reasoning"`
	Thought     string          `json:"thought,omitempty" jsonschema:"id of the step that explains the call"`
	Seconds     int             `json:"seconds,omitempty" jsonschema:"how long to wait at most, up to 50, or 600 if the client requests progress; 25 by default"`
	Key         string          `json:"key,omitempty" jsonschema:"any text; a second call with the same key and arguments makes no second call and returns the answer of the first"`
}

type answered struct {
	Note   string   `json:"note"`
	State  string   `json:"state" jsonschema:"answered; pending: no answer in time; proposed: you may not make the call, and others may approve it"`
	ID     string   `json:"id" jsonschema:"of the request or the proposal"`
	Cursor string   `json:"cursor"`
	Next   string   `json:"next,omitempty" jsonschema:"what to do if there is no answer yet"`
	Answer *message `json:"answer,omitempty" jsonschema:"the JSON-RPC response, with result or error"`
}

func (c *caller) tools(ctx context.Context, in toolsInput) (*answered, error) {
	host, err := oneParticipant(in.Participant)
	if err != nil {
		return nil, err
	}
	return c.request(ctx, requestTo(host[0], "", methodList, struct{}{}), "", in.Seconds)
}

func (c *caller) call(ctx context.Context, in callInput) (*answered, error) {
	host, params, err := toolCall(in.Participant, in.Tool, in.Arguments)
	if err != nil {
		return nil, err
	}
	same := in
	same.Seconds = 0 // a retry may wait for another time
	id, err := c.id("call", in.Key, same)
	if err != nil {
		return nil, err
	}
	e := requestTo(host[0], id, methodCall, params)
	e.Context = protocol.ContextPath(in.Context)
	if in.Thought != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(in.Thought))
	}
	out, err := c.request(ctx, e, in.Key, in.Seconds)
	if !errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
		return out, err
	}
	proposed, failed := c.propose(ctx, proposeInput{Participant: in.Participant, Tool: in.Tool, Arguments: in.Arguments, Context: in.Context, Key: in.Key})
	if failed != nil {
		return nil, notProposed(err, failed)
	}
	return &answered{Note: notice, State: callProposed, ID: proposed.ID, Cursor: proposed.Cursor, Next: proposed.Next}, nil
}

// toolCall checks the host and the name of a tool, and returns the host and the
// params of tools/call.
func toolCall(participant, tool string, arguments json.RawMessage) ([]protocol.ParticipantID, map[string]any, error) {
	host, err := oneParticipant(participant)
	if err != nil {
		return nil, nil, err
	}
	if tool == "" {
		return nil, nil, errors.New("tool: expected the name of a tool")
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	return host, map[string]any{"name": tool, "arguments": arguments}, nil
}

// awaitResponse tells how the response of a call arrives.
const awaitResponse = `Call wait with this cursor and kinds ["mcp.response"], or call again with the same key: the answer is in reply to this id.`

// request sends a request to one participant and waits for its response. With the
// same key, it can be sent again.
func (c *caller) request(ctx context.Context, e protocol.Envelope, key string, seconds int) (*answered, error) {
	patience, err := c.patienceOf(seconds)
	if err != nil {
		return nil, err
	}
	got, at, err := c.ask(ctx, &e, key, func(n *protocol.Envelope) { c.asked(ctx, e.To[0], e.ID, n, false) }, patience)
	if err != nil {
		return nil, err
	}
	out := &answered{Note: notice, State: callPending, ID: string(e.ID), Cursor: at.String()}
	if got != nil {
		m := c.message(got)
		m.Text, m.Omitted = bounded(string(got.Payload), maxTexts)
		out.State, out.Answer = callAnswered, &m
		return out, nil
	}
	out.Next = awaitResponse
	return out, nil
}
