package authority

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// BucketKey identifies one set of token buckets. A configured participant or a
// guest has the same buckets in all spaces of a pattern; an invitation belongs to
// one space.
type BucketKey struct {
	Space       string // or pattern
	Invited     bool
	Participant protocol.ParticipantID
}

// Buckets are the token buckets of one participant in all spaces that share them.
type Buckets struct {
	key     BucketKey
	limiter atomic.Pointer[Limiter] // nil: no limits; replaced under BucketPool.mu
	users   int                     // guarded by BucketPool.mu
}

// Get returns the limiter.
func (b *Buckets) Get() Limiter {
	if l := b.limiter.Load(); l != nil {
		return *l
	}
	return Unlimited{}
}

func (b *Buckets) replace(newLimiter func(old Limiter) Limiter) {
	if newLimiter == nil {
		b.limiter.Store(nil)
		return
	}
	var old Limiter
	if l := b.limiter.Load(); l != nil {
		old = *l
	}
	l := newLimiter(old)
	b.limiter.Store(&l)
}

// BucketPool holds the token buckets of participants, which the spaces of one pattern
// share.
type BucketPool struct {
	mu    sync.Mutex
	byKey map[BucketKey]*Buckets
}

// Acquire returns the buckets of a key and creates them with newLimiter (nil: no
// limits) on the first call. Each acquire needs a release.
func (p *BucketPool) Acquire(key BucketKey, newLimiter func(old Limiter) Limiter) *Buckets {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.byKey[key]
	if b == nil {
		b = &Buckets{key: key}
		b.replace(newLimiter)
		if p.byKey == nil {
			p.byKey = make(map[BucketKey]*Buckets)
		}
		p.byKey[key] = b
	}
	b.users++
	return b
}

// Release ends an Acquire.
func (p *BucketPool) Release(b *Buckets) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.users--
	if b.users == 0 {
		delete(p.byKey, b.key)
	}
}

// Update applies changed limits to the buckets; their levels stay.
func (p *BucketPool) Update(b *Buckets, newLimiter func(old Limiter) Limiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.replace(newLimiter)
}

// Spending is the tokens that one participant spent from its buckets at one gateway.
type Spending struct {
	Space       string // as in [BucketKey]
	Invited     bool
	Participant protocol.ParticipantID
	Spent       map[string]int // see [Limiter]
}

// TakeSpent returns the tokens spent from the buckets since the last call.
func (p *BucketPool) TakeSpent() []Spending {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Spending
	for key, b := range p.byKey {
		if spent := b.Get().TakeSpent(); len(spent) > 0 {
			list = append(list, Spending{key.Space, key.Invited, key.Participant, spent})
		}
	}
	return list
}

// Charge charges the tokens spent at another gateway. A participant without buckets
// here is ignored: it begins with full ones.
func (p *BucketPool) Charge(now time.Time, list []Spending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range list {
		if b := p.byKey[BucketKey{x.Space, x.Invited, x.Participant}]; b != nil {
			b.Get().Charge(now, x.Spent)
		}
	}
}

// Bounds of the spaces without a log that a participant may open by a glob: in a
// burst, and per second. Each takes memory while it is open.
const (
	creationBurst = 128
	CreationRate  = 0.5
)

// Creations limits the rate at which participants create spaces.
type Creations struct {
	mu    sync.Mutex
	byKey map[BucketKey]*Allowance
}

// Allow takes one creation, if there is one.
func (c *Creations) Allow(key BucketKey, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.byKey[key]
	if a == nil {
		if c.byKey == nil {
			c.byKey = make(map[BucketKey]*Allowance)
		}
		a = &Allowance{}
		c.byKey[key] = a
	}
	return a.Allow(now, CreationRate, creationBurst)
}

// Sweep drops buckets that are full again.
func (c *Creations) Sweep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, a := range c.byKey {
		if a.Full(now, CreationRate) {
			delete(c.byKey, key)
		}
	}
}

// Allowance is a token bucket.
type Allowance struct {
	spent float64
	at    time.Time
}

// Allow takes one token, if there is one.
func (a *Allowance) Allow(now time.Time, rate, burst float64) bool {
	if passed := now.Sub(a.at).Seconds(); passed > 0 {
		a.spent, a.at = max(0, a.spent-passed*rate), now
	}
	if a.spent+1 > burst {
		return false
	}
	a.spent++
	return true
}

// Full reports whether the bucket is full.
func (a *Allowance) Full(now time.Time, rate float64) bool {
	return a.spent <= now.Sub(a.at).Seconds()*rate
}
