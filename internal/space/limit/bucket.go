package limit

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bucket holds the token buckets of one participant, shared by its
// connections. Its methods may be called concurrently.
type Bucket struct {
	mu        sync.Mutex
	latest    time.Time // of all calls so far
	envelopes tokens
	joins     tokens
	bytes     tokens
	refused   tokens       // bytes of refused envelopes
	reads     tokens       // requests that read
	work      tokens       // bytes that were read for the participant
	kinds     []kindTokens // replaced as a whole, never changed in place
}

// kindTokens is the bucket of one KindLimit.
type kindTokens struct {
	pattern protocol.KindPattern
	tokens  tokens
}

// New returns full buckets.
func New(l Limits) *Bucket {
	b := &Bucket{}
	b.Update(l, time.Time{})
	return b
}

// Update replaces the limits. Levels stay as they are, cut to the new burst;
// a limit that was not there before begins full. A kind limit is the same one
// when its pattern is written the same.
func (b *Bucket) Update(l Limits, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clock(now)
	b.envelopes = b.envelopes.update(now, l.Rate, burst(l.Rate, l.Burst))
	var joins, reads, refused float64 // 0: unlimited
	if !unlimited(l.Rate) {
		joins, reads = max(l.Rate, minJoinRate), max(l.Rate, minReadRate) // as many as envelopes
	}
	if !unlimited(float64(l.BytesPerSecond)) {
		refused = max(float64(l.BytesPerSecond), minRefusedRate) // as many as of admitted ones
	}
	b.joins = b.joins.update(now, joins, max(burst(l.Rate, l.Burst), minJoinBurst))
	b.bytes = b.bytes.update(now, float64(l.BytesPerSecond), l.byteBurst())
	b.refused = b.refused.update(now, refused, max(l.byteBurst(), minRefusedBurst))
	b.reads = b.reads.update(now, reads, max(burst(l.Rate, l.Burst), minReadBurst))
	b.work = b.work.update(now, workFactor*float64(l.BytesPerSecond), workFactor*l.byteBurst())
	kinds := make([]kindTokens, 0, len(l.Kinds))
	for _, k := range l.Kinds {
		var old tokens
		same := func(x kindTokens) bool { return x.pattern.String() == k.Pattern.String() }
		if i := slices.IndexFunc(b.kinds, same); i >= 0 {
			old = b.kinds[i].tokens
		}
		kinds = append(kinds, kindTokens{k.Pattern, old.update(now, k.Rate, burst(k.Rate, k.Burst))})
	}
	b.kinds = kinds
}

// named returns the buckets by name.
func (b *Bucket) named(yield func(name string, t tokens) bool) {
	ok := yield("envelopes", b.envelopes) && yield("joins", b.joins) && yield("bytes", b.bytes) &&
		yield("refused", b.refused) && yield("reads", b.reads) && yield("work", b.work)
	for i := 0; ok && i < len(b.kinds); i++ {
		ok = yield("kinds:"+b.kinds[i].pattern.String(), b.kinds[i].tokens)
	}
}

// TakeSpent returns the number of tokens that were taken since the last call, by
// the bucket's name; nil: none. It is negative where more were given back.
func (b *Bucket) TakeSpent() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var spent map[string]int
	for name, t := range b.named {
		if n := t.takeSpent(); n != 0 {
			if spent == nil {
				spent = make(map[string]int)
			}
			spent[name] = n
		}
	}
	return spent
}

// Charge takes tokens that the participant spent at another gateway, on credit.
// Names of buckets that are not configured here are ignored.
func (b *Bucket) Charge(now time.Time, spent map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clock(now)
	for name, t := range b.named {
		t.charge(now, spent[name])
	}
}

// clock returns now, or the latest time of any call if that is later:
// connections read the clock before they get the lock.
func (b *Bucket) clock(now time.Time) time.Time {
	if now.After(b.latest) {
		b.latest = now
	}
	return b.latest
}

// Envelope charges a frame, admitted or not. Error: rate_limited.
func (b *Bucket) Envelope(now time.Time) error { return b.takeOne(now, &b.envelopes, "rate") }

// takeOne takes a token of one of the buckets, which an update replaces under the
// lock, or refuses by the name of the limit.
func (b *Bucket) takeOne(now time.Time, from *tokens, limit string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clock(now)
	if wait := from.wait(now, 1); wait > 0 {
		return refusal(limit, "", wait)
	}
	from.take(now, 1)
	return nil
}

// Connections may be opened at the rate of envelopes, from a bucket of their
// own, and at least at this one: a participant with few envelopes to send may
// still have several connections, and lose them all at once.
const (
	minJoinRate  = 1
	minJoinBurst = 32
)

// Join charges one connection that is opened. Error: rate_limited.
func (b *Bucket) Join(now time.Time) error {
	if e := protocol.AsError(b.takeOne(now, &b.joins, "rate")); e != nil {
		e.Message = fmt.Sprintf("You are opening connections faster than your limit allows; try again in %d ms.", e.RetryAfterMS)
		return e
	}
	return nil
}

// Read charges a request that reads. Error: rate_limited.
func (b *Bucket) Read(now time.Time) error { return b.takeOne(now, &b.reads, "requests") }

// Refused charges the bytes of envelopes that were refused, on credit, and
// returns how long the sender has to keep quiet; 0: it may go on.
func (b *Bucket) Refused(now time.Time, bytes int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clock(now)
	b.refused.take(now, bytes)
	return b.refused.wait(now, 1)
}

// workFactor is how many bytes of work a participant has for each byte that it
// may send. Ordinary texts take five to ten, texts that are written to be
// expensive more than a hundred.
const workFactor = 16

// Work returns rate_limited while the participant's debt for earlier work is not
// paid.
func (b *Bucket) Work(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait := b.work.wait(b.clock(now), 1); wait > 0 {
		return refusal("inspected_bytes_per_second", "", wait)
	}
	return nil
}

// Worked charges work, in bytes. Work above the content of the bucket becomes
// debt.
func (b *Bucket) Worked(now time.Time, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.work.take(b.clock(now), bytes)
}

// Reservation has the tokens of an envelope except its envelope token. It is not
// safe for concurrent use.
type Reservation struct {
	bucket *Bucket
	kinds  []kindTokens // the limits at the time of the reservation
	bytes  tokens
	kind   protocol.Kind
	size   int
}

// Reserve takes the bytes of an envelope and a token of every kind limit that
// selects its kind: all of them, or none. Error: rate_limited, naming the
// limit that keeps the sender waiting longest.
func (b *Bucket) Reserve(now time.Time, kind protocol.Kind, size int) (Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clock(now)
	longest, limit, pattern := b.bytes.wait(now, size), "bytes_per_second", ""
	for i := range b.kinds {
		k := &b.kinds[i]
		if !k.pattern.Match(kind) {
			continue
		}
		if wait := k.tokens.wait(now, 1); wait > longest {
			longest, limit, pattern = wait, "kinds: ", k.pattern.String()
		}
	}
	if longest > 0 {
		return Reservation{}, refusal(limit, pattern, longest)
	}
	b.bytes.take(now, size)
	for i := range b.kinds {
		if k := &b.kinds[i]; k.pattern.Match(kind) {
			k.tokens.take(now, 1)
		}
	}
	return Reservation{bucket: b, kinds: b.kinds, bytes: b.bytes, kind: kind, size: size}, nil
}

// Cancel gives everything back, because the envelope was refused after all. It
// does so once, and nothing for the zero Reservation.
func (r *Reservation) Cancel(now time.Time) { r.giveBack(now, r.size) }

// CancelKinds gives the tokens of the kinds back and keeps the bytes, because
// the envelope was a retry of one that was admitted before. It does so once.
func (r *Reservation) CancelKinds(now time.Time) { r.giveBack(now, 0) }

func (r *Reservation) giveBack(now time.Time, size int) {
	b := r.bucket
	if b == nil {
		return
	}
	r.bucket = nil
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clock(now)
	if size > 0 {
		r.bytes.giveBack(now, size)
	}
	for i := range r.kinds {
		if k := &r.kinds[i]; k.pattern.Match(r.kind) {
			k.tokens.giveBack(now, 1)
		}
	}
}

func refusal(limit, pattern string, wait time.Duration) *protocol.Error {
	ms := max(1, int64((wait+time.Millisecond-1)/time.Millisecond))
	e := protocol.Errorf(protocol.CodeRateLimited,
		"You are sending faster than your limit (%s%s) allows: send this again in %d ms, and slow down.", limit, pattern, ms)
	e.Limit, e.RetryAfterMS = limit+pattern, ms
	return e
}
