package agent

import (
	"context"
	"sync"
	"time"
)

// recheck is how long a paused agent waits for its resume before it asks the
// gateway again: a pause may end in ways that the agent does not hear of.
const recheck = 5 * time.Second

// gate holds an agent back that was paused. The zero gate is open.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil while it is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// wait returns when the gate opens, after a while at the latest, or with ctx's
// error.
func (g *gate) wait(ctx context.Context) error {
	g.close()
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	timer := time.NewTimer(recheck)
	defer timer.Stop()
	select {
	case <-shut:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
