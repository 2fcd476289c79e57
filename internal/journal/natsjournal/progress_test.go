package natsjournal

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

func TestSharedCall(t *testing.T) {
	var q sharedCall
	var asked atomic.Int64
	free, started := make(chan struct{}), make(chan struct{}, 10)
	f := func() (uint64, error) {
		started <- struct{}{}
		<-free
		return uint64(asked.Add(1)), nil
	}
	var first, later sync.WaitGroup
	first.Go(func() {
		if n, err := q.Do(t.Context(), f); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
	<-started
	for range 5 { // they arrive during the first call, and share the second
		later.Go(func() {
			if n, err := q.Do(t.Context(), f); n < 2 || err != nil {
				t.Error(n, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	later.Go(func() { _, _ = q.Do(ctx, f) })
	close(free)
	first.Wait()
	later.Wait()
	if n := asked.Load(); n > 7 {
		t.Errorf("%d questions", n)
	}
}
