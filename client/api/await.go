package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/meup-protocol/meup/protocol"
)

// Await waits until the log has an envelope after query.Since that the query selects and that
// is not this participant's own. It returns nil then, and Envelopes returns the envelope. It
// uses one of the participant's connections. Limit, Before, Own and Descending are ignored.
func (c *Client) Await(ctx context.Context, space string, query EnvelopeQuery) error {
	query.Own = false
	err := c.stream(ctx, space, query, maxEventHead, func(e *Event) bool {
		return e.Name != "envelope" || e.ID == "" // a live envelope has no ID
	})
	if err != nil {
		return fmt.Errorf("wait for envelopes of space %q: %w", space, err)
	}
	return nil
}

// Event is an event of a space's stream of events.
type Event struct {
	Name string // such as "envelope", "presence" or "system"
	ID   string // of an envelope in the log, its Seq
	Data []byte // JSON; valid until the next event
	Cut  bool   // Data is longer than maxEventData, and cut
}

// Err returns the error in a frame of the gateway, a *protocol.Error; nil: the event is none.
func (e *Event) Err() error {
	var frame struct {
		Kind    protocol.Kind  `json:"kind"`
		Payload protocol.Error `json:"payload"`
	}
	if e.Name == "system" && json.Unmarshal(e.Data, &frame) == nil && frame.Kind == protocol.KindSystemError {
		return &frame.Payload
	}
	return nil
}

// Bounds of an event, in bytes.
const (
	maxEventData = 2 << 20
	maxEventHead = 256 // of a line that is not kept
)

// Events calls each for the events of a space that the query selects, in order: first the
// welcome, then the envelopes after query.Since, then live ones and presence, with this
// participant's own envelopes if query.Own. It returns nil when each returns false. It uses one of the
// participant's connections. Limit, Before and Descending are ignored.
func (c *Client) Events(ctx context.Context, space string, query EnvelopeQuery, each func(*Event) (more bool)) error {
	if err := c.stream(ctx, space, query, maxEventData, each); err != nil {
		return fmt.Errorf("read events of space %q: %w", space, err)
	}
	return nil
}

func (c *Client) stream(ctx context.Context, space string, query EnvelopeQuery, limit int, each func(*Event) bool) error {
	q := filterValues(query.Contexts, query.Kinds, query.From, query.Main)
	q.Set("since", strconv.FormatUint(uint64(query.Since), 10))
	q.Set("observe", "true")  // the filter applies to calls too
	q.Set("updates", "false") // of turns: no caller uses them
	q.Set("linger", "true")   // callers connect again and again
	q.Set("echo", strconv.FormatBool(query.Own))
	if query.Log != "" {
		q.Set("log", query.Log)
	}
	return c.readStream(ctx, inSpace(space, "events"), q, limit, each)
}

// readStream calls each for the events of a path until it returns false.
func (c *Client) readStream(ctx context.Context, segments []string, q url.Values, limit int, each func(*Event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := c.request(ctx, http.MethodGet, segments, q, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read or given up
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	if err := readEvents(resp.Body, limit, each); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// errStreamEnded: the gateway ended the stream, for example because it stops.
var errStreamEnded = errors.New("the gateway ended the stream of events")

// readEvents reads events until each returns false. It keeps at most limit bytes of a line
// and of the data of an event.
func readEvents(stream io.Reader, limit int, each func(*Event) bool) error {
	in := bufio.NewReader(stream)
	var e Event
	var line []byte
	for {
		var err error
		line, err = appendLine(line[:0], in, limit)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errStreamEnded
			}
			return err
		}
		if len(line) == 0 {
			if e.Name != "" && !each(&e) {
				return nil
			}
			e = Event{Data: e.Data[:0]}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(": "))
		switch string(field) {
		case "event":
			e.Name = string(value)
		case "id":
			e.ID = string(value)
		case "data":
			keep := min(len(value), limit-len(e.Data))
			e.Cut = e.Cut || keep < len(value) || len(line) == limit
			e.Data = append(e.Data, value[:keep]...)
		}
	}
}

// appendLine appends a line without its end, of which it keeps at most limit bytes.
func appendLine(dst []byte, in *bufio.Reader, limit int) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		dst = append(dst, part[:min(len(part), limit-len(dst))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(dst, "\r\n"), err
	}
}
