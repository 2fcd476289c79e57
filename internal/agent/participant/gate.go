package participant

import (
	"context"
	"math"
	"sync"
	"time"
)

// recheck is the time after which a participant whose envelope was refused
// because of a pause tries again: a pause may end in ways that the participant
// is not notified of.
const recheck = 5 * time.Second

// Gate is closed while a participant is paused. The zero Gate is open.
type Gate struct {
	mu         sync.Mutex
	paused     bool
	until      time.Time     // end of the pause; zero: only Open ends it
	generation int           // number of pauses that have ended
	closings   int           // number of calls of Close
	changed    chan struct{} // closed by the next change; nil: no one waits
}

// Close closes the gate, for a positive duration or until Open is called.
func (g *Gate) Close(during time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused, g.until = true, time.Time{}
	g.closings++
	if during > 0 {
		g.until = time.Now().Add(during)
	}
	g.notifyLocked()
}

// Open opens the gate.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.openLocked()
}

func (g *Gate) openLocked() {
	g.generation++
	g.paused = false
	g.notifyLocked()
}

func (g *Gate) notifyLocked() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// Closed reports whether the gate is closed.
func (g *Gate) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused && (g.until.IsZero() || time.Now().Before(g.until))
}

// state opens a gate whose pause has ended. It returns a channel that is closed
// when the state changes, nil if the gate is open, and the time left until it
// opens.
func (g *Gate) state() (changed <-chan struct{}, left time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left = math.MaxInt64
	if !g.until.IsZero() {
		left = time.Until(g.until)
	}
	if g.paused && left <= 0 {
		g.openLocked()
	}
	if !g.paused {
		return nil, 0
	}
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.changed, left
}

// Wait returns when the gate is open, or with the cause of ctx's end.
func (g *Gate) Wait(ctx context.Context) error { return g.wait(ctx, nil) }

// WaitClosed returns when the gate is closed, or was closed since the call for however
// short a time, or with the cause of ctx's end.
func (g *Gate) WaitClosed(ctx context.Context) error {
	g.mu.Lock()
	closings := g.closings
	g.mu.Unlock()
	for {
		g.mu.Lock()
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed, wasClosed := g.changed, g.closings != closings
		g.mu.Unlock()
		if wasClosed || g.Closed() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Generation returns the number of pauses that have ended. Read it before a
// send that may be refused because of a pause, for WaitRefused.
func (g *Gate) Generation() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.generation
}

// WaitRefused closes the gate, since the gateway refused an envelope because of
// a pause, and returns when the gate opens, after 5 s at the latest, or with the
// cause of ctx's end. If a pause has ended since the generation was read, the
// refusal is outdated and WaitRefused returns at once.
func (g *Gate) WaitRefused(ctx context.Context, generation int) error {
	g.mu.Lock()
	if g.generation != generation {
		g.mu.Unlock()
		return nil
	}
	if !g.paused {
		g.paused, g.until = true, time.Time{}
	}
	g.mu.Unlock()
	timer := time.NewTimer(recheck)
	defer timer.Stop()
	return g.wait(ctx, timer.C)
}

func (g *Gate) wait(ctx context.Context, recheck <-chan time.Time) error {
	for {
		changed, left := g.state()
		if changed == nil {
			return nil
		}
		end := time.NewTimer(left)
		select {
		case <-changed:
		case <-end.C:
		case <-recheck:
			g.Open()
		case <-ctx.Done():
			end.Stop()
			return context.Cause(ctx)
		}
		end.Stop()
	}
}
