package main

import (
	"context"
	"errors"
	"time"
)

var errParentEnded = errors.New("the process that started the demo has ended")

// withParent returns a context that ends when the parent process has ended, which another
// one replaces then: a demo that a killed make, shell or test leaves would run unnoticed. ppid
// is os.Getppid. The returned function must be called.
func withParent(ctx context.Context, ppid func() int, every time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent, done := ppid(), make(chan struct{})
	go func() { // ends with ctx; the returned function waits
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if ppid() != parent {
					cancel(errParentEnded)
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}
