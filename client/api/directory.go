package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Sources of a space or a participant.
const (
	SourceFile = "file" // the configuration file
	SourceLog  = "log"  // the log of the administrative space
)

// Directory lists the spaces of a gateway with their participants, as they are in
// effect.
type Directory struct {
	Administration string           `json:"administration"` // name of the administrative space
	Spaces         []DirectorySpace `json:"spaces"`         // sorted by name
}

// DirectorySpace is a space, or a glob of the configuration file.
type DirectorySpace struct {
	Name       string                 `json:"name"`
	Source     string                 `json:"source"`
	By         protocol.ParticipantID `json:"by,omitempty"` // of the log: who put it last
	At         time.Time              `json:"at,omitzero"`
	Visibility string                 `json:"visibility"`
	Dialect    string                 `json:"dialect"`
	Issuer     string                 `json:"issuer,omitempty"` // of JWTs that it accepts
	// Inactive is the reason why a space of the log has no effect.
	Inactive     string                 `json:"inactive,omitempty"`
	Participants []DirectoryParticipant `json:"participants"` // sorted by id
}

// DirectoryParticipant is a participant of a space.
type DirectoryParticipant struct {
	ID           protocol.ParticipantID `json:"id"`
	Source       string                 `json:"source"`
	By           protocol.ParticipantID `json:"by,omitempty"`
	At           time.Time              `json:"at,omitzero"`
	Capabilities []json.RawMessage      `json:"capabilities"`
	// Inactive is the reason why a participant of the log has no effect.
	Inactive string           `json:"inactive,omitempty"`
	Tokens   []DirectoryToken `json:"tokens,omitempty"` // of the log
}

// DirectoryToken describes a token. The token and its digest are not in it.
type DirectoryToken struct {
	ID      protocol.ID            `json:"id"` // of the envelope that issued it
	By      protocol.ParticipantID `json:"by"`
	At      time.Time              `json:"at"`
	Expires time.Time              `json:"expires,omitzero"`
	Expired bool                   `json:"expired,omitempty"`
}

// Directory returns the spaces of the gateway, or one of them; "": all. The token
// must be valid for the administrative space.
func (c *Client) Directory(ctx context.Context, space string) (*Directory, error) {
	q := make(url.Values)
	if space != "" {
		q.Set("space", space)
	}
	var d Directory
	if err := c.get(ctx, []string{"api", "admin", "spaces"}, q, &d); err != nil {
		return nil, fmt.Errorf("list the spaces of the gateway: %w", err)
	}
	return &d, nil
}
