package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// checks requests the state of a stream from JetStream at intervals,
// concurrently with reading: a late response must not delay delivery.
// stream.read owns it.
type checks struct {
	s         *stream
	workers   sync.WaitGroup
	running   bool
	lastStart time.Time
	next      time.Time
	results   chan checkResult // capacity one: only one check runs at a time
}

type checkResult struct {
	info *jetstream.StreamInfo
	pos  uint64 // position when the check started; info may be as old
	gaps int    // gaps passed then
	last uint64 // last message stored, if the stream extends beyond the position
	err  error
}

// start starts a check, unless one was started recently.
func (c *checks) start(ctx context.Context) {
	now := time.Now()
	if c.running || now.Sub(c.lastStart) < checkAgain/2 {
		return
	}
	c.running, c.lastStart, c.next = true, now, now.Add(checkEvery)
	a := checkResult{pos: c.s.local.Pos.Seq, gaps: c.s.gaps}
	c.workers.Go(func() {
		var handle jetstream.Stream
		handle, a.err = c.s.open(ctx)
		if a.err == nil {
			a.info = handle.CachedInfo()
			if a.info.State.LastSeq > a.pos {
				a.last, a.err = c.s.lastStored(ctx, handle)
			}
		}
		c.results <- a
	})
}

// assess handles the result of a check. An error means that a new feed is
// needed.
func (s *stream) assess(a checkResult, f *feed, c *checks, live bool) error {
	if a.err == nil && (a.info.Created.UnixNano() != s.local.Pos.Created || a.info.State.LastSeq < a.pos ||
		a.info.State.Msgs == 0 && a.pos > 0) {
		return errAgain // the next session determines the cause
	}
	if a.err == nil && a.info.Cluster != nil && a.info.Cluster.Leader == "" {
		a.err = errNoLeader
	}
	if a.err != nil {
		s.setHealth(a.err)
		c.next = time.Now().Add(checkAgain)
		return nil
	}
	switch {
	case live:
		s.setHealth(nil)
	case s.local.Hold.Seq > 0:
		s.setHealth(s.heldError())
	}
	if a.gaps == s.gaps {
		s.local.MarkComparable(a.info.State.LastSeq)
	}
	if a.last <= s.local.Pos.Seq || len(f.items) > 0 {
		s.stalled = 0
		return nil
	}
	// The stream has more messages than were delivered. They may be on their way:
	// fail only if the next check finds the same.
	if s.stalled == s.local.Pos.Seq+1 {
		s.stalled = 0
		return errStalled
	}
	s.stalled = s.local.Pos.Seq + 1
	c.next = time.Now().Add(checkAgain)
	return nil
}

// open requests the stream from JetStream, with its current info.
func (s *stream) open(ctx context.Context) (jetstream.Stream, error) {
	if !s.j.nc.IsConnected() {
		return nil, errDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	handle, err := s.j.js.Stream(ctx, s.name)
	return handle, noAnswer(err)
}

// getMsg requests a message from the stream's leader.
func (s *stream) getMsg(ctx context.Context, seq uint64, o ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	m, err := s.handle.GetMsg(ctx, seq, o...)
	return m, noAnswer(err)
}

// noAnswer replaces the error of a request that timed out.
func noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errNoAnswer
	}
	return err
}

// errUnproven stops a stream. The stream continues when its leader confirms
// that the missing messages were removed, or when a feed delivers them.
var errUnproven = errors.New("messages are missing that the stream has, or may have")

// proveRemoved returns nil if the stream has no message from sequence from up
// to (exclusive) to. It trusts only the leader: a consumer runs on any server
// with the stream, and that server may merely lag.
func (s *stream) proveRemoved(ctx context.Context, from, to uint64) error {
	if from >= to || to <= s.first {
		return nil
	}
	// One response proves it: the leader has the message that it returns, and
	// therefore received everything before it.
	next, err := s.getMsg(ctx, from, jetstream.WithGetMsgSubject(s.j.names.All(s.index)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return fmt.Errorf("%w: from %d to %d, and the leader ends before", errUnproven, from, to-1)
	case err != nil:
		return fmt.Errorf("look for message %d: %w", from, err)
	case next.Sequence < to:
		return fmt.Errorf("%w: %d of the range from %d to %d", errUnproven, next.Sequence, from, to-1)
	}
	return nil
}

// lastStored returns the sequence of the last message that the leader has, or
// 0. The stream's last sequence is greater if its last messages were deleted.
func (s *stream) lastStored(ctx context.Context, handle jetstream.Stream) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	m, err := handle.GetLastMsgForSubject(ctx, s.j.names.All(s.index))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for the last message: %w", noAnswer(err))
	}
	return m.Sequence, nil
}
