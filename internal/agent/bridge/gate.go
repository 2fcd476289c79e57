package bridge

import (
	"context"
	"sync"
	"time"
)

// gate blocks calls that have not started while the bridge is paused. The zero
// gate is open.
type gate struct {
	mu    sync.Mutex
	shut  chan struct{} // closed when the gate opens; nil while it is open
	timer *time.Timer   // opens it automatically
}

// close closes the gate; a positive duration bounds it.
func (g *gate) close(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopTimer()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
	if d > 0 {
		g.timer = time.AfterFunc(d, g.open)
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopTimer()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) stopTimer() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
}

func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// wait returns when the gate is open, or with the cause of ctx's end.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return nil
	}
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
