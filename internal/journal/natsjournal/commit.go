package natsjournal

import (
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/block"
)

// Bounds of the blocks that a stream has in flight.
const (
	// maxSpaceBlocks is the maximum number of blocks of one space in flight.
	// Requests that arrive meanwhile are merged into the next block, so that a
	// NATS server that syncs every message does so once for many drafts.
	maxSpaceBlocks = 2
	// maxStreamBlocks bounds the blocks in flight of all spaces of a stream; above
	// some thousands NATS itself starts to drop messages.
	maxStreamBlocks = 64
	// blockBytes is the size up to which drafts are merged, unless max_payload is
	// smaller.
	blockBytes = 256 << 10
)

// request is the part of one Append that goes into one block.
type request struct {
	space string
	state bool
	count int
	data  []byte // a section, see block.go
	block []byte // a whole block instead of a section, for a draft so large that it is packed

	inflight *inflight // nil while queued; guarded by committer.mu
	answer   chan []journal.Result
}

// merges reports whether the request can share a block with others.
func (req *request) merges() bool { return !req.state && req.block == nil }

func (req *request) refuse(err error) {
	results := make([]journal.Result, req.count)
	for i := range results {
		results[i].Err = err
	}
	req.answer <- results
}

// inflight is a block in flight.
type inflight struct {
	id    string // Nats-Msg-Id
	space string
	state bool
	since time.Time
	done  chan struct{} // closed when the committer has removed it

	// Guarded by committer.mu.
	requests []*request
	drafts   int
	bytes    int
	data     []byte // the block; nil until it is encoded
	sending  bool   // an attempt to publish is in progress
	unknown  bool   // a failed attempt may have reached the stream
}

// committer packs requests into blocks and tracks the blocks in flight.
// Requests wait in a queue for each space. The queues need no bound of their
// own, because there are never more requests than waiting calls of Append: a
// call that gives up withdraws its request.
type committer struct {
	publish func(*inflight) // starts publishing, which ends with onPublished
	nextID  func() string
	target  func() int // size in bytes up to which drafts are merged

	mu        sync.Mutex
	queues    map[string]*queue
	ready     []*queue // may start a block; first in, first out
	inFlight  int
	inflights map[string]*inflight // by id, until their outcome is known
}

// queue holds the waiting requests of a space. It exists while the space has
// requests or blocks in flight.
type queue struct {
	space    string
	requests []*request
	inFlight int
	ready    bool // it is in committer.ready
}

func newCommitter(publish func(*inflight), nextID func() string, target func() int) *committer {
	return &committer{
		publish: publish, nextID: nextID, target: target,
		queues: make(map[string]*queue), inflights: make(map[string]*inflight),
	}
}

// submit queues a request; its results arrive on request.answer.
func (c *committer) submit(req *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[req.space]
	if q == nil {
		q = &queue{space: req.space}
		c.queues[req.space] = q
	}
	q.requests = append(q.requests, req)
	c.offer(q)
	c.start()
}

// onPublished is called once for each block, after the last attempt to publish
// it.
func (c *committer) onPublished(f *inflight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[f.space]
	q.inFlight--
	c.inFlight--
	c.offer(q)
	c.start()
	c.release(q)
}

// release deletes a queue without requests and blocks in flight.
func (c *committer) release(q *queue) {
	if q.inFlight == 0 && len(q.requests) == 0 && !q.ready {
		delete(c.queues, q.space)
	}
}

// abandonResult is the state in which abandon found a request.
type abandonResult int

const (
	withdrawn      abandonResult = iota // it is not in the stream and never will be
	maybePublished                      // it is in the stream, or may get there
	answered                            // its results are available, or will be shortly
)

// abandon withdraws a request whose caller has given up, if possible.
func (c *committer) abandon(req *request) abandonResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := req.inflight
	if f == nil {
		if q := c.queues[req.space]; q != nil {
			q.requests = slices.DeleteFunc(q.requests, func(o *request) bool { return o == req })
			c.release(q)
		}
		return withdrawn
	}
	if c.inflights[f.id] != f {
		return answered
	}
	if f.sending || f.unknown {
		return maybePublished
	}
	f.requests = slices.DeleteFunc(f.requests, func(o *request) bool { return o == req })
	f.drafts -= req.count
	f.bytes -= len(req.data) + len(req.block)
	f.data = nil
	return withdrawn
}

// beginSend returns the block to publish; nil if no requests are left. From now
// on its requests cannot be withdrawn. endSend follows.
func (c *committer) beginSend(f *inflight, limit int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(f.requests) == 0 {
		return nil
	}
	f.sending = true
	if f.data == nil {
		f.data = f.encode(limit)
	}
	return f.data
}

// endSend records whether an attempt may have reached the stream.
func (c *committer) endSend(f *inflight, maybe bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.sending = false
	f.unknown = f.unknown || maybe
}

// offer adds a queue to the ready list if it may start a block.
func (c *committer) offer(q *queue) {
	if q.ready || len(q.requests) == 0 || q.inFlight >= maxSpaceBlocks {
		return
	}
	q.ready = true
	c.ready = append(c.ready, q)
}

// start publishes blocks up to the bound of the stream.
func (c *committer) start() {
	for len(c.ready) > 0 && c.inFlight < maxStreamBlocks {
		q := c.ready[0]
		c.ready = c.ready[1:]
		q.ready = false
		f := q.cut(c.target())
		if f == nil {
			c.release(q)
			continue
		}
		f.id = c.nextID()
		q.inFlight++
		c.inFlight++
		c.inflights[f.id] = f
		c.publish(f)
		c.offer(q)
	}
}

// cut removes the next block's requests from the queue; nil if it is empty.
func (q *queue) cut(target int) *inflight {
	f := &inflight{space: q.space, since: time.Now(), done: make(chan struct{})}
	for len(q.requests) > 0 {
		req := q.requests[0]
		full := f.drafts+req.count > block.MaxDrafts || f.bytes+len(req.data) > target
		if f.drafts > 0 && (full || !req.merges()) {
			break
		}
		req.inflight = f
		f.requests = append(f.requests, req)
		f.drafts += req.count
		f.bytes += len(req.data) + len(req.block)
		q.requests = q.requests[1:]
		if !req.merges() {
			break
		}
	}
	if f.drafts == 0 {
		return nil
	}
	f.state = f.requests[0].state
	return f
}

// encode encodes the block.
func (f *inflight) encode(limit int) []byte {
	if f.requests[0].block != nil {
		return f.requests[0].block
	}
	sections := make([][]byte, len(f.requests))
	for i, req := range f.requests {
		sections[i] = req.data
	}
	return block.EncodeDrafts(sections, limit)
}

// remove removes a block from the table; the caller sends its results. It
// returns nil if another caller has removed it, or if it is another gateway's.
func (c *committer) remove(id string) *inflight {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.inflights[id]
	if f != nil {
		delete(c.inflights, id)
		close(f.done)
	}
	return f
}

// answer sends each request its part of the results of the block.
func (f *inflight) answer(results []journal.Result) {
	for _, req := range f.requests {
		n := min(req.count, len(results))
		req.answer <- results[:n:n]
		results = results[n:]
	}
}

// refuse answers all requests with the error.
func (f *inflight) refuse(err error) {
	for _, req := range f.requests {
		req.refuse(err)
	}
}
