package client

import (
	"context"
	"errors"
	"time"
)

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
		if s, err = c.reconnect(ctx, err, &attempt); err != nil {
			c.shutdown(err)
			return
		}
	}
}

// finalCause returns the reason why the client ends with this session, or nil.
func (c *Client) finalCause(err error) error {
	select {
	case <-c.closing:
		return ErrClosed
	default:
		return finalError(err)
	}
}

// reconnect retries until it has a connection. Its error is final.
func (c *Client) reconnect(ctx context.Context, cause error, attempt *int) (*session, error) {
	resume := errors.Is(cause, errResume)
	for {
		var delay time.Duration
		if !resume { // a resume is not a failure
			*attempt++
			delay = c.retryDelay(*attempt, cause)
			c.log.Warn("connection lost", "err", cause, "attempt", *attempt, "in", delay)
			c.opts.OnState(State{Phase: Waiting, Err: cause, Attempt: *attempt, RetryIn: delay})
		}
		resume = false
		if !c.pause(delay) {
			return nil, ErrClosed
		}
		s, err := c.connectUnlessClosed(ctx)
		if err == nil {
			c.log.Info("connected again", "since", c.cursor.pos)
			c.opts.OnState(State{Phase: Connected})
			return s, nil
		}
		if end := c.finalCause(err); end != nil {
			return nil, end
		}
		cause = err
	}
}

func (c *Client) connectUnlessClosed(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() { // ends with this call
		defer close(watched)
		select {
		case <-c.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	s, err := c.connect(ctx)
	cancel()
	<-watched
	return s, err
}

// pause waits for d. It returns false if the client was closed.
func (c *Client) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.closing:
		return false
	case <-timer.C:
		return true
	}
}

// shutdown completes all waiting calls with the reason. It closes done last:
// when Close returns, no part of the client runs any more, including OnState
// and the logger.
func (c *Client) shutdown(err error) {
	c.final = err
	c.cancel()
	c.out.close(err)
	c.failCalls(err)
	c.http.CloseIdleConnections()
	if errors.Is(err, ErrClosed) {
		c.log.Debug("closed")
	} else {
		c.log.Error("the gateway ended the connection for good", "err", err)
	}
	c.opts.OnState(State{Phase: Closed, Err: err})
	close(c.done)
}
