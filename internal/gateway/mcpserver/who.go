package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
)

// Bounds of the questions that who lists.
const (
	maxThreads   = 5 // the newest ones
	maxTurns     = 5 // the newest ones of a thread
	maxQuestion  = 500
	maxMembers   = 256
	maxListBytes = 64 << 10 // of the capabilities and descriptions
)

type whoInput struct{}

type member struct {
	ID           string   `json:"id"`
	You          bool     `json:"you,omitempty"`
	Capabilities []string `json:"capabilities,omitempty" jsonschema:"kinds of envelopes that it may send, or JSON objects that limit them"`
	Serves       []string `json:"serves,omitempty" jsonschema:"tools: it offers tools"`
	Description  string   `json:"description,omitempty" jsonschema:"what it does, from the gateway's configuration"`
}

type question struct {
	ID    string `json:"id"`
	From  string `json:"from"`
	Trust string `json:"trust"`
	State string `json:"state" jsonschema:"pending: not started; processing: a participant reasons about it"`
	Text  string `json:"text"`
}

type whoResult struct {
	Note      string     `json:"note"`
	You       string     `json:"you"`
	Space     string     `json:"space"`
	Present   []member   `json:"present" jsonschema:"connected participants; a client of this server is connected while it waits"`
	Omitted   int        `json:"omitted,omitempty" jsonschema:"connected participants that are not listed"`
	Questions []question `json:"open_questions"`
}

// who lists the participants and the open questions.
func (c *caller) who(ctx context.Context, _ whoInput) (*whoResult, error) {
	present, err := c.client.Participants(ctx, c.space)
	if err != nil {
		return nil, err
	}
	out := &whoResult{Note: notice, You: string(c.you), Space: c.space, Present: []member{}, Questions: []question{}}
	size := 0
	for i := range present {
		if size > maxListBytes || i == maxMembers {
			out.Omitted = len(present) - i
			break
		}
		m := member{ID: string(present[i].ID), You: present[i].ID == c.you, Serves: present[i].Serves, Description: present[i].Description}
		size += len(m.Description)
		for _, raw := range present[i].Capabilities {
			size += len(raw)
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw) // an object
			}
			m.Capabilities = append(m.Capabilities, text)
		}
		out.Present = append(out.Present, m)
	}
	threads, err := c.client.Threads(ctx, c.space, maxThreads, 0)
	if err != nil {
		return nil, err
	}
	for i := range threads.Threads {
		h, err := c.client.History(ctx, c.space, threads.Threads[i].ThreadID, api.Page{Limit: maxTurns})
		if errors.Is(err, adapter.ErrResponseTooLong) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range h.Turns {
			t := &h.Turns[i]
			if !slices.Contains([]string{api.TurnPending, api.TurnProcessing}, t.State) {
				continue
			}
			text, _ := bounded(t.UserInput, maxQuestion)
			out.Questions = append(out.Questions, question{ID: string(t.MessageID), From: string(t.From), Trust: c.trust(t.From), State: t.State, Text: text})
		}
	}
	return out, nil
}
