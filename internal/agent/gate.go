package agent

import (
	"context"
	"sync"
	"time"
)

// recheck is the time after which a paused agent without a resume tries again:
// a pause may end in ways that the agent is not notified of.
const recheck = 5 * time.Second

// gate blocks the sends of a paused agent. The zero gate is open.
type gate struct {
	mu     sync.Mutex
	shut   chan struct{} // closed when the gate opens; nil while it is open
	until  time.Time     // when it opens automatically; zero: never
	opened int           // number of times it was opened
}

// close closes the gate; a positive duration bounds it.
func (g *gate) close(during time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closeLocked()
	g.until = time.Time{}
	if during > 0 {
		g.until = time.Now().Add(during)
	}
}

func (g *gate) closeLocked() {
	if g.shut == nil {
		g.shut, g.until = make(chan struct{}), time.Time{}
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened++
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil && (g.until.IsZero() || time.Now().Before(g.until))
}

// generation returns the generation of the gate. It must be read before a send
// that may be refused.
func (g *gate) generation() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

// wait returns when the gate opens, after recheck at the latest, or with ctx's
// error. If the gate was opened after the mark, the refusal is outdated and
// wait returns at once.
func (g *gate) wait(ctx context.Context, mark int) error {
	g.mu.Lock()
	if g.opened != mark {
		g.mu.Unlock()
		return nil
	}
	g.closeLocked()
	shut, patience := g.shut, recheck
	if !g.until.IsZero() {
		patience = min(patience, max(0, time.Until(g.until)))
	}
	g.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-shut:
	case <-timer.C:
		g.open()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
