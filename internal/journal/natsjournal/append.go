package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/block"
)

// Append implements [journal.Journal]. A call that needs several blocks (more
// than 1024 drafts, or with state entries among them) waits for each block
// before it sends the next, since a stale draft ends the call.
func (j *Journal) Append(ctx context.Context, space string, drafts []journal.Draft) []journal.Result {
	results := make([]journal.Result, len(drafts))
	if err := j.startCall(space); err != nil {
		refuseFrom(results, 0, err)
		return results
	}
	defer j.appending.Done()
	// Every follower would reject the drafts that the replica can decide, but they
	// would stay in the stream.
	todo, err := j.replica.Decide(space, drafts, results)
	if err != nil {
		refuseFrom(results, 0, err)
		return results
	}
	j.appendAll(ctx, space, drafts, todo, results)
	endAtStale(results)
	return results
}

// appendAll appends the drafts with these indexes to the log, block by block.
func (j *Journal) appendAll(ctx context.Context, space string, drafts []journal.Draft, todo []int, results []journal.Result) {
	s := j.streams[j.names.bucket(space)]
	for len(todo) > 0 {
		req, n := j.cutRequest(space, drafts, todo)
		if req == nil { // a single draft that is too large
			results[todo[0]].Err = fmt.Errorf("append entry %s: %w: %d bytes at most", drafts[todo[0]].Envelope.ID, journal.ErrTooLarge, j.MaxDraftBytes())
			todo = todo[1:]
			continue
		}
		for i, r := range j.await(ctx, s, req) {
			results[todo[i]] = r
		}
		last := results[todo[n-1]].Err
		todo = todo[n:]
		if errors.Is(last, journal.ErrOutcomeUnknown) {
			last = journal.Unavailable(errNoAnswer) // the remaining drafts were not sent
		}
		if errors.Is(last, journal.ErrStale) || errors.Is(last, journal.ErrUnavailable) {
			for _, i := range todo {
				results[i].Err = last
			}
			return
		}
	}
}

// cutRequest packs as many of the drafts as fit into one block, at least one;
// nil if the first one is too large. A state draft has a block of its own,
// because it has another subject.
func (j *Journal) cutRequest(space string, drafts []journal.Draft, todo []int) (*request, int) {
	req := &request{space: space, state: drafts[todo[0]].State, answer: make(chan []journal.Result, 1)}
	var body, scratch []byte
	target := j.blockTarget()
	for _, i := range todo {
		if req.count == block.MaxDrafts || req.count > 0 && (req.state || drafts[i].State) {
			break
		}
		before := len(body)
		body, scratch = block.AppendDraft(body, scratch, &drafts[i])
		if req.count > 0 && len(body) > target {
			body = body[:before]
			break
		}
		req.count++
	}
	req.data = block.Section(req.count, body)
	if limit := j.blockLimit(); block.HeaderSize+len(req.data) > limit {
		req.block = block.EncodeDrafts([][]byte{req.data}, limit)
		req.data = nil
		if len(req.block) > limit {
			return nil, 1
		}
	}
	return req, req.count
}

// await submits a request and waits for its results, at most until ctx ends.
func (j *Journal) await(ctx context.Context, s *stream, req *request) []journal.Result {
	timer := time.NewTimer(j.opts.AppendTimeout)
	defer timer.Stop()
	s.commit.submit(req)
	reason := errNoAnswer
	select {
	case results := <-req.answer:
		return results
	case <-timer.C:
		if !j.nc.IsConnected() {
			reason = errDisconnected
		}
	case <-ctx.Done():
		reason = ctx.Err()
	}
	results := make([]journal.Result, req.count)
	switch s.commit.abandon(req) {
	case answered:
		return <-req.answer
	case maybePublished:
		refuseFrom(results, 0, outcomeUnknown(reason))
	case withdrawn:
		refuseFrom(results, 0, journal.Unavailable(reason))
	}
	return results
}

// refuseFrom rejects all drafts from index i on.
func refuseFrom(results []journal.Result, i int, err error) {
	for ; i < len(results); i++ {
		results[i] = journal.Result{Err: err}
	}
}

// endAtStale rejects all drafts after the first one that is stale, retries
// included: the caller checks all of them again.
func endAtStale(results []journal.Result) {
	for i := range results {
		if errors.Is(results[i].Err, journal.ErrStale) {
			refuseFrom(results, i, journal.ErrStale)
			return
		}
	}
}

// messageOverhead is the part of max_payload that the headers of a message
// need.
const messageOverhead = 512

// blockLimit returns the maximum size of a block.
func (j *Journal) blockLimit() int {
	limit := j.nc.MaxPayload()
	if limit <= 0 { // never connected
		limit = 1 << 20
	}
	return max(int(limit)-messageOverhead, messageOverhead)
}

// blockTarget returns the size in bytes up to which drafts are merged.
func (j *Journal) blockTarget() int { return min(blockBytes, j.blockLimit()/2) }

// MaxDraftBytes returns the maximum size of an encoded entry that cannot be
// compressed: NATS's max_payload less a few hundred bytes. An envelope of at
// most max_payload always fits, since JSON text compresses by more than the
// bytes added to it. Gateways should accept no larger messages.
func (j *Journal) MaxDraftBytes() int { return j.blockLimit() - block.HeaderSize - 32 }
