package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Backtest is what another configuration would have decided over the log of spaces.
type Backtest struct {
	Spaces    []string  `json:"spaces"`
	From      time.Time `json:"from"` // of the first and the last envelope
	To        time.Time `json:"to"`
	Baseline  string    `json:"baseline"` // record: what happened; current: and what the configuration in force says
	Envelopes int       `json:"envelopes"`

	// Different is the number of envelopes that the configuration decides otherwise. The
	// next five are its parts, by what becomes of the envelope.
	Different int `json:"different"`
	Allowed   int `json:"allowed"` // without a question
	Refused   int `json:"refused"`
	Asked     int `json:"asked"`
	Masked    int `json:"masked"`
	Unmasked  int `json:"unmasked"`

	// LetThrough is the part of Allowed that somebody rejected.
	LetThrough int `json:"let_through_rejected"`
	// Unjudged is the number of envelopes that the log no longer has enough about.
	Unjudged int `json:"unjudged"`
	// Unseen is the number of entries that the token may not see.
	Unseen int `json:"unseen"`

	Groups []BacktestGroup `json:"groups"`
	// MoreGroups is the number of groups that a gateway has left out: the last ones.
	MoreGroups int `json:"more_groups,omitempty"`

	// Summary says in a sentence what the configuration would have changed.
	Summary string `json:"summary,omitempty"`
	// Since is the time from which envelopes were decided; zero: all. Partial means that it
	// is later than the one that was asked for.
	Since   time.Time `json:"since,omitzero"`
	Partial bool      `json:"partial,omitempty"`
	// Warnings are about the configuration, with line and column.
	Warnings []string `json:"warnings,omitempty"`
}

// BacktestGroup is the envelopes of one participant and kind that one rule decides otherwise.
type BacktestGroup struct {
	Space       string                   `json:"space"`
	Outcome     string                   `json:"outcome"`               // allowed, asked, refused, masked, unmasked
	RejectedBy  []protocol.ParticipantID `json:"rejected_by,omitempty"` // who rejected the calls that would be made, or refused
	ApprovedBy  []protocol.ParticipantID `json:"approved_by,omitempty"` // who approved the calls that would be refused
	Participant protocol.ParticipantID   `json:"participant"`
	Kind        protocol.Kind            `json:"kind"`
	Rule        string                   `json:"rule,omitempty"`   // that decides: a capability, or names of safety rules
	Why         string                   `json:"why,omitempty"`    // if there is no rule, or more to say
	Before      string                   `json:"before,omitempty"` // the capability that allows it in the configuration in force
	Count       int                      `json:"count"`
	Examples    []BacktestExample        `json:"examples"`
}

// BacktestExample is an envelope of a group.
type BacktestExample struct {
	ID       protocol.ID            `json:"id"`
	Seq      protocol.Seq           `json:"seq"`
	TS       time.Time              `json:"ts"`
	What     string                 `json:"what"`
	Rejected protocol.ParticipantID `json:"rejected_by,omitempty"`
	Approved protocol.ParticipantID `json:"approved_by,omitempty"`
	Reason   string                 `json:"reason,omitempty"` // of the rejection
	Open     string                 `json:"open,omitempty"`   // how to read it; a gateway does not say it
}

// Backtest decides the envelopes of a space since a time (zero: the gateway's default) again,
// under the text of a configuration. The participant of the token must observe the space, or
// be allowed to change rights. Of a configuration with errors, the [StatusError] has them,
// with their lines.
func (c *Client) Backtest(ctx context.Context, space string, configuration []byte, since time.Time) (*Backtest, error) {
	r, err := c.request(ctx, http.MethodPost, inSpace(space, "backtest"), sinceOf(since), bytes.NewReader(configuration))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/yaml")
	body, _, err := c.do(r)
	if err != nil {
		return nil, fmt.Errorf("backtest a configuration of space %q: %w", space, err)
	}
	var b Backtest
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return &b, nil
}
