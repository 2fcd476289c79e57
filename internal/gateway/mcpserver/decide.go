package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// awaitOutcome describes how the outcome of a call arrives.
const awaitOutcome = `Call wait with this cursor and kinds ["mcp.request","mcp.response","mcp.reject","mcp.withdraw"]: the outcome is in reply to these ids.`

type proposeInput struct {
	Participant string          `json:"participant" jsonschema:"id of the participant that runs the tool"`
	Tool        string          `json:"tool" jsonschema:"name of its tool"`
	Arguments   json.RawMessage `json:"arguments,omitempty" jsonschema:"arguments of the tool, an object"`
	Context     string          `json:"context,omitempty" jsonschema:"the context of your reasoning; from its end on, the proposal counts as expired"`
	Expires     int             `json:"expires_seconds,omitempty" jsonschema:"after how many seconds it can no longer be approved; by default never"`
	Key         string          `json:"key,omitempty" jsonschema:"any text; a second call with the same key and arguments sends nothing"`
}

type pending struct {
	ID     string `json:"id"`
	Cursor string `json:"cursor"`
	Next   string `json:"next"`
}

// maxExpiry bounds how long a proposal can be approved, if it is limited.
const maxExpiry = 365 * 24 * 3600 // seconds

func (c *caller) propose(ctx context.Context, in proposeInput) (*pending, error) {
	host, params, err := toolCall(in.Participant, in.Tool, in.Arguments)
	if err != nil {
		return nil, err
	}
	if in.Expires < 0 || in.Expires > maxExpiry {
		return nil, fmt.Errorf("expires_seconds: expected 1 to %d", maxExpiry)
	}
	id, err := c.id("propose", in.Key, in)
	if err != nil {
		return nil, err
	}
	var expires any
	if in.Expires > 0 {
		expires = time.Now().Add(time.Duration(in.Expires) * time.Second).UTC().Format(time.RFC3339)
	}
	out, err := c.send(ctx, protocol.Envelope{
		ID: id, Kind: protocol.KindMCPProposal, Context: protocol.ContextPath(in.Context),
		Payload: object("method", "tools/call", "params", params, "participant_id", string(host[0]), "expires_at", expires),
	})
	if err != nil {
		return nil, err
	}
	next := awaitOutcome
	if in.Expires > 0 {
		next += " Without an outcome within expires_seconds the proposal has expired: nobody decided, and nobody rejected it."
	}
	return &pending{out.ID, out.Cursor, next}, nil
}

type decideInput struct {
	Proposal    string `json:"proposal" jsonschema:"id of the proposal"`
	Decision    string `json:"decision" jsonschema:"approve, reject or withdraw"`
	Reason      string `json:"reason,omitempty" jsonschema:"of reject and withdraw, such as unsafe, disagree or no_longer_needed"`
	Participant string `json:"participant,omitempty" jsonschema:"of approve: the participant that runs the tool, if the proposal names none"`
}

// decide approves, rejects or withdraws a proposal. The id of a decision follows
// from the decision, so that a retry decides once. The gateway checks that the
// caller may decide, and that the call is the proposed one. There is no elicitation: its
// answer would come from the same client, which can answer without its user.
func (c *caller) decide(ctx context.Context, in decideInput) (*pending, error) {
	if !protocol.ValidID(in.Proposal) {
		return nil, errors.New("proposal: expected the id of a proposal")
	}
	proposed, err := c.envelope(ctx, protocol.ID(in.Proposal))
	if err != nil {
		return nil, err
	}
	if proposed.Kind != protocol.KindMCPProposal {
		return nil, fmt.Errorf("proposal: %s is a %s", in.Proposal, proposed.Kind)
	}
	id, err := c.id("decide", in.Proposal, in)
	if err != nil {
		return nil, err
	}
	reason := in.Reason
	if reason == "" {
		reason = "other"
	}
	var e protocol.Envelope
	switch in.Decision {
	case "approve":
		if len(proposed.Payload) > maxTexts {
			return nil, fmt.Errorf("proposal: the call is longer than the %d KiB that are shown here; a person can decide about it in the page or with meup proposals", maxTexts>>10)
		}
		to := protocol.ParticipantID(in.Participant)
		if _, err := oneParticipant(in.Participant); err != nil && to != "" {
			return nil, err
		}
		if host := exchange.CallOf(proposed).Host; host != "" && to != "" && to != host {
			return nil, fmt.Errorf("participant: the proposal names %s", host)
		}
		e, err = exchange.Approval(proposed, id, to)
		if err != nil {
			return nil, err
		}
	case "reject":
		e = exchange.Rejection(proposed, reason)
	case "withdraw":
		e = protocol.Envelope{
			Kind: protocol.KindMCPWithdraw, To: proposed.To, Context: proposed.Context,
			Correlation: protocol.CorrelateTo(proposed.ID), Payload: object("reason", reason),
		}
	default:
		return nil, errors.New("decision: expected approve, reject or withdraw")
	}
	e.ID = id
	out, err := c.send(ctx, e)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeDuplicateID}) { // another participant used the id
		e.ID = ""
		out, err = c.send(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	return &pending{out.ID, out.Cursor, awaitOutcome}, nil
}
