package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// EnvelopeQuery selects a part of the log; the zero query starts at its
// beginning.
type EnvelopeQuery struct {
	Since  protocol.Seq // only envelopes after it; 0: from the beginning
	Before protocol.Seq // only envelopes before it; 0: to the end
	Log    string       // id of the log of Since and Before; "": unknown
	Limit  int          // 0: the gateway's default; the gateway returns at most 1,000

	FromTime time.Time // only envelopes admitted at this time or later; zero: no bound
	Until    time.Time // only envelopes admitted before this time; zero: no bound

	Contexts []string // path prefixes; "" is the main conversation
	Kinds    []string // kind patterns
	From     []protocol.ParticipantID
	Main     bool // the main conversation; in addition to Contexts, if any

	// Own includes this participant's own envelopes in Events.
	Own bool

	// Descending returns the newest first, and pages go backwards: Next is then
	// the Before of the next page, otherwise its Since.
	Descending bool
}

// Envelopes is a page of the log.
type Envelopes struct {
	Envelopes []protocol.Envelope
	Log       string       // id of the log
	Next      protocol.Seq // start of the next page
	HasMore   bool
}

// Envelopes returns a part of the log.
func (c *Client) Envelopes(ctx context.Context, space string, query EnvelopeQuery) (*Envelopes, error) {
	page, err := c.envelopes(ctx, space, query)
	if err != nil {
		return nil, fmt.Errorf("read envelopes of space %q: %w", space, err)
	}
	return page, nil
}

func (c *Client) envelopes(ctx context.Context, space string, query EnvelopeQuery) (*Envelopes, error) {
	r, err := c.request(ctx, http.MethodGet, inSpace(space, "envelopes"), query.values(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/jsonl")
	body, header, err := c.do(r)
	if err != nil {
		return nil, err
	}
	page := &Envelopes{Log: header.Get("Meup-Log"), HasMore: header.Get("Meup-Has-More") == "true"}
	page.Next, err = protocol.ParseSeq(header.Get("Meup-Next"))
	if err != nil {
		return nil, fmt.Errorf("read answer: it does not say where the next page begins")
	}
	page.Envelopes, err = DecodeLines(body)
	return page, err
}

// Envelope returns one envelope as JSON, unchanged.
func (c *Client) Envelope(ctx context.Context, space string, id protocol.ID) ([]byte, error) {
	r, err := c.request(ctx, http.MethodGet, inSpace(space, "envelopes", string(id)), nil, nil)
	if err == nil {
		var text []byte
		text, _, err = c.do(r)
		if err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("read envelope %s: %w", id, err)
}

// DecodeLines decodes envelopes, one per line. It skips empty lines. The
// envelopes share the text's bytes.
func DecodeLines(text []byte) ([]protocol.Envelope, error) {
	list := []protocol.Envelope{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		e, err := protocol.DecodeDelivered(line)
		if err != nil {
			return nil, fmt.Errorf("read envelope on line %d: %w", n, err)
		}
		list = append(list, e)
	}
	return list, nil
}

func (q *EnvelopeQuery) values() url.Values {
	v := filterValues(q.Contexts, q.Kinds, q.From, q.Main)
	if q.Log != "" {
		v.Set("log", q.Log)
	}
	setSeq(v, "since", q.Since)
	if !q.FromTime.IsZero() {
		v.Add("since", q.FromTime.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		v.Set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	setSeq(v, "before", q.Before)
	setNumber(v, "limit", q.Limit)
	if q.Descending {
		v.Set("order", "desc")
	}
	return v
}

// filterValues encodes a filter as query parameters. The parameter for the main
// conversation is main=true.
func filterValues(contexts, kinds []string, from []protocol.ParticipantID, main bool) url.Values {
	v := make(url.Values)
	var paths []string
	for _, p := range contexts {
		if p == "" {
			main = true
			continue
		}
		paths = append(paths, p)
	}
	if len(paths) > 0 {
		v.Set("context", strings.Join(paths, ","))
	}
	if main {
		v.Set("main", "true")
	}
	if len(kinds) > 0 {
		v.Set("kinds", strings.Join(kinds, ","))
	}
	if len(from) > 0 {
		var ids []string
		for _, id := range from {
			ids = append(ids, string(id))
		}
		v.Set("from", strings.Join(ids, ","))
	}
	return v
}
