package natsjournal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
)

// appliedEvery is the interval at which the leader of a stream is asked whether
// it has applied everything it proposed, and proposedEvery the one at which the
// end of its proposals is asked again: a lost proposal must not be waited for.
const (
	appliedEvery  = 5 * time.Millisecond
	proposedEvery = 100 * appliedEvery
)

// Barrier implements [journal.Journal]: it requests the end of the stream from
// its leader, then waits until this gateway has applied it and the sink has its
// entries. Concurrent calls share a request.
func (j *Journal) Barrier(ctx context.Context, space string) error {
	s := j.streamOf(space)
	if err := j.startCall(space); err != nil {
		return err
	}
	defer j.appending.Done()
	ctx, cancel := context.WithTimeout(ctx, j.opts.AppendTimeout)
	defer cancel()
	last, err := s.ends.Do(ctx, func() (uint64, error) { return s.durableEnd(j.life, space) })
	if err == nil {
		err = s.progress.Wait(ctx, last)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = cmp.Or(s.healthErr(), err)
	}
	return journal.Unavailable(err)
}

// durableEnd returns the sequence up to which a gateway must have applied the
// stream to have everything that is durable now. A follower may have delivered
// a message that the leader has proposed but not applied yet: the state of the
// leader alone does not show its end.
func (s *stream) durableEnd(ctx context.Context, space string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.j.opts.AppendTimeout)
	defer cancel()
	end := uint64(math.MaxUint64)
	for i := 0; ; i++ {
		if i%int(proposedEvery/appliedEvery) == 0 {
			proposed, err := s.proposedEnd(ctx, space)
			if err != nil {
				return 0, err
			}
			end = min(end, proposed)
		}
		if at, _ := s.progress.Get(); end <= at {
			return end, nil
		}
		handle, err := s.open(ctx)
		if err != nil {
			return 0, err
		}
		if handle.CachedInfo().State.LastSeq >= end {
			return s.lastStored(ctx, handle) // the last messages may have been deleted
		}
		select {
		case <-time.After(appliedEvery):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// proposedEnd returns the sequence of the last message that the stream's leader
// has proposed to the other servers. A publication that expects another one is
// refused with it. If the leader accepts nothing for lack of space, it is the end of
// the leader's state.
func (s *stream) proposedEnd(ctx context.Context, space string) (uint64, error) {
	if !s.j.nc.IsConnected() {
		return 0, errDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	_, err := s.j.js.PublishMsg(ctx, &nats.Msg{Subject: s.j.names.Subject(space, false)},
		jetstream.WithExpectStream(s.name), jetstream.WithExpectLastSequence(math.MaxInt64), jetstream.WithRetryAttempts(0))
	if hasCode(err, codeNoResources) {
		handle, err := s.open(ctx)
		if err != nil {
			return 0, err
		}
		return handle.CachedInfo().State.LastSeq, nil
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence {
		return 0, fmt.Errorf("look for the end of the stream: %w", noAnswer(cmp.Or(err, errNoAnswer)))
	}
	_, number, _ := strings.Cut(api.Description, ": ")
	end, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("look for the end of the stream: unexpected answer: %s", api.Description)
	}
	return end, nil
}

// progress is the sequence up to which the sink has received the entries of a
// stream.
type progress struct {
	mu      sync.Mutex
	seq     uint64
	changed chan struct{} // closed by the next advance; nil: no call waits
}

// Get returns the progress, and a channel that the next advance closes.
func (p *progress) Get() (seq uint64, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.seq, p.changed
}

// Reset sets the progress, which may be lower than before.
func (p *progress) Reset(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = seq
}

// Advance records progress and wakes waiting calls.
func (p *progress) Advance(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = max(p.seq, seq)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Wait returns when the progress is at least seq, or ctx ends.
func (p *progress) Wait(ctx context.Context, seq uint64) error {
	for {
		at, changed := p.Get()
		if at >= seq {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sharedCall shares one result among concurrent callers. A result is valid for
// every call that arrived before f started.
type sharedCall struct {
	turn sync.Mutex // f runs once at a time

	mu   sync.Mutex
	next *pendingCall // later callers can join it
}

type pendingCall struct {
	done chan struct{}
	seq  uint64
	err  error
}

// Do returns the result of f, which bounds its time itself.
func (q *sharedCall) Do(ctx context.Context, f func() (uint64, error)) (uint64, error) {
	q.mu.Lock()
	c := q.next
	first := c == nil
	if first {
		c = &pendingCall{done: make(chan struct{})}
		q.next = c
	}
	q.mu.Unlock()
	if first {
		q.turn.Lock()
		q.mu.Lock()
		q.next = nil
		q.mu.Unlock()
		c.seq, c.err = f()
		close(c.done)
		q.turn.Unlock()
	}
	select {
	case <-c.done:
		return c.seq, c.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
