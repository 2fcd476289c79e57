package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

type sayInput struct {
	Message string   `json:"message" jsonschema:"plain text or Markdown"`
	To      []string `json:"to,omitempty" jsonschema:"ids of the participants that get it; by default all"`
	ReplyTo string   `json:"reply_to,omitempty" jsonschema:"id of the message that this one answers"`
	Context string   `json:"context,omitempty" jsonschema:"the context that it belongs to; by default the main conversation"`
	Key     string   `json:"key,omitempty" jsonschema:"any text; a second call with the same key and arguments sends nothing"`
}

type sent struct {
	ID     string `json:"id"`
	Cursor string `json:"cursor" jsonschema:"pass it as after of wait to get the answers"`
}

func (c *caller) say(ctx context.Context, in sayInput) (*sent, error) {
	id, err := c.id("say", in.Key, in)
	if err != nil {
		return nil, err
	}
	to, err := participants(in.To)
	if err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	e := protocol.Envelope{ID: id, Kind: protocol.KindChat, To: to, Context: protocol.ContextPath(in.Context), Payload: object("message", in.Message)}
	if in.ReplyTo != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(in.ReplyTo))
	}
	return c.send(ctx, e)
}

func (c *caller) send(ctx context.Context, e protocol.Envelope) (*sent, error) {
	receipt, err := c.door.Send(ctx, c.space, e)
	if err != nil {
		return nil, err
	}
	return &sent{ID: string(receipt.ID), Cursor: cursor{seq: receipt.Seq}.String()}, nil
}

// object encodes a payload of pairs of a name and a value; nil values are left out.
func object(pairs ...any) json.RawMessage {
	fields := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok && pairs[i+1] != nil {
			fields[name] = pairs[i+1]
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // of texts, numbers and JSON that was read
	}
	return text
}

type readInput struct {
	After string `json:"after,omitempty" jsonschema:"the cursor of an earlier result, or start; by default the newest messages"`
	selection
}

func (c *caller) read(ctx context.Context, in readInput) (*messages, error) {
	q, limit, err := in.query()
	if err != nil {
		return nil, err
	}
	if in.After == "" {
		return c.newest(ctx, q, limit)
	}
	at, err := parseCursor(in.After)
	if err != nil {
		return nil, err
	}
	out, _, err := c.since(ctx, q, at, limit, false)
	return out, err
}

// Bounds of a wait. A client ends a call after a minute, unless it gets progress.
const (
	defaultWait = 25 * time.Second
	maxWait     = 50 * time.Second
	maxLongWait = 10 * time.Minute
)

type waitInput struct {
	After   string `json:"after,omitempty" jsonschema:"the cursor of an earlier result; by default now"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long at most, up to 50, or 600 if the client requests progress; 25 by default"`
	selection
}

// wait returns the messages of others after a cursor, as soon as there is one.
func (c *caller) wait(ctx context.Context, in waitInput) (*messages, error) {
	q, limit, err := in.query()
	if err != nil {
		return nil, err
	}
	patience, err := c.patienceOf(in.Seconds)
	if err != nil {
		return nil, err
	}
	at, err := c.position(ctx, in.After, q)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(patience)
	for {
		out, next, err := c.since(ctx, q, at, limit, true)
		if c.pause(ctx, deadline, err) {
			continue
		}
		if err != nil || len(out.Messages) > 0 {
			return out, err
		}
		at = next
		if out.HasMore && time.Now().Before(deadline) {
			continue // a long part of the log without a message
		}
		q.Since, q.Log = at.seq, at.log
		_, err = c.awaitUntil(ctx, deadline, q)
		if errors.Is(err, errNoneInTime) {
			return out, nil
		}
		if err != nil && !c.pause(ctx, deadline, err) {
			return nil, err
		}
	}
}

// minPause is the time to the next attempt if the rate limit names none.
const minPause = 100 * time.Millisecond

// pause waits as long as a rate limit requires, if err is the error of one, and at
// most until the deadline. It reports whether to try again.
func (c *caller) pause(ctx context.Context, deadline time.Time, err error) bool {
	var limited *protocol.Error
	left := time.Until(deadline)
	if !errors.As(err, &limited) || limited.Code != protocol.CodeRateLimited || left <= 0 {
		return false
	}
	delay := min(max(time.Duration(limited.RetryAfterMS)*time.Millisecond, minPause), left)
	return c.Await(ctx, func(ctx context.Context) error {
		defer RepeatProgress(ctx, c.server.options.ProgressEvery)()
		select {
		case <-time.After(delay):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}) == nil
}

// patienceOf returns how long a call waits.
func (c *caller) patienceOf(seconds int) (time.Duration, error) {
	if seconds == 0 {
		return defaultWait, nil
	}
	if seconds < 0 || seconds > int(c.longest()/time.Second) {
		return 0, fmt.Errorf("seconds: expected 1 to %d, or to %d if the client requests progress", maxWait/time.Second, maxLongWait/time.Second)
	}
	return time.Duration(seconds) * time.Second, nil
}

// longest returns how long a call may wait.
func (c *caller) longest() time.Duration {
	if c.asks.token {
		return maxLongWait
	}
	return maxWait
}

var errNoneInTime = errors.New("no envelope in time")

// awaitUntil waits without a slot for envelopes that a query selects, and returns the first of
// them, which are shared. If there is none until the deadline, the error is errNoneInTime.
func (c *caller) awaitUntil(ctx context.Context, deadline time.Time, q api.EnvelopeQuery) (page *api.Envelopes, err error) {
	err = c.Await(ctx, func(ctx context.Context) error {
		defer RepeatProgress(ctx, c.server.options.ProgressEvery)()
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		page, err = c.door.Await(ctx, c.space, q)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, errNoneInTime
	}
	var coded *protocol.Error
	if err == nil || errors.As(err, &coded) || errors.Is(err, ErrManyWaiting) {
		return page, err
	}
	// The stream ended: the participant may have been removed.
	if _, refused := c.client.SessionIn(ctx, c.space); errors.As(refused, &coded) {
		return nil, refused
	}
	return nil, c.unfinished(err)
}

// unfinished returns the error for a request that ends before its answer is there, for
// example because the gateway stops; the log gets the cause.
func (c *caller) unfinished(cause error) error {
	c.server.options.Logger.Warn("a request of an MCP client was not finished", "space", c.space, "participant", c.you, "method", c.asks.method, "error", cause)
	return protocol.Errorf(protocol.CodeUnavailable, "The gateway could not finish the request; send it again.")
}

// position returns the position of a cursor; of none, the newest envelope that a
// query selects.
func (c *caller) position(ctx context.Context, after string, q api.EnvelopeQuery) (cursor, error) {
	if after != "" {
		return parseCursor(after)
	}
	newest, err := c.newest(ctx, q, 1)
	if err != nil {
		return cursor{}, err
	}
	return parseCursor(newest.Cursor)
}
