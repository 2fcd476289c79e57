package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Names of events.
const (
	EventEnvelope        = "envelope"         // an envelope of the log, or a live one without Seq
	EventPresence        = "presence"         // a participant has joined or left
	EventReasoningUpdate = "reasoning_update" // an agent has completed a step of a turn
	EventJobReasoning    = "job_reasoning"    // an agent has completed a step outside of turns
	EventSystem          = "system"           // the gateway's welcome, or an error
)

// Event is one server-sent event of a space.
type Event struct {
	Name string
	// Seq is the position of the event in the log; 0: none.
	Seq  protocol.Seq
	Data json.RawMessage
}

// Envelope decodes the data of an envelope, a presence or a system event.
func (e *Event) Envelope() (protocol.Envelope, error) {
	env, err := DecodeEnvelope(e.Data)
	if err != nil {
		return env, fmt.Errorf("read envelope of event %s: %w", e.Name, err)
	}
	return env, nil
}

// Update decodes the data of a reasoning_update or a job_reasoning.
func (e *Event) Update() (*Update, error) {
	var u Update
	if err := json.Unmarshal(e.Data, &u); err != nil {
		return nil, fmt.Errorf("read event %s: %w", e.Name, err)
	}
	return &u, nil
}

// Update contains all decisions of an agent in a turn or a job so far.
type Update struct {
	Type          string                 `json:"type"`
	ThreadID      protocol.ID            `json:"thread_id,omitempty"`   // of a turn
	SessionID     string                 `json:"session_id,omitempty"`  // of a turn
	TurnNumber    int                    `json:"turn_number,omitempty"` // of a turn
	JobID         protocol.ID            `json:"job_id,omitempty"`      // of a job
	Agent         protocol.ParticipantID `json:"agent"`
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []UpdateDecision       `json:"tool_decisions"`
	Truncated     bool                   `json:"truncated,omitempty"` // only the newest decisions are included
}

// UpdateDecision is a summary of a decision.
type UpdateDecision struct {
	ToolName      string `json:"tool_name"`
	Rationale     string `json:"rationale"`
	Outcome       string `json:"outcome"`
	ParallelGroup *int   `json:"parallel_group"`
}

// EventQuery selects events. The zero query selects all new events.
type EventQuery struct {
	After     protocol.Seq // only events after it; 0: new events
	FromStart bool         // all events of the log

	Contexts []string // path prefixes; "" is the main conversation
	Kinds    []string // kind patterns
	From     []protocol.ParticipantID
	Main     bool // the main conversation; in addition to Contexts, if any
	// Observe applies the filter also to calls and to envelopes addressed to
	// this participant.
	Observe bool

	// OnRetry is called when the stream was lost, with the delay before it is
	// reopened. It is called in the goroutine that ranges over the events.
	OnRetry func(err error, in time.Duration)
}

func (q *EventQuery) values() url.Values {
	v := filterValues(q.Contexts, q.Kinds, q.From, q.Main)
	if q.Observe {
		v.Set("observe", "true")
	}
	return v
}

// Events yields the events of a space until ctx ends or the gateway rejects the
// request permanently; it yields that error last. It reopens a lost stream
// after the last event that had a Seq, so envelopes of the log, and updates,
// are yielded once and in order. Events without a Seq are lost while
// disconnected.
func (c *Client) Events(ctx context.Context, space string, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{c: c, space: space, query: q, after: q.After, positioned: q.FromStart || q.After > 0, wait: firstRetryDelay}
		if err := s.run(ctx, yield); err != nil {
			yield(Event{}, fmt.Errorf("follow events of space %q: %w", space, err))
		}
	}
}

// Delays before a lost stream is reopened, and the timeout for an idle stream:
// a gateway sends something every 15 seconds.
const (
	firstRetryDelay = 2 * time.Second
	minRetryDelay   = 100 * time.Millisecond
	maxRetryDelay   = 30 * time.Second
	idleTimeout     = time.Minute
)

// stream is one subscription across its connections.
type stream struct {
	c          *Client
	space      string
	query      EventQuery
	after      protocol.Seq
	log        string        // log of after; "": unknown
	positioned bool          // after is set; otherwise the stream starts at the head
	received   bool          // after is the Seq of a received event
	lastUpdate protocol.Seq  // Seq of the last update
	wait       time.Duration // requested by the gateway
	failed     int           // consecutive connections without an event
}

// errStopped means that the loop over the events has ended.
var errStopped = errors.New("left")

func (s *stream) run(ctx context.Context, yield func(Event, error) bool) error {
	for {
		err := s.once(ctx, yield)
		if errors.Is(err, errStopped) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var refused *StatusError
		if errors.As(err, &refused) && !refused.Temporary() {
			return err
		}
		if errors.Is(err, errLongEvent) {
			return err
		}
		if err := s.pause(ctx, err, refused); err != nil {
			return err
		}
	}
}

// pause waits before the stream is reopened. The delay doubles with each
// attempt without an event.
func (s *stream) pause(ctx context.Context, cause error, refused *StatusError) error {
	in := s.wait << min(s.failed, 8)
	s.failed++
	in = min(in, maxRetryDelay)
	if refused != nil {
		in = max(in, refused.RetryAfter)
	}
	if s.query.OnRetry != nil {
		s.query.OnRetry(cause, in)
	}
	t := time.NewTimer(in)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once opens the stream and yields events until it ends.
func (s *stream) once(ctx context.Context, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(idleTimeout, cancel)
	defer quiet.Stop()
	body, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // given up
	events := newEventReader(&idleResetter{body, quiet})
	for {
		raw, err := events.next()
		if err != nil {
			return err
		}
		s.failed = 0
		if events.wait > 0 {
			s.wait = max(events.wait, minRetryDelay)
		}
		e := s.convert(raw)
		if s.isRepeated(&e) {
			continue
		}
		quiet.Stop() // the loop over the events may be slow
		if !yield(e, nil) {
			return errStopped
		}
		quiet.Reset(idleTimeout)
	}
}

func (s *stream) open(ctx context.Context) (io.ReadCloser, error) {
	q := s.query.values()
	if s.positioned {
		q.Set("since", s.after.String())
		if s.log != "" {
			q.Set("log", s.log)
		}
	}
	r, err := s.c.request(ctx, http.MethodGet, inSpace(s.space, "events"), q, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if s.received {
		// The gateway then repeats the updates of this entry.
		r.Header.Set("Last-Event-ID", s.after.String())
	}
	resp, err := s.c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close() //nolint:errcheck // read
		return nil, refusal(resp)
	}
	return resp.Body, nil
}

// convert converts a received event and updates the position. The welcome names
// the log: if the log has changed, the gateway starts at the oldest envelope.
// Without a position, the head in the welcome becomes the position, so that
// nothing is lost if the stream breaks before the first envelope.
func (s *stream) convert(raw rawEvent) Event {
	e := Event{Name: raw.name, Data: raw.data}
	if seq, err := protocol.ParseSeq(raw.id); err == nil {
		e.Seq = seq
		s.after, s.positioned, s.received = max(s.after, seq), true, true
	}
	if e.Name != EventSystem {
		return e
	}
	env, err := e.Envelope()
	var w protocol.Welcome
	if err != nil || env.Kind != protocol.KindSystemWelcome || json.Unmarshal(env.Payload, &w) != nil {
		return e
	}
	switch {
	case !s.positioned:
		s.after, s.positioned = w.Space.Seq, true
	case s.log != "" && w.Space.Log != s.log:
		s.after, s.lastUpdate, s.received = 0, 0, false
	}
	s.log = w.Space.Log
	return e
}

// isRepeated reports whether an update has been yielded before. Updates arrive
// in order of Seq, and each has its own.
func (s *stream) isRepeated(e *Event) bool {
	if e.Name != EventReasoningUpdate && e.Name != EventJobReasoning || e.Seq == 0 {
		return false
	}
	if e.Seq <= s.lastUpdate {
		return true
	}
	s.lastUpdate = e.Seq
	return false
}

// idleResetter resets the idle timeout whenever data arrives.
type idleResetter struct {
	r     io.Reader
	timer *time.Timer
}

func (h *idleResetter) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.timer.Reset(idleTimeout)
	return n, err
}
