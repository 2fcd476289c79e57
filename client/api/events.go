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

// The names of events.
const (
	EventEnvelope        = "envelope"         // an envelope of the log, or a live one without Seq
	EventPresence        = "presence"         // somebody has come or gone
	EventReasoningUpdate = "reasoning_update" // a step of an agent in a turn is over
	EventJobReasoning    = "job_reasoning"    // a step of an agent that works on no turn is over
	EventSystem          = "system"           // the gateway's welcome, or what went wrong
)

// Event is one thing that a space tells its listeners.
type Event struct {
	Name string
	// Seq is the place in the log that the event stands for; 0: it has none.
	Seq  protocol.Seq
	Data json.RawMessage
}

// Envelope reads the data of an envelope, a presence or a system event.
func (e *Event) Envelope() (protocol.Envelope, error) {
	env, err := DecodeEnvelope(e.Data)
	if err != nil {
		return env, fmt.Errorf("read envelope of event %s: %w", e.Name, err)
	}
	return env, nil
}

// Update reads the data of a reasoning_update or a job_reasoning.
func (e *Event) Update() (*Update, error) {
	var u Update
	if err := json.Unmarshal(e.Data, &u); err != nil {
		return nil, fmt.Errorf("read event %s: %w", e.Name, err)
	}
	return &u, nil
}

// Update tells all that an agent has decided in a turn so far, or in a job.
type Update struct {
	Type          string                 `json:"type"`
	ThreadID      protocol.ID            `json:"thread_id,omitempty"`   // of a turn
	SessionID     string                 `json:"session_id,omitempty"`  // of a turn
	TurnNumber    int                    `json:"turn_number,omitempty"` // of a turn
	JobID         protocol.ID            `json:"job_id,omitempty"`      // of a job
	Agent         protocol.ParticipantID `json:"agent"`
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []UpdateDecision       `json:"tool_decisions"`
	Truncated     bool                   `json:"truncated,omitempty"` // only the newest decisions are told
}

// UpdateDecision is a decision in short.
type UpdateDecision struct {
	ToolName      string `json:"tool_name"`
	Rationale     string `json:"rationale"`
	Outcome       string `json:"outcome"`
	ParallelGroup *int   `json:"parallel_group"`
}

// EventQuery says which events are wanted. The zero query is everything from
// now on.
type EventQuery struct {
	After     protocol.Seq // only what stands behind it; 0: from now on
	FromStart bool         // everything that the log has

	Contexts []string // path prefixes; "" is the main conversation
	Kinds    []string // kind patterns
	From     []protocol.ParticipantID
	Main     bool // the main conversation; besides Contexts, if there are any
	// Observe: the filter holds for what is addressed to oneself, and for
	// calls, too.
	Observe bool

	// OnRetry is told when the stream is lost and when it will be opened again.
	// It is called by whoever ranges over the events.
	OnRetry func(err error, in time.Duration)
}

func (q *EventQuery) values() url.Values {
	v := filterValues(q.Contexts, q.Kinds, q.From, q.Main)
	if q.Observe {
		v.Set("observe", "true")
	}
	return v
}

// Events yields the events of a space until ctx ends or the gateway refuses
// for good; that error comes last. A lost stream is opened again behind the
// last event that had a Seq. So envelopes of the log, and updates, come once
// and in order. What has no Seq and happens meanwhile is lost.
func (c *Client) Events(ctx context.Context, space string, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{c: c, space: space, query: q, after: q.After, placed: q.FromStart || q.After > 0, wait: retryFirst}
		if err := s.run(ctx, yield); err != nil {
			yield(Event{}, fmt.Errorf("follow events of space %q: %w", space, err))
		}
	}
}

// Pauses before a lost stream is opened again, and how long it may be silent:
// a gateway sends something every 15 seconds.
const (
	retryFirst = 2 * time.Second
	retryLeast = 100 * time.Millisecond
	retryMost  = 30 * time.Second
	silence    = time.Minute
)

// stream is one listener across its connections.
type stream struct {
	c      *Client
	space  string
	query  EventQuery
	after  protocol.Seq
	log    string        // that after belongs to; "": not known
	placed bool          // after is meant; otherwise: from now on
	heard  bool          // after is that of something that has come
	told   protocol.Seq  // of the last update
	wait   time.Duration // what the gateway asked for
	failed int           // connections in a row that brought nothing
}

// errLeft: whoever ranges over the events wants no more.
var errLeft = errors.New("left")

func (s *stream) run(ctx context.Context, yield func(Event, error) bool) error {
	for {
		err := s.once(ctx, yield)
		if errors.Is(err, errLeft) {
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

// pause waits longer each time that nothing came.
func (s *stream) pause(ctx context.Context, cause error, refused *StatusError) error {
	in := s.wait << min(s.failed, 8)
	s.failed++
	in = min(in, retryMost)
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

// once opens the stream and yields what comes until it ends.
func (s *stream) once(ctx context.Context, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	body, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // given up
	events := newEventReader(&heard{body, quiet})
	for {
		raw, err := events.next()
		if err != nil {
			return err
		}
		s.failed = 0
		if events.wait > 0 {
			s.wait = max(events.wait, retryLeast)
		}
		e := s.take(raw)
		if s.again(&e) {
			continue
		}
		quiet.Stop() // whoever takes the events may take their time
		if !yield(e, nil) {
			return errLeft
		}
		quiet.Reset(silence)
	}
}

func (s *stream) open(ctx context.Context) (io.ReadCloser, error) {
	q := s.query.values()
	if s.placed {
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
	if s.heard {
		// The gateway then tells again what belongs to that very entry.
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

// take makes an event of what came, and remembers where it stands. The welcome
// names the log: in another one than before, the gateway begins with the oldest
// envelope. Without a position, it is also where "from now on" begins, so that
// nothing is lost when the stream breaks before the first envelope.
func (s *stream) take(raw rawEvent) Event {
	e := Event{Name: raw.name, Data: raw.data}
	if seq, err := protocol.ParseSeq(raw.id); err == nil {
		e.Seq = seq
		s.after, s.placed, s.heard = max(s.after, seq), true, true
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
	case !s.placed:
		s.after, s.placed = w.Space.Seq, true
	case s.log != "" && w.Space.Log != s.log:
		s.after, s.told, s.heard = 0, 0, false
	}
	s.log = w.Space.Log
	return e
}

// again reports whether an update has been yielded before. They come in order of
// Seq, and no two have the same.
func (s *stream) again(e *Event) bool {
	if e.Name != EventReasoningUpdate && e.Name != EventJobReasoning || e.Seq == 0 {
		return false
	}
	if e.Seq <= s.told {
		return true
	}
	s.told = e.Seq
	return false
}

// heard postpones the end of a stream whenever something comes.
type heard struct {
	r     io.Reader
	quiet *time.Timer
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.quiet.Reset(silence)
	return n, err
}
