package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// The states of a context. One whose opener has gone without closing it is
// abandoned.
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
	Elapsed float64                `json:"elapsed"` // seconds: to the end, or to now
	// Implicit: nobody opened it; the opener is who wrote into it first.
	Implicit bool          `json:"implicit,omitempty"`
	Answers  []protocol.ID `json:"answers,omitempty"` // what its start correlates to
	Message  string        `json:"message,omitempty"` // of its start
	Counts   Counts        `json:"counts"`
	Seq      protocol.Seq  `json:"seq"` // of its first envelope
	Children []Context     `json:"children"`
}

// Counts says how much was said inside a context, itself and not those below
// it.
type Counts struct {
	Envelopes int `json:"envelopes"`
	Steps     int `json:"steps"`
	Requests  int `json:"requests"`
	Responses int `json:"responses"`
	Errors    int `json:"errors"`
}

// Contexts returns the tree of a space's contexts; with a path, the one context
// there and what is below it.
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

// Participants returns who is connected to a space, with what they may do.
func (c *Client) Participants(ctx context.Context, space string) ([]protocol.Participant, error) {
	var all struct {
		Participants []protocol.Participant `json:"participants"`
	}
	if err := c.get(ctx, inSpace(space, "participants"), nil, &all); err != nil {
		return nil, fmt.Errorf("list participants of space %q: %w", space, err)
	}
	return all.Participants, nil
}

// Spaces returns the names of the spaces that the token is good for.
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

// Session is what a token is good for.
type Session struct {
	// Participant is who the token makes of its bearer; empty where that is not
	// the same everywhere.
	Participant protocol.ParticipantID `json:"participant"`
	Spaces      []SessionSpace         `json:"spaces"` // those that exist, 1,000 at most
	Globs       []string               `json:"globs"`  // name spaces that are made as they are joined
}

// SessionSpace is a space, and who the bearer of the token is there.
type SessionSpace struct {
	Name        string                 `json:"name"`
	Participant protocol.ParticipantID `json:"participant"`
}

// In returns who the bearer of the token is in a space; empty where the session
// does not name it.
func (s *Session) In(space string) protocol.ParticipantID {
	for _, in := range s.Spaces {
		if in.Name == space {
			return in.Participant
		}
	}
	return ""
}

// Session returns what the token is good for.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	var s Session
	if err := c.get(ctx, []string{"api", "session"}, nil, &s); err != nil {
		return nil, fmt.Errorf("ask what the token is good for: %w", err)
	}
	return &s, nil
}
