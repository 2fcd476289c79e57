package api

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// States of a context. A context is abandoned if its opener has left without
// closing it.
const (
	ContextReasoning = "reasoning"
	ContextConcluded = "concluded"
	ContextCancelled = "cancelled"
	ContextAbandoned = "abandoned"
)

// Context is one node of the tree of contexts.
type Context struct {
	Path    protocol.ContextPath   `json:"path"`
	Opener  protocol.ParticipantID `json:"opener"`
	State   string                 `json:"state"`
	Started time.Time              `json:"started"`
	Ended   *time.Time             `json:"ended,omitempty"`
	Elapsed float64                `json:"elapsed"` // seconds until the end, or until now
	// Implicit means that there was no reasoning.start; the opener is the first
	// participant that wrote into the context.
	Implicit bool          `json:"implicit,omitempty"`
	Answers  []protocol.ID `json:"answers,omitempty"` // the envelopes that its start correlates to
	Message  string        `json:"message,omitempty"` // of its start
	Counts   Counts        `json:"counts"`
	Seq      protocol.Seq  `json:"seq"` // of its first envelope
	Children []Context     `json:"children"`
}

// Counts counts the envelopes of a context, without its descendants.
type Counts struct {
	Envelopes int `json:"envelopes"`
	Steps     int `json:"steps"`
	Requests  int `json:"requests"`
	Responses int `json:"responses"`
	Errors    int `json:"errors"`
}

// Contexts returns the tree of a space's contexts. With a path, it returns that
// context and its descendants.
func (c *Client) Contexts(ctx context.Context, space string, path protocol.ContextPath) ([]Context, error) {
	if path == "" {
		var all struct {
			Contexts []Context `json:"contexts"`
		}
		if err := c.get(ctx, inSpace(space, "contexts"), nil, &all); err != nil {
			return nil, fmt.Errorf("list contexts of space %q: %w", space, err)
		}
		return all.Contexts, nil
	}
	var one Context
	segments := append([]string{"contexts"}, strings.Split(string(path), "/")...)
	if err := c.get(ctx, inSpace(space, segments...), nil, &one); err != nil {
		return nil, fmt.Errorf("read context %s: %w", path, err)
	}
	return []Context{one}, nil
}

// Roster is who is connected to a space.
type Roster struct {
	You          protocol.Participant   `json:"you"` // connected or not; without Serves
	Participants []protocol.Participant `json:"participants"`
	// Paused are the paused participants, connected or not.
	Paused []protocol.ParticipantID `json:"paused"`
}

// Connected reports whether a participant is connected.
func (r *Roster) Connected(id protocol.ParticipantID) bool {
	return slices.ContainsFunc(r.Participants, func(p protocol.Participant) bool { return p.ID == id })
}

// Roster returns the connected participants of a space and the participant of the token,
// with their capabilities.
func (c *Client) Roster(ctx context.Context, space string) (*Roster, error) {
	var r Roster
	if err := c.get(ctx, inSpace(space, "participants"), nil, &r); err != nil {
		return nil, fmt.Errorf("list participants of space %q: %w", space, err)
	}
	return &r, nil
}

// Participants returns the connected participants of a space, with their
// capabilities.
func (c *Client) Participants(ctx context.Context, space string) ([]protocol.Participant, error) {
	r, err := c.Roster(ctx, space)
	if err != nil {
		return nil, err
	}
	return r.Participants, nil
}

// Spaces returns the names of the spaces that the token gives access to.
func (c *Client) Spaces(ctx context.Context) ([]string, error) {
	var all struct {
		Spaces []struct {
			Name string `json:"name"`
		} `json:"spaces"`
	}
	if err := c.get(ctx, []string{"api", "spaces"}, nil, &all); err != nil {
		return nil, fmt.Errorf("list spaces: %w", err)
	}
	names := make([]string, 0, len(all.Spaces))
	for _, s := range all.Spaces {
		names = append(names, s.Name)
	}
	return names, nil
}

// Session describes the access that a token gives.
type Session struct {
	// Participant is the participant that the token identifies; empty if it
	// differs between spaces.
	Participant protocol.ParticipantID `json:"participant,omitempty"`
	Spaces      []SessionSpace         `json:"spaces"`          // existing spaces, at most 1,000
	Globs       []string               `json:"globs,omitempty"` // patterns of spaces that are created when they are joined
}

// SessionSpace is a space and the participant that the token identifies there.
type SessionSpace struct {
	Name        string                 `json:"name"`
	Participant protocol.ParticipantID `json:"participant"`
}

// In returns the participant that the token identifies in a space; empty if the
// session does not contain the space.
func (s *Session) In(space string) protocol.ParticipantID {
	for _, in := range s.Spaces {
		if in.Name == space {
			return in.Participant
		}
	}
	return ""
}

// Session returns the access that the token gives.
func (c *Client) Session(ctx context.Context) (*Session, error) { return c.session(ctx, nil) }

// SessionIn returns the access that the token gives. It fails unless the token is
// valid for a space, which the result contains.
func (c *Client) SessionIn(ctx context.Context, space string) (*Session, error) {
	return c.session(ctx, url.Values{"space": {space}})
}

func (c *Client) session(ctx context.Context, q url.Values) (*Session, error) {
	var s Session
	if err := c.get(ctx, []string{"api", "session"}, q, &s); err != nil {
		return nil, fmt.Errorf("check the token: %w", err)
	}
	return &s, nil
}
