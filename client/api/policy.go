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
