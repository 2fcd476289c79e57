package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// maxBehind is how often in a row a gateway may say that its log ends before
// what was received already, until that is believed. One gateway of several
// can be behind for a moment; a log that was lost stays behind.
const maxBehind = 3

var errBehind = errors.New("the gateway's log ends before what was received already")

// connect opens one connection at the cursor and reads its welcome.
func (c *Client) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := c.upgrade(ctx)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxFrame)
	fresh, w, err := readWelcome(ctx, conn)
	if err == nil {
		err = c.place(w)
	}
	if err == nil {
		err = c.refilter(ctx, conn)
	}
	if err != nil {
		_ = conn.CloseNow()
		return nil, err
	}
	c.mu.Lock()
	c.welcome = w
	c.mu.Unlock()
	return newSession(c, conn, fresh), nil
}

func (c *Client) upgrade(ctx context.Context) (*websocket.Conn, error) {
	u := *c.target
	if c.cursor.known {
		q := u.Query()
		q.Set("since", c.cursor.pos.String())
		if c.cursor.log != "" {
			q.Set("log", c.cursor.log)
		}
		u.RawQuery = q.Encode()
	}
	header := c.opts.HTTPHeader.Clone()
	if header == nil {
		header = make(http.Header)
	}
	if c.opts.Token != "" {
		header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: c.http,
		HTTPHeader: header,
	})
	if err == nil {
		return conn, nil
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, refusedDial(resp)
	}
	return nil, fmt.Errorf("dial gateway: %w", err)
}

// refusedDial reads the body of section 4.
func refusedDial(resp *http.Response) *DialError {
	e := &DialError{Status: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	var refusal protocol.Error
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if json.Unmarshal(body, &refusal) == nil && refusal.Code != "" {
		e.Refusal = &refusal
	}
	return e
}

// readWelcome reads the first frame: as it is delivered, and what it says.
func readWelcome(ctx context.Context, conn *websocket.Conn) (*item, protocol.Welcome, error) {
	_, frame, err := conn.Read(ctx)
	if err != nil {
		return nil, protocol.Welcome{}, fmt.Errorf("read welcome: %w", err)
	}
	env, err := decode(frame)
	if err != nil {
		return nil, protocol.Welcome{}, err
	}
	if env.Kind != protocol.KindSystemWelcome {
		return nil, protocol.Welcome{}, fmt.Errorf("read welcome: the first frame is a %s", env.Kind)
	}
	w, err := payload[protocol.Welcome](&env)
	return &item{env: env, size: int64(len(frame))}, w, err
}

// place puts the cursor in relation to the log that the welcome names. A
// gateway that names none is believed to have lost its log when it is behind
// the cursor maxBehind times in a row.
func (c *Client) place(w protocol.Welcome) error {
	cur := &c.cursor
	cur.reset = false
	other := cur.log != "" && w.Space.Log != "" && w.Space.Log != cur.log
	switch {
	case !cur.known:
		*cur = cursor{pos: w.Space.Seq, log: w.Space.Log, known: true}
	case other:
		if err := c.resetCursor(w); err != nil {
			return err
		}
		cur.reset = true // the gateway was given the old log, and goes on from the oldest entry
	case w.Space.Seq >= cur.pos:
		cur.log, cur.behind = w.Space.Log, 0
	case cur.log != "" && cur.log == w.Space.Log:
		return errBehind
	case cur.behind+1 < maxBehind:
		cur.behind++
		return errBehind
	default:
		if err := c.resetCursor(w); err != nil {
			return err
		}
		return errBehind // this connection begins after the end of the log
	}
	return nil
}

// resetCursor reports the gap between the log that the cursor belongs to and
// another one, and puts the cursor at the beginning of that.
func (c *Client) resetCursor(w protocol.Welcome) error {
	c.log.Warn("the space has another log now; reading it from its beginning",
		"position", c.cursor.pos, "log", c.cursor.log, "head", w.Space.Seq, "new_log", w.Space.Log)
	if !c.opts.Discard && !c.in.put(item{err: &GapError{After: c.cursor.pos, Reset: true}}) {
		return errBehind // no room to report it; the next attempt will
	}
	c.cursor = cursor{log: w.Space.Log, known: true}
	return nil
}

// refilter asks a new connection for the filter in force, before anything
// else. Until the gateway has it, more comes than was asked for; the client
// holds the filter against everything itself.
func (c *Client) refilter(ctx context.Context, conn *websocket.Conn) error {
	c.mu.Lock()
	filter, plain := c.filter, c.matcher == nil
	c.mu.Unlock()
	if plain {
		return nil
	}
	frame, err := subscribeFrame(newID(), filter)
	if err != nil {
		return err
	}
	if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return fmt.Errorf("write filter: %w", err)
	}
	return nil
}

func newID() protocol.ID { return protocol.ID(uuid.Must(uuid.NewV7()).String()) }
