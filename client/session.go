package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// errResume ends a session whose receiver has caught up with what was kept:
// what was thrown away behind that is asked for again.
var errResume = errors.New("reading on behind what was kept")

// session is one connection, from its welcome to its end.
type session struct {
	c    *Client
	conn *websocket.Conn
	// stops counts how often the reader stopped for want of room, so that a
	// pong that nobody read is not taken for a dead peer.
	stops atomic.Int64
	// fresh is a welcome that the receiver is still to have, once there is room
	// for it. Owned by the reader.
	fresh *item
}

func newSession(c *Client, conn *websocket.Conn, fresh *item) *session {
	return &session{c: c, conn: conn, fresh: fresh}
}

// run reads until the connection ends and returns why. When it returns, the
// session's goroutines have ended.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s.c.out.rewind()
	s.c.in.skipping.Store(false)
	var group sync.WaitGroup
	group.Go(func() { s.write(ctx) })
	group.Go(func() { s.tend(ctx, cancel) })
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
		if s.welcome() {
			continue
		}
		_, frame, err := s.conn.Read(ctx)
		if err != nil {
			return err
		}
		env, err := decode(frame)
		if err != nil { // asking again would bring the same
			s.c.log.Warn("frame not understood", "err", err, "bytes", len(frame))
			continue
		}
		s.dispatch(&env, int64(len(frame)))
	}
}

// welcome hands a fresh welcome to the receiver and reports whether it did.
// Nothing that is thrown away while there is no room for it comes before it:
// then there will be another connection, with a welcome of its own.
func (s *session) welcome() bool {
	if s.fresh == nil || s.c.in.skipping.Load() {
		return false
	}
	if !s.c.opts.Discard && !s.c.in.putWelcome(*s.fresh) {
		return false
	}
	s.fresh = nil
	return true
}

// awaitRoom returns when it makes sense to read: when what comes can be kept,
// or when somebody waits for an answer that may stand behind it.
func (s *session) awaitRoom(ctx context.Context) error {
	for {
		if s.c.in.mustResume() {
			return errResume
		}
		if s.c.in.hasRoom() && !s.c.in.skipping.Load() || s.c.awaitsAnswer() {
			return nil
		}
		s.stops.Add(1)
		select {
		case <-s.c.in.taken:
		case <-s.c.nudge:
		case <-s.c.closing:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// write sends what is in the outbox. When it fails, the reader finds out
// soon: the connection is broken for it too, and it alone can see the close
// frame that says why.
func (s *session) write(ctx context.Context) {
	for {
		p, wait := s.c.out.next(time.Now())
		if p == nil {
			if !s.idle(ctx, wait) {
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

func (s *session) idle(ctx context.Context, wait time.Duration) bool {
	var timer <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-s.c.out.ready:
	case <-timer:
	case <-ctx.Done():
		return false
	}
	return true
}

// tend pings, and ends the session when its time has come.
func (s *session) tend(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.c.closing:
			s.leave(cancel)
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

// leave says goodbye, and does not wait long for the answer.
func (s *session) leave(cancel context.CancelCauseFunc) {
	hard := time.AfterFunc(closeTimeout, func() { cancel(ErrClosed) })
	defer hard.Stop()
	_ = s.conn.Close(websocket.StatusNormalClosure, "")
}

func (s *session) ping(ctx context.Context) error {
	before := s.stops.Load()
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.conn.Ping(ctx)
	if err != nil && s.stops.Load() != before {
		return nil // the pong may lie unread behind what found no room
	}
	return err
}
