package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// checkEvery is how often a stream is asked how it is, and
	// checkAgain how often one that is not well.
	checkEvery = 5 * time.Second
	checkAgain = 500 * time.Millisecond
	// passItems bounds how many messages one batch takes in.
	passItems = 256
	// restartMin and restartMax are the pauses before a feed is opened again.
	restartMin = 50 * time.Millisecond
	restartMax = time.Second
	// catchUpFew is how many messages a stream may be behind without waiting
	// for its turn.
	catchUpFew = 256
)

var (
	errCatchingUp = errors.New("the stream is being read")
	errNoLeader   = errors.New("the stream has no leader")
	errStuck      = errors.New("the stream goes on but nothing is delivered")
	errAgain      = errors.New("connection was made anew")
)

// stream is one of the log's streams, seen from this gateway: what it
// publishes there and what it reads.
type stream struct {
	j     *Journal
	index int
	name  string
	log   *slog.Logger

	commit *committer

	health atomic.Pointer[error] // why the stream is not well; nil: it is
	// following is set while a feed delivers and nothing is known to be missing.
	following atomic.Bool
	logID     atomic.Pointer[string] // of the logs in the stream
	progress  progress
	marks     marks
	ends      question

	resync chan struct{} // open a new feed
	pokes  chan struct{} // look whether all is well
	// retries ends the pause before the next session.
	retries chan struct{}

	// Owned by run.
	pos   position
	epoch string // of the last block that began one
	// announce is set from when the local copy turned out to be of another log
	// until the new one is complete. The sink gets nothing meanwhile.
	announce bool
	hasher   entryHasher
	// comparable is from which position on the digest is that of all gateways.
	// Behind a gap it is not at once: the messages were purged because of a
	// trim that comes later in the stream.
	comparable uint64
	gaps       int              // passed so far
	handle     jetstream.Stream // as of the last session
	first      uint64           // the stream's first sequence, as its leader gave it
	since      trouble
	failures   int    // sessions in a row that ended before they had caught up
	stalled    uint64 // 1 above the position at the last check, if there was more
	adapted    bool   // its configuration was brought up to date once

	// Up to where the sink has had the entries, of the stream that was created
	// at that time. It outlives the replica, so that nothing is given twice.
	handed   uint64
	handedOf int64
}

// trouble is since when something that may pass by itself has been so.
type trouble struct {
	missing time.Time // the stream is not there
	shorter time.Time // the stream ends before the position
}

func newStream(j *Journal, index int) *stream {
	name := j.names.stream(index)
	s := &stream{
		j: j, index: index, name: name,
		log:     j.log.With("stream", name),
		resync:  make(chan struct{}, 1),
		pokes:   make(chan struct{}, 1),
		retries: make(chan struct{}, 1),
		ends:    question{turn: make(chan struct{}, 1)},
	}
	s.commit = newCommitter(func(f *flight) {
		j.publishing.Add(1)
		go s.publish(f)
	}, j.nextID, j.blockTarget)
	s.setHealth(errCatchingUp)
	return s
}

func (s *stream) setHealth(err error) {
	if err == nil {
		s.health.Store(nil)
		return
	}
	s.health.Store(&err)
}

// healthErr returns why the stream is not well.
func (s *stream) healthErr() error {
	if err := s.health.Load(); err != nil {
		return fmt.Errorf("stream %s: %w", s.name, *err)
	}
	return nil
}

// poke asks run to look whether all is well.
func (s *stream) poke() { signal(s.pokes) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is on its way already
	}
}

// load reads where the replica is.
func (s *stream) load() error {
	db := s.j.replica.db
	data, err := db.Meta(metaPosition(s.name))
	if err != nil {
		return err
	}
	if s.pos, err = decodePosition(data); err != nil {
		return err
	}
	if data, err = db.Meta(metaEpoch(s.name)); err != nil {
		return err
	}
	s.epoch = string(data)
	s.since, s.stalled = trouble{}, 0
	s.comparable = notComparable
	s.marks.clear()
	s.progress.reset(s.pos.seq)
	return nil
}

// run follows the stream until ctx ends, however often it has to start anew.
func (s *stream) run(ctx context.Context) {
	pause := restartMin
	for ctx.Err() == nil {
		start := s.pos.seq
		err := s.session(ctx)
		if ctx.Err() != nil {
			return
		}
		s.setHealth(err)
		if errors.Is(err, errUnsuitable) {
			s.j.giveUp(fmt.Errorf("stream %s: %w", s.name, err))
		}
		s.log.Debug("stream is followed anew", "reason", err)
		if s.pos.seq != start || errors.Is(err, errAgain) {
			pause = restartMin
		}
		s.failures = min(s.failures+1, 3)
		select {
		case <-ctx.Done():
		case <-s.resync:
		case <-s.retries:
		case <-time.After(pause):
		}
		pause = min(2*pause, restartMax)
	}
}

// session follows the stream with one feed until something is wrong with it.
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
	s.settle(info)
	release := func() {}
	if info.State.LastSeq > s.pos.seq+catchUpFew {
		// Reading much is work for the whole machine: a few streams at a time.
		// The others do not wait for them, nor for an answer that is late.
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
	err = s.catchUp(ctx, f, info)
	release()
	if err != nil {
		return err
	}
	s.setHealth(nil)
	if s.failures > 0 {
		s.failures = 0
		s.j.retryAll()
	}
	s.j.caughtUp(s)
	if s.announce {
		select {
		case <-s.j.replica.completed():
		case <-ctx.Done():
			return ctx.Err()
		}
		s.announceReplaced()
		s.announce, s.handed = false, s.pos.seq
	}
	s.following.Store(true)
	defer s.following.Store(false)
	return s.read(ctx, f, forever)
}

// catchUp applies all messages that the leader has. What the consumer reports
// as pending does not count: its server may lag behind the leader.
func (s *stream) catchUp(ctx context.Context, f *feed, info *jetstream.StreamInfo) error {
	if info.State.LastSeq <= s.pos.seq {
		return nil
	}
	s.setHealth(errCatchingUp)
	last, err := s.lastStored(ctx, s.handle)
	if err != nil {
		return err
	}
	return s.read(ctx, f, last)
}

// forever is a sequence that no stream reaches.
const (
	forever       = math.MaxUint64
	notComparable = math.MaxUint64
)

// read applies what the feed delivers until the position is at a sequence. An
// error: a new feed is needed.
func (s *stream) read(ctx context.Context, f *feed, until uint64) error {
	checks := s.newChecks(ctx)
	defer checks.stop()
	for s.pos.seq < until {
		select {
		case it := <-f.items:
			if err := s.take(ctx, gather(it, f.items)); err != nil {
				return err
			}
		case err := <-f.broken:
			return err
		case <-s.resync:
			return errAgain
		case <-ctx.Done():
			return ctx.Err()
		case <-s.pokes:
			checks.ask()
		case now := <-checks.listen.C:
			if f.isSilent(now) {
				return errSilence
			}
		case <-checks.ticker.C:
			checks.ask()
		case a := <-checks.answers:
			checks.asking = false
			if err := s.assess(a, f, checks, until == forever); err != nil {
				return err
			}
		}
	}
	return nil
}

// gather takes what is there, to apply it together with the first.
func gather(first item, more <-chan item) []item {
	items := []item{first}
	for len(items) < passItems {
		select {
		case it := <-more:
			items = append(items, it)
		default:
			return items
		}
	}
	return items
}

// take applies messages, which follow on the position. A message may be
// missing only where the stream proves that it was removed.
func (s *stream) take(ctx context.Context, items []item) error {
	last := s.pos.seq
	for _, it := range items {
		if it.seq <= last {
			return errGap
		}
		if err := s.proveRemoved(ctx, last+1, it.seq); err != nil {
			return err
		}
		if it.seq > last+1 {
			s.comparable = notComparable
			s.gaps++
		}
		last = it.seq
	}
	err := s.apply(items)
	if err == nil || errors.Is(err, errNewer) || errors.Is(err, errReplaced) {
		return err
	}
	return s.replicaFailed(err)
}

// replicaFailed has the replica repaired; every stream starts anew then.
func (s *stream) replicaFailed(err error) error {
	s.j.repair(repair{reason: err, stream: s.name})
	return fmt.Errorf("replica: %w", err)
}
