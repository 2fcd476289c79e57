package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
)

// administration is what the log of the administrative space adds to the
// configuration file. Changes of the file and of the directory are applied one
// after the other, each together with the latest state of the other.
type administration struct {
	mu        sync.Mutex
	space     string // the administrative space; "": none
	read      bool   // the directory of the space was read
	directory authority.Directory
	// moved is called when another space becomes the administrative one; nil:
	// followDirectory does not wait.
	moved context.CancelFunc
}

var errDirectoryUnread = errors.New("the administrative space has not been read yet")

// moveLocked sets the administrative space; a.mu is held.
func (a *administration) moveLocked(space string) {
	if a.space == space {
		return
	}
	a.space, a.read, a.directory = space, false, authority.Directory{}
	if a.moved != nil {
		a.moved()
	}
}

// applyDirectory applies the current directory, if it has changed. Of a space that
// is not open it does nothing: followDirectory opens it.
func (g *Gateway) applyDirectory() {
	g.admin.mu.Lock()
	defer g.admin.mu.Unlock()
	sp := g.hub.Lookup(g.admin.space)
	if sp == nil || g.admin.space == "" {
		return
	}
	d := sp.Directory()
	if g.admin.read && d == g.admin.directory {
		return
	}
	g.admin.read, g.admin.directory = true, d
	g.applyLocked()
	g.log.Info("administration applied", "space", g.admin.space, "elements", d.Len())
}

// applyLocked applies the file and the directory; g.admin.mu is held. Rights and
// limits hold from the next envelope on, and connections whose token or participant
// is gone are closed with 4001.
func (g *Gateway) applyLocked() {
	file := g.cfg.Load()
	cfg := effective(file, g.admin.directory)
	g.auth.Replace(tokensOf(cfg))
	g.hub.Reload(spacesOf(cfg, file, g.heldIn))
}

// directoryRetry is the pause before the administrative space is opened again.
const directoryRetry = time.Second

// followDirectory applies changes by this and other gateways, and closes the
// connections of tokens that expire, until ctx ends.
func (g *Gateway) followDirectory(ctx context.Context) {
	warned := false
	for ctx.Err() == nil {
		err := g.followSpace(ctx)
		if err == nil || ctx.Err() != nil {
			warned = false
			continue
		}
		if !warned {
			g.log.Error("the administrative space cannot be read; its latest known state is in effect", "error", err)
		}
		warned = true
		select {
		case <-time.After(directoryRetry):
		case <-ctx.Done():
		}
	}
}

// followSpace follows the administrative space until it is closed on this gateway,
// until another one takes its place, or until an error. It closes connections whose
// token expires.
func (g *Gateway) followSpace(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.admin.mu.Lock()
	name := g.admin.space
	g.admin.moved = cancel
	g.admin.mu.Unlock()
	if name == "" {
		<-ctx.Done()
		return nil
	}
	sp, err := g.hub.Space(ctx, name)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	cursor := sp.Follow(sp.Head())
	defer cursor.Close()
	for {
		g.applyDirectory()
		g.admin.mu.Lock()
		expiry := g.admin.directory.NextExpiry(time.Now())
		g.admin.mu.Unlock()
		within, stop := ctx, context.CancelFunc(func() {})
		if !expiry.IsZero() {
			within, stop = context.WithDeadline(ctx, expiry)
		}
		_, _, err := cursor.Next(within)
		stop()
		switch {
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			g.hub.Recheck()
		case err != nil:
			return ignoreEnd(ctx, err)
		}
	}
}

// ignoreEnd returns nil for errors that end a cursor without a fault.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, space.ErrRetired) {
		return nil
	}
	return err
}
