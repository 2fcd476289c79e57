package space

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// bucketKey identifies one set of token buckets. A configured participant or a
// guest has the same buckets in all spaces of a pattern; an invitation belongs to
// one space.
type bucketKey struct {
	space       string
	invited     bool
	participant protocol.ParticipantID
}

func (s *Space) bucketKey(id protocol.ParticipantID) bucketKey {
	st := s.state.Load()
	if _, configured := st.cfg.Participants[id]; !configured && st.invited(id) {
		return bucketKey{s.name, true, id}
	}
	return bucketKey{st.cfg.pattern(), false, id}
}

// buckets are the token buckets of one participant in all spaces that share them.
type buckets struct {
	key     bucketKey
	limiter atomic.Pointer[Limiter] // nil: no limits; replaced under bucketPool.mu
	users   int                     // guarded by bucketPool.mu
}

// get returns the limiter; nil: no limits.
func (b *buckets) get() Limiter {
	if l := b.limiter.Load(); l != nil {
		return *l
	}
	return nil
}

func (b *buckets) replace(newLimiter func(old Limiter) Limiter) {
	if newLimiter == nil {
		b.limiter.Store(nil)
		return
	}
	l := newLimiter(b.get())
	b.limiter.Store(&l)
}

// bucketPool holds the buckets in use.
type bucketPool struct {
	mu    sync.Mutex
	byKey map[bucketKey]*buckets
}

// acquire returns the buckets of a key and creates them with newLimiter (nil: no
// limits) on the first call. Each acquire needs a release.
func (p *bucketPool) acquire(key bucketKey, newLimiter func(old Limiter) Limiter) *buckets {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.byKey[key]
	if b == nil {
		b = &buckets{key: key}
		b.replace(newLimiter)
		if p.byKey == nil {
			p.byKey = make(map[bucketKey]*buckets)
		}
		p.byKey[key] = b
	}
	b.users++
	return b
}

func (p *bucketPool) release(b *buckets) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.users--; b.users == 0 {
		delete(p.byKey, b.key)
	}
}

// update applies changed limits to the buckets; their levels stay.
func (p *bucketPool) update(b *buckets, newLimiter func(old Limiter) Limiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.replace(newLimiter)
}

// Bounds of the spaces without a log that a participant may open by a glob: in a
// burst, and per second. Each takes memory while it is open.
const (
	creationBurst = 128
	creationRate  = 0.5
)

// creations limits the rate at which participants create spaces.
type creations struct {
	mu    sync.Mutex
	byKey map[bucketKey]*allowance
}

func (c *creations) allow(key bucketKey, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.byKey[key]
	if a == nil {
		if c.byKey == nil {
			c.byKey = make(map[bucketKey]*allowance)
		}
		a = &allowance{}
		c.byKey[key] = a
	}
	return a.allow(now, creationRate, creationBurst)
}

// sweep drops buckets that are full again.
func (c *creations) sweep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, a := range c.byKey {
		if a.full(now, creationRate) {
			delete(c.byKey, key)
		}
	}
}

// SpaceFor returns the space of this name for a participant, like Space. A space
// that a glob matches and that has no log yet is charged to the participant. The
// error may also be a *protocol.Error: too_many_requests.
func (h *Hub) SpaceFor(ctx context.Context, name string, who protocol.ParticipantID) (*Space, error) {
	if h.lookup(name) != nil {
		return h.Space(ctx, name)
	}
	h.mu.Lock()
	cfg, ok := h.config(name)
	h.mu.Unlock()
	if !ok || !strings.Contains(cfg.pattern(), "*") {
		return h.Space(ctx, name)
	}
	_, newest, err := h.services.Journal.Bounds(ctx, name)
	if err != nil {
		return nil, err
	}
	if newest == 0 && !h.creations.allow(bucketKey{cfg.pattern(), false, who}, h.services.Clock()) {
		refused := protocol.Errorf(protocol.CodeTooMany, "You make new spaces too fast; wait a moment before the next one.")
		refused.RetryAfterMS = int64(1000 / creationRate)
		return nil, refused
	}
	return h.Space(ctx, name)
}
