package mcptools

import (
	"context"
	"sync"
	"time"
)

// timeLimit ends an operation after a time, with context.DeadlineExceeded as the cause. The
// time does not pass while the operation is held.
type timeLimit struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time // the timer runs from here
	holds int
}

type timeLimitKey struct{}

// withTimeLimit returns a context that ends after a time.
func withTimeLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &timeLimit{cancel: cancel, left: limit, since: time.Now()}
	l.timer = time.AfterFunc(limit, l.end)
	return context.WithValue(ctx, timeLimitKey{}, l), func() {
		l.timer.Stop()
		cancel(nil)
	}
}

func (l *timeLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds == 0 {
		l.cancel(context.DeadlineExceeded)
	}
}

// Hold stops the time limit of an operation, whose context is given, until release is
// called: the server waits for a person.
func Hold(ctx context.Context) (release func()) {
	l, ok := ctx.Value(timeLimitKey{}).(*timeLimit)
	if !ok {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds++; l.holds == 1 {
		l.timer.Stop()
		l.left = max(0, l.left-time.Since(l.since))
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.holds--; l.holds == 0 {
			l.since = time.Now()
			l.timer.Reset(l.left)
		}
	}
}
