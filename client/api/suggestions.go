package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Suggestions is what the decisions in the log of a space suggest.
type Suggestions struct {
	Space     string    `json:"space"`
	From      time.Time `json:"from"` // of the first and the last decided proposal
	To        time.Time `json:"to"`
	Proposals int       `json:"proposals"` // that were settled
	Approved  int       `json:"approved"`
	Rejected  int       `json:"rejected"`

	Suggestions []Suggestion `json:"suggestions"`
	// Dismissed is the number of suggestions that are left out because somebody dismissed
	// them.
	Dismissed int `json:"dismissed"`
	// Fewer is how many times all suggestions together would have asked less, and
	// LetThrough how many calls that were rejected they would have let through.
	Fewer      int `json:"asked_fewer"`
	LetThrough int `json:"let_through_rejected"`

	People []LeftToPeople `json:"left_to_people"`

	Unused []UnusedRight `json:"unused"`
	// UnusedUnknown says why it is not known which rights nobody used.
	UnusedUnknown string `json:"unused_unknown,omitempty"`
	// Unseen is the number of entries that the token may not see.
	Unseen int `json:"unseen"`

	// Since is the time from which decisions count; zero: all. Partial means that it is
	// later than the one that was asked for.
	Since   time.Time `json:"since,omitzero"`
	Partial bool      `json:"partial,omitempty"`
}

// Suggestion is a rule for the calls of one tool by one participant.
type Suggestion struct {
	ID   string `json:"id"`   // the same for the same rule
	Does string `json:"does"` // allow, deny
	// Participant is whose calls the rule is for. A deny rule is for those of everybody:
	// who has proposed most of them.
	Participant protocol.ParticipantID `json:"participant"`
	Host        protocol.ParticipantID `json:"host"` // "": the rule is for any host
	Tool        string                 `json:"tool"`
	Words       string                 `json:"words"` // what the rule matches; it contains texts of calls

	Capabilities []json.RawMessage        `json:"capabilities"`
	Approved     int                      `json:"approved"` // decisions that support an allowing rule
	Rejected     int                      `json:"rejected"` // decisions that support a deny rule
	By           []protocol.ParticipantID `json:"by"`       // whose decisions they are
	Days         int                      `json:"days"`     // on which they were made
	// Fewer is how many times it would have asked less, beside the other suggestions.
	Fewer      int `json:"asked_fewer"`
	LetThrough int `json:"let_through_rejected"` // always 0

	For     []DecidedCall `json:"for"`
	Against []DecidedCall `json:"against"` // opposite decisions about the same tool, which the rule does not match

	// Rule is what a deny rule is among the rules of the deciders, with the reason that was
	// given most often; absent for an allowing rule.
	Rule json.RawMessage `json:"rule,omitempty"`
	// ConfiguredIn is the space, or the glob, that has the participant in the configuration file,
	// and Patch is for it; "": the file does not have it, so the rule has to be granted.
	ConfiguredIn string `json:"configured_in"`
	Patch        string `json:"patch,omitempty"` // YAML

	// Grant is the payload of the capability.grant that makes the rule; absent for a deny
	// rule, which nobody can grant. Grantable means that the participant that reads it may
	// send this grant.
	Grant     json.RawMessage `json:"grant,omitempty"`
	Grantable bool            `json:"grantable"`
	// Dismissal is the payload of the policy.dismiss that dismisses it.
	Dismissal json.RawMessage `json:"dismissal"`
}

// LeftToPeople is a group of calls that were approved often, for which no rule is suggested.
type LeftToPeople struct {
	Participant protocol.ParticipantID `json:"participant"`
	Host        protocol.ParticipantID `json:"host"`
	Tool        string                 `json:"tool"`
	Words       string                 `json:"words"`
	Why         string                 `json:"why"`
	Approved    int                    `json:"approved"`
	For         []DecidedCall          `json:"for"`
	Against     []DecidedCall          `json:"against"`
}

// UnusedRight is a right that no envelope needed for some time.
type UnusedRight struct {
	Participant  protocol.ParticipantID `json:"participant"`
	Capabilities []json.RawMessage      `json:"capabilities"`
	Grant        protocol.ID            `json:"grant,omitempty"`    // of a granted right
	Last         *time.Time             `json:"last_use,omitempty"` // absent: never in this log
}

// DecidedCall is a proposed call and how it was decided.
type DecidedCall struct {
	ID       protocol.ID            `json:"id"` // of the proposal
	Seq      protocol.Seq           `json:"seq"`
	TS       time.Time              `json:"ts"`
	What     string                 `json:"what"`
	Outcome  string                 `json:"outcome"` // approved, edited, rejected
	By       protocol.ParticipantID `json:"by"`
	Decision protocol.ID            `json:"decision"` // the envelope that decided
	Reason   string                 `json:"reason,omitempty"`
	Open     string                 `json:"open,omitempty"` // how to read it; a gateway does not say it
}

// Suggestions returns what the decisions in a space since a time (zero: the gateway's default)
// suggest. The participant of the token must observe the space, or be allowed to change
// rights.
func (c *Client) Suggestions(ctx context.Context, space string, since time.Time) (*Suggestions, error) {
	var s Suggestions
	if err := c.get(ctx, inSpace(space, "suggestions"), sinceOf(since), &s); err != nil {
		return nil, fmt.Errorf("read the suggestions for space %q: %w", space, err)
	}
	return &s, nil
}

// sinceOf returns the query of a request about what happened since a time; zero: since the
// gateway's default.
func sinceOf(since time.Time) url.Values {
	q := make(url.Values)
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
	return q
}
