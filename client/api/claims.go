package api

import (
	"context"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Claims are what participants of a space work on.
type Claims struct {
	Claims []Claim `json:"claims"` // in the order of their paths and names
}

// Claim is a path or a name that a participant has claimed.
type Claim struct {
	Path      string                 `json:"path,omitempty"` // cleaned; "": it is a name
	Name      string                 `json:"name,omitempty"`
	By        protocol.ParticipantID `json:"by"`
	ID        protocol.ID            `json:"id"` // of the envelope
	At        time.Time              `json:"at"`
	ExpiresAt time.Time              `json:"expires_at"`
	Reason    string                 `json:"reason,omitempty"`
}

// Claims returns the claims of a space that are in force.
func (c *Client) Claims(ctx context.Context, space string) (*Claims, error) {
	var list Claims
	if err := c.get(ctx, inSpace(space, "claims"), nil, &list); err != nil {
		return nil, fmt.Errorf("read the claims of space %q: %w", space, err)
	}
	return &list, nil
}
