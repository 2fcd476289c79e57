package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// checkEvery is the interval between health checks of a stream, and checkAgain
	// the interval while it is unhealthy.
	checkEvery = 5 * time.Second
	checkAgain = 500 * time.Millisecond
	// passItems bounds the number of messages in one batch.
	passItems = 256
	// restartMin and restartMax bound the pauses before a feed is opened again.
	restartMin = 50 * time.Millisecond
	restartMax = time.Second
	// catchUpFew is the number of messages that a stream may lag without waiting
	// for a catch-up slot.
	catchUpFew = 256
)

var (
	errCatchingUp = errors.New("the stream is being read")
	errNoLeader   = errors.New("the stream has no leader")
	errStalled    = errors.New("the stream goes on but nothing is delivered")
	errAgain      = errors.New("connection was made anew")
)

// stream is one of the log's streams as used by this gateway: the blocks it
// publishes and the feed it reads.
type stream struct {
	j     *Journal
	index int
	name  string
	log   *slog.Logger

	publisher *publisher

	health atomic.Pointer[error] // why the stream is unhealthy, or nil
	// following is set while a feed delivers and no messages are known to be
	// missing.
	following atomic.Bool
	use       atomic.Int32 // of the local copy: needed, restored, unneeded or wrong
	progress  progress
	ends      sharedCall
	replicas  atomic.Int32 // that it had when it was last opened; 0: it was not

	resync        chan struct{} // opens a new feed
	checkRequests chan struct{} // starts a health check
	// retries ends the pause before the next session.
	retries chan struct{}

	// Owned by run.
	local *replicaStream // its Marks and LogID have no owner
	// announce is set from the moment when the local copy turns out to be of
	// another log until the new one is complete. Meanwhile the sink receives
	// nothing.
	announce  bool
	gaps      int              // passed so far
	handle    jetstream.Stream // as of the last session
	first     uint64           // the stream's first sequence, according to its leader
	missing   time.Time        // since when the stream does not exist, or zero
	shorter   time.Time        // since when the stream ends before the position, or zero
	foundLoss *loss            // the last result of findLoss
	reported  string           // the last loss that was logged
	putBack   int              // blocks that were published again
	failures  int              // consecutive sessions that ended before they had caught up
	stalled   uint64           // 1 above the position at the last check, if the stream had more

	// The sink has received the entries up to sinkSeq, of the stream created at
	// sinkCreated. Both outlive the replica, so that no entry is delivered twice.
	sinkSeq     uint64
	sinkCreated int64
}

func (s *stream) setHealth(err error) { s.health.Store(&err) }

// healthErr returns the reason why the stream is unhealthy, or nil.
func (s *stream) healthErr() error {
	if err := *s.health.Load(); err != nil {
		return fmt.Errorf("stream %s: %w", s.name, err)
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already pending
	}
}

// load reads the replica's position.
func (s *stream) load() error {
	if err := s.local.Load(); err != nil {
		return err
	}
	s.missing, s.shorter, s.stalled = time.Time{}, time.Time{}, 0
	s.foundLoss = nil
	s.use.Store(needed)
	s.progress.Reset(s.local.Pos.Seq)
	return nil
}

// run follows the stream until ctx ends, and restarts after failures.
func (s *stream) run(ctx context.Context) {
	pause := restartMin
	for ctx.Err() == nil {
		start := s.local.Pos.Seq
		err := s.session(ctx)
		if ctx.Err() != nil {
			return
		}
		s.setHealth(err)
		s.reportLoss(err)
		if !isAny(err, errComparing, errReplaced, errLonger) {
			s.use.Store(needed)
		}
		if errors.Is(err, errUnsuitable) {
			s.j.failOpen(fmt.Errorf("stream %s: %w", s.name, err))
		}
		if errors.Is(err, errNewerBlock) {
			s.j.failOpen(fmt.Errorf("stream %s was written by a newer meup (%w); its entries were not changed. Start that version", s.name, err))
		}
		s.log.Debug("stream is followed anew", "reason", err)
		if s.local.Pos.Seq != start || errors.Is(err, errAgain) {
			pause = restartMin
		}
		s.failures = min(s.failures+1, 3) // bounds followTimeouts
		select {
		case <-ctx.Done():
		case <-s.resync:
		case <-s.retries:
		case <-time.After(pause):
		}
		pause = min(2*pause, restartMax)
	}
}

// session follows the stream with one feed until the feed fails.
func (s *stream) session(ctx context.Context) error {
	if !s.j.nc.IsConnected() {
		return errDisconnected
	}
	info, err := s.ensure(ctx)
	if err != nil {
		return err
	}
	if err := s.identify(ctx, info); err != nil {
		return err
	}
	s.local.MarkComparable(info.State.LastSeq)
	release := func() {}
	if info.State.LastSeq > s.local.Pos.Seq+catchUpFew {
		// Catching up loads the whole machine, so only a few streams do so at a time.
		// The others do not wait for them, nor for a late response.
		select {
		case s.j.catchUp <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		release = func() { <-s.j.catchUp }
	}
	f, err := s.openFeed(ctx)
	if err != nil {
		release()
		return err
	}
	defer f.close()
	if info.State.LastSeq > s.local.Pos.Seq {
		s.setHealth(errCatchingUp)
		// The consumer's pending count is no measure: its server may lag.
		var last uint64
		last, err = s.lastStored(ctx, s.handle)
		if err == nil {
			err = s.read(ctx, f, false, func() bool { return s.local.Pos.Seq >= last })
		}
	}
	release()
	if err == nil && s.local.Hold.Seq > 0 && s.j.opts.copyOf == "" {
		if s.j.opts.AcceptLoss && s.j.decides() {
			err = s.decide(ctx, false)
		}
		held := s.heldError()
		s.setHealth(held)
		s.reportLoss(held)
		if err == nil {
			err = s.read(ctx, f, false, func() bool { return s.local.Hold.Seq == 0 })
		}
	}
	if err != nil {
		return err
	}
	s.setHealth(nil)
	if s.failures > 0 {
		s.failures = 0
		for _, other := range s.j.streams { // they may work again, too
			signal(other.retries)
		}
	}
	s.j.markCaughtUp(s)
	if s.announce {
		select {
		case <-s.j.replica.Completed():
		case <-ctx.Done():
			return ctx.Err()
		}
		// The replica has the new logs.
		s.j.deliveries <- delivery{stream: s, seq: s.local.Pos.Seq, replaced: s.j.replaced.Load()}
		s.announce, s.sinkSeq = false, s.local.Pos.Seq
	}
	s.following.Store(true)
	defer s.following.Store(false)
	if err := s.read(ctx, f, true, func() bool { return s.local.Hold.Seq > 0 && s.j.opts.copyOf == "" }); err != nil {
		return err
	}
	return s.heldError()
}

// read applies the messages of the feed until done returns true. live means that
// there is nothing to catch up with. An error means that a new feed is needed.
func (s *stream) read(ctx context.Context, f *feed, live bool, done func() bool) error {
	c := &checks{s: s, next: time.Now().Add(checkEvery), results: make(chan checkResult, 1)}
	defer c.workers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ticker := time.NewTicker(silenceCheckEvery)
	defer ticker.Stop()
	for !done() {
		select {
		case it := <-f.items:
			items := []appliedMessage{it}
			for len(items) < passItems && len(f.items) > 0 { // nobody else receives from it
				items = append(items, <-f.items)
			}
			if err := s.applyContiguous(ctx, items); err != nil {
				return err
			}
		case err := <-f.broken:
			return err
		case <-s.resync:
			return errAgain
		case <-ctx.Done():
			return ctx.Err()
		case <-s.checkRequests:
			c.start(ctx)
		case now := <-ticker.C:
			if f.isSilent(now) {
				return errSilence
			}
			if !now.Before(c.next) {
				c.start(ctx)
			}
		case a := <-c.results:
			c.running = false
			if err := s.assess(a, f, c, live); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyContiguous applies messages that follow the position. A message may be
// missing only where the stream proves that it was removed.
func (s *stream) applyContiguous(ctx context.Context, items []appliedMessage) error {
	last := s.local.Pos.Seq
	for _, it := range items {
		if it.Seq <= last {
			return errGap
		}
		if err := s.proveRemoved(ctx, last+1, it.Seq); err != nil {
			return err
		}
		if it.Seq > last+1 {
			s.local.Gap()
			s.gaps++
		}
		last = it.Seq
	}
	err := s.local.Apply(items)
	switch {
	case err == nil, errors.Is(err, errNewerBlock):
		return err
	case errors.Is(err, errReset):
		return s.startOver("the loss of the stream's messages was accepted at another gateway")
	}
	// After the repair every stream restarts.
	s.j.repair(repair{reason: err, stream: s.name})
	return fmt.Errorf("replica: %w", err)
}
