package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
)

const (
	// maxSpaceBlocks is the maximum number of blocks of one space in flight.
	// Requests that arrive meanwhile are merged into the next block, so that a
	// NATS server that syncs every message does so once for many drafts.
	maxSpaceBlocks = 2
	// maxStreamBlocks bounds the blocks in flight of all spaces of a stream; above
	// some thousands NATS itself starts to drop messages.
	maxStreamBlocks = 64
	// targetBytes is the size up to which drafts are merged, unless the limit of
	// the stream is smaller.
	targetBytes = 256 << 10
	// retryWait is the pause after a failed attempt to send a block.
	retryWait = 50 * time.Millisecond
	// applyWait is the time that a stored block may take to come back before it is
	// overdue.
	applyWait = time.Second
)

// publisherStream is the stream to which blocks are published.
type publisherStream interface {
	// CanSend returns the reason why a message cannot be sent now. Send is not called
	// then, so that the outcome remains known.
	CanSend() error
	// Send sends a message once. The error is nil if the stream has stored it;
	// otherwise maybe means that it may have.
	Send(ctx context.Context, m pendingMessage) (maybe bool, err error)
	// Limit returns the maximum size of a block.
	Limit() int
	// Overdue is called when an outcome is overdue. It returns the reason.
	Overdue() error
}

// pendingMessage is a block to be sent.
type pendingMessage struct {
	ID    string // the stream stores only one message with it
	Space string
	State bool // it has a state entry
	Data  []byte
}

// publisherOptions configures a publisher.
type publisherOptions struct {
	Stream  publisherStream
	Prefix  string        // of the ids of messages; unique to the process
	Timeout time.Duration // of a request, and of a block
	// OnCommit, if set, is called by Applied for each block with its number of
	// drafts and bytes, and the time since it was begun.
	OnCommit func(drafts, bytes int, took time.Duration)
}

// publisher publishes drafts to one stream by group commit: the drafts of concurrent
// calls of Append share blocks. It waits until these have been applied. Requests wait in a queue for each space. The queues need no bound of
// their own, because there are never more requests than waiting calls of
// Append: a call that gives up withdraws its request.
type publisher struct {
	opts    publisherOptions
	ctx     context.Context
	slots   chan struct{} // one for each block in flight; first come, first served
	workers sync.WaitGroup

	mu       sync.Mutex
	lastID   uint64
	queues   map[string]*queue    // of the spaces with workers
	inflight map[string]*inflight // by id, until their outcome is known
}

// queue holds the waiting requests of a space. Its workers publish them.
type queue struct {
	requests []*request
	workers  int
}

// request is the part of one Append that goes into one block.
type request struct {
	state bool
	count int
	data  []byte // a section of a block
	block []byte // a whole block instead, for a draft so large that it is packed

	inflight *inflight // nil while queued; guarded by publisher.mu
	answer   chan []journal.Result
}

// inflight is a block in flight. The fields below done are guarded by
// publisher.mu.
type inflight struct {
	pendingMessage // its Data is nil until it is encoded

	since time.Time
	done  chan struct{} // closed when the outcome is known

	requests []*request
	drafts   int
	bytes    int
	sending  bool // an attempt is in progress
	unknown  bool // a failed attempt may have reached the stream
}

// newPublisher returns a publisher. Blocks are sent until ctx ends.
func newPublisher(ctx context.Context, o publisherOptions) *publisher {
	return &publisher{
		opts: o, ctx: ctx, slots: make(chan struct{}, maxStreamBlocks),
		queues: make(map[string]*queue), inflight: make(map[string]*inflight),
	}
}

// Wait waits for the blocks in flight. No Append may be in progress.
func (p *publisher) Wait() { p.workers.Wait() }

// Append appends the drafts with these indexes, block by block, and sets their
// results. It ends with the first block that is unavailable or stale.
func (p *publisher) Append(ctx context.Context, space string, drafts []journal.Draft, indexes []int, results []journal.Result) {
	for len(indexes) > 0 {
		req := p.cut(drafts, indexes)
		if req == nil { // a single draft that is too large
			i := indexes[0]
			results[i].Err = fmt.Errorf("append entry %s: %w: %d bytes at most", drafts[i].Envelope.ID, journal.ErrTooLarge, p.opts.Stream.Limit()-blockOverhead)
			indexes = indexes[1:]
			continue
		}
		var last error
		for k, r := range p.await(ctx, space, req) {
			results[indexes[k]], last = r, r.Err
		}
		indexes = indexes[req.count:]
		if errors.Is(last, journal.ErrOutcomeUnknown) {
			last = journal.Unavailable(p.opts.Stream.Overdue()) // the remaining drafts were not sent
		}
		if errors.Is(last, journal.ErrStale) || errors.Is(last, journal.ErrUnavailable) {
			for _, i := range indexes {
				results[i].Err = last
			}
			return
		}
	}
}

// cut packs as many of the drafts as fit into one block, at least one; nil if
// the first one is too large. A state draft has a block of its own, because it
// has another subject.
func (p *publisher) cut(drafts []journal.Draft, indexes []int) *request {
	req := &request{state: drafts[indexes[0]].State, answer: make(chan []journal.Result, 1)}
	var body, scratch []byte
	limit := p.opts.Stream.Limit()
	for _, i := range indexes {
		if req.count == maxDrafts || req.count > 0 && (req.state || drafts[i].State) {
			break
		}
		before := len(body)
		body, scratch = appendDraft(body, scratch, &drafts[i])
		if req.count > 0 && len(body) > min(targetBytes, limit/2) {
			body = body[:before]
			break
		}
		req.count++
	}
	req.data = encodeSection(req.count, body)
	if headerSize+len(req.data) > limit {
		req.block = encodeDrafts([][]byte{req.data}, limit)
		req.data = nil
		if len(req.block) > limit {
			return nil
		}
	}
	return req
}

// await submits a request and waits for its results, at most until ctx ends.
func (p *publisher) await(ctx context.Context, space string, req *request) []journal.Result {
	timer := time.NewTimer(p.opts.Timeout)
	defer timer.Stop()
	p.submit(space, req)
	var reason error
	select {
	case results := <-req.answer:
		return results
	case <-timer.C:
		reason = p.opts.Stream.Overdue()
	case <-ctx.Done():
		reason = ctx.Err()
	}
	if err := p.abandon(space, req, reason); err != nil {
		return refusals(req.count, err) // an answer that still comes is dropped
	}
	return <-req.answer
}

// outcomeUnknown returns the error of a draft that may have been appended.
func outcomeUnknown(reason error) error {
	return fmt.Errorf("%w: %w", journal.ErrOutcomeUnknown, reason)
}

func refusals(n int, err error) []journal.Result {
	return slices.Repeat([]journal.Result{{Err: err}}, n)
}

// submit queues a request; its results arrive on request.answer.
func (p *publisher) submit(space string, req *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[space]
	if q == nil {
		q = new(queue)
		p.queues[space] = q
	}
	q.requests = append(q.requests, req)
	if q.workers < maxSpaceBlocks {
		q.workers++
		p.workers.Go(func() { p.work(space, q) })
	}
}

// abandon withdraws a request whose caller has given up, if possible, and
// returns the error of its drafts; nil if it has an answer, or will have one
// shortly.
func (p *publisher) abandon(space string, req *request, reason error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	isReq := func(o *request) bool { return o == req }
	f := req.inflight
	switch {
	case f == nil:
		q := p.queues[space]
		q.requests = slices.DeleteFunc(q.requests, isReq)
		return journal.Unavailable(reason)
	case p.inflight[f.ID] != f:
		return nil
	case f.sending || f.unknown:
		return outcomeUnknown(reason)
	}
	f.requests = slices.DeleteFunc(f.requests, isReq)
	f.drafts -= req.count
	f.bytes -= len(req.data) + len(req.block)
	f.Data = nil
	return journal.Unavailable(reason)
}

// work publishes the requests of a space until none waits.
func (p *publisher) work(space string, q *queue) {
	for {
		p.slots <- struct{}{}
		f := p.begin(space, q)
		if f != nil {
			p.publish(f)
		}
		<-p.slots
		if f == nil {
			return
		}
	}
}

// begin removes the next block's requests from the queue. It returns nil if the
// queue is empty, which ends the worker.
func (p *publisher) begin(space string, q *queue) *inflight {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &inflight{since: time.Now(), done: make(chan struct{})}
	target := min(targetBytes, p.opts.Stream.Limit()/2)
	for len(q.requests) > 0 {
		req := q.requests[0]
		alone := req.state || req.block != nil
		full := f.drafts+req.count > maxDrafts || f.bytes+len(req.data) > target
		if f.drafts > 0 && (full || alone) {
			break
		}
		req.inflight = f
		f.requests = append(f.requests, req)
		f.drafts += req.count
		f.bytes += len(req.data) + len(req.block)
		q.requests = q.requests[1:]
		if alone {
			break
		}
	}
	if f.drafts == 0 {
		q.workers--
		if q.workers == 0 {
			delete(p.queues, space)
		}
		return nil
	}
	p.lastID++
	f.ID, f.Space, f.State = p.opts.Prefix+strconv.FormatUint(p.lastID, 10), space, f.requests[0].state
	p.inflight[f.ID] = f
	return f
}

// publish sends a block until it has been applied, or the time is up.
func (p *publisher) publish(f *inflight) {
	ctx, cancel := context.WithTimeout(p.ctx, p.opts.Timeout)
	defer cancel()
	reason := p.send(ctx, f)
	if !p.remove(f) {
		return
	}
	err := journal.Unavailable(reason)
	if f.unknown {
		err = outcomeUnknown(reason)
	}
	for _, req := range f.requests {
		req.answer <- refusals(req.count, err)
	}
}

var errAbandoned = errors.New("no caller waits for it")

// send returns when the block has been applied, when no request is left, or with
// the reason when ctx ends.
func (p *publisher) send(ctx context.Context, f *inflight) error {
	for {
		err := p.opts.Stream.CanSend()
		m, ok := p.beginSend(f, err == nil)
		if !ok {
			return errAbandoned
		}
		if err == nil {
			var maybe bool
			maybe, err = p.opts.Stream.Send(ctx, m)
			p.endSend(f, maybe || err == nil)
		}
		if err == nil {
			break
		}
		select {
		case <-f.done: // only the acknowledgment was lost
			return nil
		case <-ctx.Done():
			return err
		case <-time.After(retryWait):
		}
	}
	for {
		select {
		case <-f.done:
			return nil
		case <-ctx.Done():
			return p.opts.Stream.Overdue()
		case <-time.After(applyWait):
			_ = p.opts.Stream.Overdue() // the block may still be applied
		}
	}
}

// beginSend returns the message to send; ok is false if no requests are left. If
// it can be sent, its requests cannot be withdrawn from now on, and endSend
// follows.
func (p *publisher) beginSend(f *inflight, can bool) (m pendingMessage, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(f.requests) == 0 {
		return m, false
	}
	if !can {
		return m, true
	}
	f.sending = true
	if f.Data == nil {
		f.Data = f.encode(p.opts.Stream.Limit())
	}
	return f.pendingMessage, true
}

// endSend records whether an attempt may have reached the stream.
func (p *publisher) endSend(f *inflight, maybe bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.sending = false
	f.unknown = f.unknown || maybe
}

func (f *inflight) encode(limit int) []byte {
	if f.requests[0].block != nil {
		return f.requests[0].block
	}
	sections := make([][]byte, len(f.requests))
	for i, req := range f.requests {
		sections[i] = req.data
	}
	return encodeDrafts(sections, limit)
}

// Applied answers the requests of a block with the results of its drafts. It
// does nothing if no caller waits for the block, or if it is another process's.
func (p *publisher) Applied(id string, results []journal.Result) {
	p.mu.Lock()
	f := p.inflight[id]
	p.mu.Unlock()
	if f == nil || !p.remove(f) {
		return
	}
	for _, req := range f.requests {
		n := min(req.count, len(results))
		req.answer <- results[:n:n]
		results = results[n:]
	}
	if p.opts.OnCommit != nil {
		p.opts.OnCommit(f.drafts, f.bytes, time.Since(f.since))
	}
}

// remove ends a block, whose requests the caller answers then. It returns false
// if another caller has removed it.
func (p *publisher) remove(f *inflight) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inflight[f.ID] != f {
		return false
	}
	delete(p.inflight, f.ID)
	close(f.done)
	return true
}
