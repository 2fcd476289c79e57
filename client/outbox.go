package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// outbox holds the envelopes that are not acknowledged yet, in the order in
// which they were sent. A connection writes them from the front; a new
// connection starts at the front again.
type outbox struct {
	slots chan struct{} // one token per queued envelope: the bound
	ready chan struct{} // wakes the writer
	onAdd func()        // called when an envelope was added and awaits an answer

	mu        sync.Mutex
	queue     []*Pending
	holdUntil time.Time     // the gateway requested a pause until then
	pace      time.Duration // between two envelopes, until paceUntil
	paceUntil time.Time
	closeErr  error // the reason for rejecting further envelopes
}

func newOutbox(size int, grown func()) *outbox {
	return &outbox{
		slots: make(chan struct{}, size),
		ready: make(chan struct{}, 1),
		onAdd: grown,
	}
}

// add queues p. It waits for a slot until ctx or the client ends.
func (o *outbox) add(ctx context.Context, done <-chan struct{}, p *Pending) error {
	select {
	case o.slots <- struct{}{}: // a free one is taken even if ctx has ended
	default:
		select {
		case o.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			o.mu.Lock()
			defer o.mu.Unlock()
			return o.closeErr
		}
	}
	o.mu.Lock()
	if o.closeErr != nil {
		defer o.mu.Unlock()
		<-o.slots
		return o.closeErr
	}
	o.queue = append(o.queue, p)
	o.mu.Unlock()
	wake(o.ready)
	o.onAdd()
	return nil
}

// waiting reports whether an envelope awaits an answer of the gateway.
func (o *outbox) waiting() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) > 0
}

// next returns the first envelope that this connection has not written and
// marks it as written. Otherwise it returns nil and how long to wait; 0 means
// until ready.
func (o *outbox) next(now time.Time) (*Pending, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		if p.written {
			continue
		}
		if wait := o.holdUntil.Sub(now); wait > 0 {
			return nil, wait
		}
		if now.Before(o.paceUntil) {
			o.holdUntil = now.Add(o.pace)
		}
		p.written, p.sent = true, true
		return p, 0
	}
	return nil, 0
}

// rewind prepares for a new connection: all envelopes are to be written again,
// except the ones that must not arrive twice.
func (o *outbox) rewind() {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.queue[:0]
	for _, p := range o.queue {
		if p.written && p.kind.IsLive() {
			o.settle(p, protocol.Ack{}, ErrInterrupted)
			continue
		}
		p.written = false
		kept = append(kept, p)
	}
	clear(o.queue[len(kept):])
	o.queue = kept
}

// answer settles the envelope with this id, if it is queued.
func (o *outbox) answer(id protocol.ID, ack protocol.Ack, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.index(id)
	if i < 0 {
		return false
	}
	o.finish(i, ack, err)
	return true
}

// withdraw releases the slot of an envelope that its caller no longer waits
// for. It reports whether the gateway may have admitted the envelope.
func (o *outbox) withdraw(p *Pending, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.index(p.ID); i >= 0 {
		o.finish(i, protocol.Ack{}, err)
		return p.sent
	}
	return p.sent && p.err == nil
}

// paced is how long envelopes are sent one at a time after a rejection for the moment.
const paced = 2 * time.Second

// scheduleRetry schedules the envelope to be written again, and holds back
// later ones until then, to preserve the order as far as possible. For a while, envelopes
// are written at intervals of pace: everything in flight at once would be rejected again.
func (o *outbox) scheduleRetry(id protocol.ID, until func(attempt int) time.Time, pace time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.index(id)
	if i < 0 {
		return false
	}
	p := o.queue[i]
	p.attempts++
	p.written = false
	if t := until(p.attempts); t.After(o.holdUntil) {
		o.holdUntil = t
	}
	o.pace, o.paceUntil = pace, o.holdUntil.Add(paced)
	wake(o.ready)
	return true
}

// refuseLargest rejects the largest envelope in flight. A gateway that reports
// a message as too large without an id means this one.
func (o *outbox) refuseLargest(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	largest := -1
	for i, p := range o.queue {
		if p.written && (largest < 0 || len(p.frame) > len(o.queue[largest].frame)) {
			largest = i
		}
	}
	if largest >= 0 {
		o.finish(largest, protocol.Ack{}, err)
	}
}

// close fails all queued envelopes and all later ones.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeErr = err
	for _, p := range o.queue {
		o.settle(p, protocol.Ack{}, err)
	}
	o.queue = nil
}

func (o *outbox) index(id protocol.ID) int {
	return slices.IndexFunc(o.queue, func(p *Pending) bool { return p.ID == id })
}

// finish removes an envelope from the queue and sets its outcome.
func (o *outbox) finish(i int, ack protocol.Ack, err error) {
	p := o.queue[i]
	o.queue = slices.Delete(o.queue, i, i+1)
	o.settle(p, ack, err)
}

// settle sets the outcome of p and releases its slot.
func (o *outbox) settle(p *Pending, ack protocol.Ack, err error) {
	if p.kind.IsLive() {
		ack.Seq = 0 // a gateway may respond with the head of its log
	}
	p.ack, p.err = ack, err
	close(p.done)
	<-o.slots
}
