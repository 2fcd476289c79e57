package api

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Decisions is a page of the decisions about the calls of a space, the newest first.
type Decisions struct {
	Decisions []CallDecision `json:"decisions"`
	// Policy is the digest of the policy that is in force now.
	Policy string `json:"policy"`
	// Next selects the next page, as before; it is valid if HasMore.
	Next    protocol.Seq `json:"next,omitempty"`
	HasMore bool         `json:"has_more"`
	// Partial means that the log was not read to its beginning: there may be older
	// decisions.
	Partial bool `json:"partial"`
}

// CallDecision is what became of a call, and why.
type CallDecision struct {
	// ID and Seq are of the envelope that decided: the request, the rejection or the
	// withdrawal. Of a proposal that nobody decided on, they are its own.
	ID  protocol.ID  `json:"id"`
	Seq protocol.Seq `json:"seq"`
	At  time.Time    `json:"at"`

	Caller protocol.ParticipantID `json:"caller"`         // who wanted the call: its proposer or its sender
	Host   protocol.ParticipantID `json:"host,omitempty"` // the participant that runs the tool, if it is known
	Tool   string                 `json:"tool"`           // or the method, if it is not tools/call
	// Arguments are those of the tool, or the parameters, as JSON; what was cut ends with "…".
	Arguments string `json:"arguments,omitempty"`
	// Call is the SHA-256 of the method and the parameters, without the metadata of
	// their sender.
	Call     string      `json:"call"`
	Proposal protocol.ID `json:"proposal,omitempty"`
	Edited   bool        `json:"edited,omitempty"` // the call that was made differs from the proposed one

	Outcome string `json:"outcome"`          // made, rejected, withdrawn, expired
	Reason  string `json:"reason,omitempty"` // of a rejection or a withdrawal

	Decided DecidedBy `json:"decided"`
	// Undone is the demotion that called the decision of a reviewer wrong; nil: there is none.
	Undone *Undoing `json:"undone,omitempty"`
	// Today is what the policy in force says about the call; nil if the reader may not
	// see it.
	Today *Verdict `json:"today,omitempty"`
}

// Undoing is a demotion of a reviewer that names one of its decisions.
type Undoing struct {
	ID     protocol.ID            `json:"id"`
	By     protocol.ParticipantID `json:"by"`
	At     time.Time              `json:"at"`
	Reason string                 `json:"reason,omitempty"`
}

// DecidedBy says who or what decided on a call.
type DecidedBy struct {
	By string `json:"by"` // rule, grant, participant, nobody, unknown
	// Decider is rule, reviewer or person, of the deciders of the space; "": it had none, or
	// they did not decide.
	Decider string `json:"decider,omitempty"`
	// Participant is who approved, rejected or withdrew a proposal.
	Participant protocol.ParticipantID `json:"participant,omitempty"`
	// When is at_once (without a proposal), in_time, or late: the proposal had expired,
	// or the reasoning that it belongs to had ended.
	When string `json:"when,omitempty"`
	// Policy is the digest of the policy that was in force. Rule is the capability that
	// allowed the envelope, as JSON (one that was cut ends with "…"), and Grant the grant
	// that it came with. Both are for the participant that holds it and for those who see
	// the policy.
	Policy string      `json:"policy,omitempty"`
	Rule   string      `json:"rule,omitempty"`
	Grant  protocol.ID `json:"grant,omitempty"`
}

// Verdict is what a policy says about a call.
type Verdict struct {
	Verdict string `json:"verdict"` // allowed, asked, refused
	// Rule is the capability that allows or denies the call, as JSON; "": none does.
	Rule string `json:"rule,omitempty"`
}

// DecisionQuery selects decisions; the zero query selects the newest ones.
type DecisionQuery struct {
	Since  time.Time    // only those in the log from this time on; zero: no bound
	Before protocol.Seq // only those before this Seq; 0: all
	Limit  int          // 0: the gateway's default

	Participant protocol.ParticipantID // that called, decided, or runs the tool
	Tool        string
	Proposal    protocol.ID
}

// Decisions returns the decisions about the calls of a space, newest first.
func (c *Client) Decisions(ctx context.Context, space string, query DecisionQuery) (*Decisions, error) {
	q := make(url.Values)
	if !query.Since.IsZero() {
		q.Set("since", query.Since.UTC().Format(time.RFC3339Nano))
	}
	setSeq(q, "before", query.Before)
	setNumber(q, "limit", query.Limit)
	for name, value := range map[string]string{"participant": string(query.Participant), "tool": query.Tool, "proposal": string(query.Proposal)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var d Decisions
	if err := c.get(ctx, inSpace(space, "decisions"), q, &d); err != nil {
		return nil, fmt.Errorf("list decisions of space %q: %w", space, err)
	}
	return &d, nil
}
