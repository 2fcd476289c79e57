package client

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// errResume ends a session whose receiver has emptied the inbox after envelopes
// were dropped. The next connection requests those again.
var errResume = errors.New("reading on behind what was kept")

// session is one connection, from its welcome to its end.
type session struct {
	c    *Client
	conn *websocket.Conn
	// pauses counts how often the reader paused because the inbox was full, so
	// that an unread pong is not mistaken for a dead peer.
	pauses atomic.Int64
	// pendingWelcome is a welcome that is not delivered yet. Owned by the
	// reader.
	pendingWelcome *item
}

// run reads until the connection ends and returns the reason. The session's
// goroutines have ended when it returns.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s.c.out.rewind()
	s.c.in.skipping.Store(false)
	var group sync.WaitGroup
	group.Go(func() { s.write(ctx) })
	group.Go(func() { s.keepalive(ctx, cancel) })
	err := s.read(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(err)
	_ = s.conn.CloseNow()
	group.Wait()
	return err
}

func (s *session) read(ctx context.Context) error {
	for {
		if err := s.awaitRoom(ctx); err != nil {
			return err
		}
		// Nothing is dropped before a fresh welcome because of a full inbox: in that case there will
		// be another connection with its own welcome.
		if s.pendingWelcome != nil && !s.c.in.skipping.Load() && (s.c.opts.Discard || s.c.in.putWelcome(*s.pendingWelcome)) {
			s.pendingWelcome = nil
			continue
		}
		_, frame, err := s.conn.Read(ctx)
		if err != nil {
			return err
		}
		env, err := decode(frame)
		if err != nil { // a retry would receive the same
			s.c.log.Warn("frame not understood", "err", err, "bytes", len(frame))
			continue
		}
		s.dispatch(&env, int64(len(frame)))
	}
}

// awaitRoom returns when the reader should read: when the next envelope can be
// kept, or when a caller awaits an answer that may follow it.
func (s *session) awaitRoom(ctx context.Context) error {
	for {
		if s.c.in.mustResume() {
			return errResume
		}
		if s.c.in.hasRoom() && !s.c.in.skipping.Load() || s.c.awaitsAnswer() {
			return nil
		}
		s.pauses.Add(1)
		select {
		case <-s.c.in.freed:
		case <-s.c.wakeReader:
		case <-s.c.closing.Done():
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// write sends the envelopes of the outbox. It does not report a write error:
// the reader will fail too, and only the reader can receive the close frame
// with the reason.
func (s *session) write(ctx context.Context) {
	for {
		p, wait := s.c.out.next(time.Now())
		if p == nil {
			var due <-chan time.Time
			if wait > 0 {
				due = time.After(wait)
			}
			select {
			case <-s.c.out.ready:
			case <-due:
			case <-ctx.Done():
				return
			}
			continue
		}
		frameCtx, cancel := context.WithTimeout(ctx, writeTimeout)
		err := s.conn.Write(frameCtx, websocket.MessageText, p.frame)
		cancel()
		if err != nil {
			return
		}
	}
}

// keepalive pings, and ends the session on Close, on a dead connection, and to
// resume.
func (s *session) keepalive(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.c.closing.Done():
			hard := time.AfterFunc(closeTimeout, func() { cancel(ErrClosed) }) // the handshake may take no longer
			_ = s.conn.Close(websocket.StatusNormalClosure, "")
			hard.Stop()
			return
		case <-s.c.in.drained:
			if s.c.in.mustResume() {
				cancel(errResume)
				return
			}
		case <-ticker.C:
			if err := s.ping(ctx); err != nil {
				cancel(err)
				return
			}
		}
	}
}

func (s *session) ping(ctx context.Context) error {
	before := s.pauses.Load()
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.conn.Ping(ctx)
	if err != nil && s.pauses.Load() != before {
		return nil // the pong may be unread because the inbox is full
	}
	return err
}

// stableAfter is how long a connection must have lasted so that its loss
// restarts the backoff.
const stableAfter = 10 * time.Second

// supervise keeps the client connected: it runs sessions until Close or a final
// refusal. Only this goroutine uses the cursor.
func (c *Client) supervise(ctx context.Context, s *session) {
	attempt := 0
	for {
		started := time.Now()
		err := s.run(ctx)
		if time.Since(started) > stableAfter {
			attempt = 0
		}
		if end := c.finalCause(err); end != nil {
			c.shutdown(end)
			return
		}
		s, err = c.reconnect(ctx, err, &attempt)
		if err != nil {
			c.shutdown(err)
			return
		}
	}
}

// finalCause returns the reason why the client ends with this session, or nil.
func (c *Client) finalCause(err error) error {
	if c.closing.Err() != nil {
		return ErrClosed
	}
	return finalError(err)
}

// reconnect retries until it has a connection. Its error is final.
func (c *Client) reconnect(ctx context.Context, cause error, attempt *int) (*session, error) {
	resume, reported, level := errors.Is(cause, errResume), false, slog.LevelWarn
	if websocket.CloseStatus(cause) == websocket.StatusGoingAway {
		level = slog.LevelInfo // it was stopped, perhaps with this program: a warning if the next attempt fails
	}
	for {
		var delay time.Duration
		if !resume { // a resume is not a failure
			*attempt++
			delay = c.retryDelay(*attempt, cause)
			c.log.Log(ctx, level, "connection lost; trying again", "gateway", c.gateway, "err", Unreachable(cause), "attempt", *attempt, "in", delay.Round(time.Millisecond))
			reported = true
			if level == slog.LevelInfo {
				level = slog.LevelWarn
			} else {
				level = slog.LevelDebug // one warning, however long it takes
			}
			c.opts.OnState(State{Phase: Waiting, Err: cause, Attempt: *attempt, RetryIn: delay})
		}
		resume = false
		select {
		case <-c.closing.Done():
			return nil, ErrClosed
		case <-time.After(delay):
		}
		attemptCtx, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(c.closing, cancel)
		s, err := c.connect(attemptCtx)
		stop()
		cancel()
		if err == nil {
			if reported {
				c.log.Info("gateway reached again", "gateway", c.gateway, "since", c.cursor.pos)
			}
			c.opts.OnState(State{Phase: Connected})
			return s, nil
		}
		if end := c.finalCause(err); end != nil {
			return nil, end
		}
		cause = err
	}
}

// shutdown completes all waiting calls with the reason. It closes done last:
// when Close returns, no part of the client runs any more, including OnState
// and the logger.
func (c *Client) shutdown(err error) {
	c.final = err
	c.cancel()
	c.leave()
	c.out.close(err)
	c.mu.Lock()
	for id, w := range c.calls {
		w.err = err
		close(w.done)
		delete(c.calls, id)
	}
	c.mu.Unlock()
	c.http.CloseIdleConnections()
	if errors.Is(err, ErrClosed) {
		c.log.Debug("closed")
	} else {
		c.log.Error("the gateway ended the connection for good", "err", err)
	}
	c.opts.OnState(State{Phase: Closed, Err: err})
	close(c.done)
}
