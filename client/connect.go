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

// maxBehind is the number of consecutive connects at which the log of a gateway
// ends before the cursor, until the client concludes that the log was lost. In
// a cluster, a gateway can lag for a moment; a lost log stays too short.
const maxBehind = 3

var errBehind = errors.New("the gateway's log ends before what was received already")

// connect opens a connection at the cursor and reads its welcome.
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
		err = c.applyWelcome(w)
	}
	if err == nil {
		err = c.sendFilter(ctx, conn)
	}
	if err != nil {
		_ = conn.CloseNow()
		return nil, err
	}
	c.mu.Lock()
	c.welcome = w
	c.mu.Unlock()
	return &session{c: c, conn: conn, pendingWelcome: fresh}, nil
}

func (c *Client) upgrade(ctx context.Context) (*websocket.Conn, error) {
	u := *c.target
	if c.cursor.set {
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
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("dial gateway: %w", Unreachable(err))
	}
	e := &DialError{Gateway: c.gateway, Status: resp.StatusCode} // section 4
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	var refusal protocol.Error
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if json.Unmarshal(body, &refusal) == nil && refusal.Code != "" {
		e.Refusal = &refusal
	}
	return nil, e
}

// readWelcome reads the first frame. It returns the envelope for delivery and
// its payload.
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
	w, err := welcomeOf(&env)
	return &item{env: env, size: int64(len(frame))}, w, err
}

func welcomeOf(env *protocol.Envelope) (protocol.Welcome, error) {
	w, err := payload[protocol.Welcome](env)
	if !env.TS.IsZero() {
		w.Clock = time.Until(env.TS)
	}
	return w, err
}

// applyWelcome compares the cursor with the log of the welcome. If a gateway
// sends no log id, its log counts as lost when it ends before the cursor
// maxBehind times in a row.
func (c *Client) applyWelcome(w protocol.Welcome) error {
	cur := &c.cursor
	cur.reset = false
	other := cur.log != "" && w.Space.Log != "" && w.Space.Log != cur.log
	switch {
	case !cur.set:
		*cur = cursor{pos: w.Space.Seq, log: w.Space.Log, set: true}
	case other:
		if err := c.resetCursor(w); err != nil {
			return err
		}
		cur.reset = true // the gateway received the old log id and delivers from the oldest entry
	case w.Space.Seq >= cur.pos:
		cur.log, cur.behindCount = w.Space.Log, 0
	case cur.log != "" && cur.log == w.Space.Log:
		return errBehind
	case cur.behindCount+1 < maxBehind:
		cur.behindCount++
		return errBehind
	default:
		if err := c.resetCursor(w); err != nil {
			return err
		}
		return errBehind // this connection starts after the end of the log
	}
	return nil
}

// resetCursor reports the gap between the log of the cursor and a new log, and
// moves the cursor to the beginning of the new log.
func (c *Client) resetCursor(w protocol.Welcome) error {
	c.log.Warn("the space has another log now; reading it from its beginning",
		"position", c.cursor.pos, "log", c.cursor.log, "head", w.Space.Seq, "new_log", w.Space.Log)
	if !c.opts.Discard && !c.in.put(item{err: &GapError{After: c.cursor.pos, Reset: true}}) {
		return errBehind // no space to report it; the next attempt will
	}
	c.cursor = cursor{log: w.Space.Log, set: true}
	return nil
}

// sendFilter sends the current filter on a new connection, before anything
// else. Until the gateway applies it, the gateway delivers more than requested;
// the client applies the filter itself as well.
func (c *Client) sendFilter(ctx context.Context, conn *websocket.Conn) error {
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
