package api

import (
	"context"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// How many of the words and phrases of a query a hit has.
const (
	MatchAll  = "all"
	MatchAny  = "any"
	MatchAuto = "auto" // all; if no envelope has all, any
)

// SearchQuery selects envelopes by their text.
type SearchQuery struct {
	// Text has words, "phrases", prefixes* and -exclusions.
	Text string
	// Match is MatchAll, MatchAny, or MatchAuto; "": MatchAll.
	Match    string
	Contexts []string // path prefixes; "" is the main conversation
	Kinds    []string // kind patterns
	From     []protocol.ParticipantID
	Since    time.Time    // sent at this time or later; zero: no bound
	Until    time.Time    // sent before this time; zero: no bound
	Before   protocol.Seq // only envelopes before it; 0: no bound
	Limit    int          // 0: the gateway's default; the gateway returns at most 100
	Cursor   string       // Next of the page before; "": the first page
}

// SearchResult is a page of hits, the best first.
type SearchResult struct {
	Log   string      `json:"log"`             // id of the log
	Match string      `json:"match,omitempty"` // MatchAll or MatchAny: how many of the words the hits have
	Hits  []SearchHit `json:"hits"`
	// Next is the cursor of the next page; empty if HasMore is false.
	Next    string `json:"next,omitempty"`
	HasMore bool   `json:"has_more"`
	// Partial means that the search reached a bound, or that the index lacks the
	// envelopes between Indexed and Head: there may be other hits.
	Partial bool         `json:"partial"`
	Indexed protocol.Seq `json:"indexed"` // the index has the log up to here
	Head    protocol.Seq `json:"head"`    // of the log, when the search began
}

// SearchHit is an envelope that a query selects.
type SearchHit struct {
	Seq     protocol.Seq             `json:"seq"`
	ID      protocol.ID              `json:"id"`
	TS      protocol.Time            `json:"ts"`
	From    protocol.ParticipantID   `json:"from"`
	To      []protocol.ParticipantID `json:"to,omitempty"`
	Kind    protocol.Kind            `json:"kind"`
	Context protocol.ContextPath     `json:"context,omitempty"`
	Score   float32                  `json:"score"` // comparable within one search
	Snippet Snippet                  `json:"snippet"`
}

// Snippet is the text of a hit around its matches.
type Snippet struct {
	Path  string        `json:"path"` // JSON pointer of the text in the payload
	Parts []SnippetPart `json:"parts"`
	Cut   bool          `json:"cut,omitempty"` // the text goes on before or after
}

// SnippetPart is a piece of a snippet. It is plain text, never markup.
type SnippetPart struct {
	Text  string `json:"text"`
	Match bool   `json:"match,omitempty"` // the query selects it
}

// Search returns the envelopes of a space that a query selects.
func (c *Client) Search(ctx context.Context, space string, query SearchQuery) (*SearchResult, error) {
	q := filterValues(query.Contexts, query.Kinds, query.From, false)
	q.Set("q", query.Text)
	if query.Match != "" {
		q.Set("match", query.Match)
	}
	for name, at := range map[string]time.Time{"since": query.Since, "until": query.Until} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	setSeq(q, "before", query.Before)
	setNumber(q, "limit", query.Limit)
	if query.Cursor != "" {
		q.Set("cursor", query.Cursor)
	}
	var r SearchResult
	if err := c.get(ctx, inSpace(space, "search"), q, &r); err != nil {
		return nil, fmt.Errorf("search in space %q: %w", space, err)
	}
	return &r, nil
}
