package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Proposals is a page of proposals, the newest first.
type Proposals struct {
	Proposals []Proposal `json:"proposals"`
	// Next selects the next page, as before; it is valid if HasMore.
	Next    protocol.Seq `json:"next,omitempty"`
	HasMore bool         `json:"has_more"`
	// Partial means that the log was not read to its beginning: there may be older
	// proposals.
	Partial bool `json:"partial"`
}

// Proposal is a proposed call with its state, as far as the participant may see it.
type Proposal struct {
	// State is pending, fulfilled, rejected, withdrawn, expired, or settled: by an envelope that
	// the participant may not see, although it may decide.
	State    string      `json:"state"`
	Envelope RawEnvelope `json:"envelope"`
	// Call is the digest of the call, which opinions name.
	Call string `json:"call"`
	// MayDecide means that it is pending, and the participant that reads it may decide.
	MayDecide bool `json:"may_decide"`
	// DecidesFrom is when the participant that reads it may decide, as one of the people of a
	// later stage; nil: it may now, or never.
	DecidesFrom *time.Time `json:"decides_from,omitempty"`
	// Because says why it is asked for although the capabilities of the proposer allow the call,
	// while it is pending: "coder has used 5.00 of 5.00 USD today".
	Because string `json:"because,omitempty"`
	// SettledBy is the envelope that settled it; nil if it is pending, or expired at
	// its expires_at without a decision.
	SettledBy *Settlement `json:"settled_by,omitempty"`
}

// Settlement is the envelope that settled a proposal. Of one that the participant may not see it
// has Seq and From alone.
type Settlement struct {
	ID     protocol.ID            `json:"id,omitempty"`
	Seq    protocol.Seq           `json:"seq"`
	From   protocol.ParticipantID `json:"from"`
	Reason string                 `json:"reason,omitempty"`
}

// RawEnvelope is an envelope inside another document, with the bytes of its payload.
type RawEnvelope struct{ protocol.Envelope }

// MarshalJSON implements json.Marshaler.
func (e RawEnvelope) MarshalJSON() ([]byte, error) {
	return protocol.AppendEnvelope(nil, protocol.DialectMEUP01, &e.Envelope), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *RawEnvelope) UnmarshalJSON(text []byte) (err error) {
	e.Envelope, err = protocol.DecodeDelivered(append(json.RawMessage{}, text...)) // the envelope keeps the bytes
	return err
}

// Proposals returns the proposals of a space in a state ("": pending; all), newest
// first: at most limit (0: the gateway's default), before a Seq (0: all).
func (c *Client) Proposals(ctx context.Context, space, state string, limit int, before protocol.Seq) (*Proposals, error) {
	q := make(url.Values)
	if state != "" {
		q.Set("state", state)
	}
	setNumber(q, "limit", limit)
	setSeq(q, "before", before)
	var p Proposals
	if err := c.get(ctx, inSpace(space, "proposals"), q, &p); err != nil {
		return nil, fmt.Errorf("list proposals of space %q: %w", space, err)
	}
	return &p, nil
}

// Proposal returns a proposal, by its id and the position of its envelope.
func (c *Client) Proposal(ctx context.Context, space string, id protocol.ID, at protocol.Seq) (*Proposal, error) {
	page, err := c.Proposals(ctx, space, "all", 1, at+1)
	if err != nil {
		return nil, err
	}
	if len(page.Proposals) == 0 || page.Proposals[0].Envelope.ID != id {
		return nil, fmt.Errorf("no proposal %s: the gateway does not list it any more", id)
	}
	return &page.Proposals[0], nil
}

// Scopes is the response about what a grant with the approval of a proposal may allow.
type Scopes struct {
	Scopes []Scope `json:"scopes"` // the least general first
}

// Scope is a capability for the proposer that the participant can grant.
type Scope struct {
	ID         string          `json:"id"`    // same, similar or any
	Title      string          `json:"title"` // in words; it contains texts of the proposal
	Capability json.RawMessage `json:"capability"`
}

// Scopes returns what the participant can grant to the proposer of a call; to runs the tool ("":
// the participant that the proposal names).
func (c *Client) Scopes(ctx context.Context, space string, proposal protocol.ID, to protocol.ParticipantID) ([]Scope, error) {
	q := make(url.Values)
	if to != "" {
		q.Set("to", string(to))
	}
	var s Scopes
	if err := c.get(ctx, inSpace(space, "proposals", string(proposal), "scopes"), q, &s); err != nil {
		return nil, fmt.Errorf("list the scopes of proposal %s: %w", proposal, err)
	}
	return s.Scopes, nil
}
