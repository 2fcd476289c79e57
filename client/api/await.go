package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Await waits until the log has an envelope after query.Since that the query selects and that
// is not this participant's own. It returns nil then, and Envelopes returns the envelope. It
// uses one of the participant's connections. Limit, Before and Descending are ignored.
func (c *Client) Await(ctx context.Context, space string, query EnvelopeQuery) error {
	if err := c.await(ctx, space, query); err != nil {
		return fmt.Errorf("wait for envelopes of space %q: %w", space, err)
	}
	return nil
}

func (c *Client) await(ctx context.Context, space string, query EnvelopeQuery) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := filterValues(query.Contexts, query.Kinds, query.From, query.Main)
	q.Set("since", strconv.FormatUint(uint64(query.Since), 10))
	q.Set("observe", "true") // the filter applies to calls too
	q.Set("echo", "false")
	if query.Log != "" {
		q.Set("log", query.Log)
	}
	r, err := c.request(ctx, http.MethodGet, inSpace(space, "events"), q, nil)
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
	if err := awaitEnvelope(resp.Body); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// errStreamEnded: the gateway ended the stream, for example because it stops.
var errStreamEnded = errors.New("the gateway ended the stream of events")

// awaitEnvelope reads events until one is an envelope of the log: the id is its
// Seq, which live envelopes lack.
func awaitEnvelope(stream io.Reader) error {
	lines, envelope := bufio.NewReader(stream), false
	for {
		line, err := lines.ReadSlice('\n')
		for long := line; errors.Is(err, bufio.ErrBufferFull); { // the data of an event
			_, err = lines.ReadSlice('\n')
			line = long[:0]
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errStreamEnded
			}
			return err
		}
		if envelope && bytes.HasPrefix(line, []byte("id:")) {
			return nil
		}
		envelope = bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("event: envelope"))
	}
}
