package mcptools

import (
	"context"
	"sync"
	"time"
)

// timeLimit ends an operation after a time without progress, or after a whole time, with
// context.DeadlineExceeded as the cause. No time passes while the operation is held.
type timeLimit struct {
	cancel context.CancelCauseFunc
	each   time.Duration // without progress

	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // until the timer ends it, at since
	whole time.Duration // that is left with progress, at since
	since time.Time
	holds int
}

type timeLimitKey struct{}

// withTimeLimit returns a context that ends after a time, and its limit, which must be
// stopped.
func withTimeLimit(ctx context.Context, each, whole time.Duration) (context.Context, *timeLimit) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &timeLimit{cancel: cancel, each: each, left: each, whole: whole, since: time.Now()}
	l.timer = time.AfterFunc(each, l.end)
	return context.WithValue(ctx, timeLimitKey{}, l), l
}

// stop ends the context.
func (l *timeLimit) stop() {
	l.timer.Stop()
	l.cancel(nil)
}

func (l *timeLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds == 0 {
		l.cancel(context.DeadlineExceeded)
	}
}

// extend begins the time without progress again.
func (l *timeLimit) extend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds > 0 {
		l.left = min(l.each, l.whole)
		return
	}
	if l.timer.Stop() { // an operation that has ended stays so
		l.passLocked()
		l.left = min(l.each, l.whole)
		l.timer.Reset(l.left)
	}
}

// passLocked subtracts the time since l.since.
func (l *timeLimit) passLocked() {
	passed := time.Since(l.since)
	l.left, l.whole, l.since = max(0, l.left-passed), max(0, l.whole-passed), l.since.Add(passed)
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
	l.holds++
	if l.holds == 1 {
		l.timer.Stop()
		l.passLocked()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holds--
		if l.holds == 0 {
			l.since = time.Now()
			l.timer.Reset(l.left)
		}
	}
}
