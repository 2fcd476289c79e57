package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// SpacePolicy is the part of a configuration that decides about the envelopes of a space.
type SpacePolicy struct {
	Visibility   string                                       `json:"visibility"` // addressed or everyone
	Decide       string                                       `json:"decide"`     // callers or explicit
	Participants map[protocol.ParticipantID][]json.RawMessage `json:"participants"`
	Guests       []json.RawMessage                            `json:"guests"` // of users of the issuer; nil: there is none
	// Roots are the folders to which the paths of participants are relative.
	Roots map[protocol.ParticipantID]string `json:"roots,omitempty"`
	// Deciders says who settles proposals; nil: whoever has the right to.
	Deciders *DecidersPolicy `json:"deciders,omitempty"`
}

// DecidersPolicy is the part of a configuration that says who settles proposals.
type DecidersPolicy struct {
	HumanOnly []json.RawMessage `json:"human_only,omitempty"` // patterns of calls on which only people decide
	Rules     []RulePolicy      `json:"rules,omitempty"`
	Reviewers []ReviewerPolicy  `json:"reviewers,omitempty"`
	People    []StagePolicy     `json:"people,omitempty"`
}

// RulePolicy is a rule that decides on calls.
type RulePolicy struct {
	Capability json.RawMessage `json:"capability"`
	Reason     string          `json:"reason,omitempty"` // of a rejection
}

// ReviewerPolicy is a participant that judges proposals.
type ReviewerPolicy struct {
	ID   protocol.ParticipantID `json:"id"`
	Mode string                 `json:"mode"`          // in which it begins: shadow or decide
	For  []json.RawMessage      `json:"for,omitempty"` // patterns of the calls that it may decide on; empty: all
	// What a promotion needs: decisions of people on its opinions, and how many of the last
	// ones without a miss.
	Decisions   int `json:"decisions"`
	WithoutMiss int `json:"without_miss"`
}

// StagePolicy is people who may decide from a time after the proposal on.
type StagePolicy struct {
	People       []string `json:"people"` // ids, or globs of ids
	AfterSeconds float64  `json:"after_seconds,omitempty"`
}

// SafetyPolicy describes safety settings.
type SafetyPolicy struct {
	Digest string   `json:"digest"` // equal for equal settings
	Kinds  []string `json:"kinds"`  // that are inspected
	Rules  []string `json:"rules"`  // their names
}

// Policy is the policy in force of a space.
type Policy struct {
	SpacePolicy
	// Added are the participants that the administrative space has added to the file's.
	Added  []protocol.ParticipantID `json:"added"`
	Safety SafetyPolicy             `json:"safety"`
}

// Policy returns the policy in force of a space. The participant of the token must observe
// the space, or be allowed to change rights.
func (c *Client) Policy(ctx context.Context, space string) (*Policy, error) {
	var p Policy
	if err := c.get(ctx, inSpace(space, "policy"), nil, &p); err != nil {
		return nil, fmt.Errorf("read the policy of space %q: %w", space, err)
	}
	return &p, nil
}
