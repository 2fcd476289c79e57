package natsjournal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
)

// catchUpStreams is the maximum number of streams that catch up concurrently.
const catchUpStreams = 4

// deliveryQueue is the number of batches that can wait for the sink; when it is
// full the streams wait.
const deliveryQueue = 64

// Journal is the log on JetStream. It implements [journal.Journal].
type Journal struct {
	journal.Reader  // the replica, even while NATS is unreachable
	journal.Derived // the replica: each gateway has its own snapshots

	opts    Options
	log     *slog.Logger
	names   streamNames
	gateway string // random, one per process

	nc *nats.Conn
	js jetstream.JetStream

	replica    *replica
	streams    []*stream
	replicas   replicas
	sink       atomic.Pointer[journal.Sink]
	replaced   atomic.Pointer[journal.Replaced]
	logName    string // name of the log on NATS; set before any stream is followed
	deliveries chan delivery

	catchUp chan struct{} // semaphore of the streams that catch up
	repairs chan repair
	fatal   chan error // the error because of which the journal will never be ready
	auditor *auditor

	purgeRequests chan struct{} // runs the added purges
	clockAhead    bool          // at the last round of retention; owned by retain

	life context.Context // ends after Close has waited for every Append
	end  context.CancelFunc

	appending, supervising, answering sync.WaitGroup
	warned                            sync.Once

	mu        sync.Mutex
	closed    bool
	downSince time.Time        // zero while there is a connection
	lagging   map[*stream]bool // streams that have not caught up since the replica was opened
	complete  chan struct{}    // closed when lagging is empty
	purges    map[string]uint64
}

// Open opens the log and returns when this gateway has read all of it. While
// NATS is unreachable it waits, until ctx ends, and logs the reason. Err: invalid
// options, streams of another application, or the last failure when ctx ended.
func Open(ctx context.Context, o Options) (*Journal, error) {
	j, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("open log on NATS: %w", err)
	}
	waiting := time.NewTicker(j.opts.reasonEvery)
	defer waiting.Stop()
	for err == nil {
		select {
		case <-j.complete:
			return j, nil
		case err = <-j.fatal:
		case <-ctx.Done():
			err = errors.Join(ctx.Err(), j.Ready())
		case <-waiting.C:
			j.log.Warn("the log is not open yet", "reason", j.notReady())
		}
	}
	return nil, fmt.Errorf("open log on NATS: %w", errors.Join(err, j.Close()))
}

func open(o Options) (*Journal, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	j := &Journal{
		opts: o, log: o.Logger, nc: o.Conn,
		names:      newStreamNames(o.Prefix, o.streams),
		gateway:    uuid.NewString(),
		deliveries: make(chan delivery, deliveryQueue),
		catchUp:    make(chan struct{}, catchUpStreams),
		repairs:    make(chan repair, 1),
		fatal:      make(chan error, 1),
		complete:   make(chan struct{}),
		lagging:    make(map[*stream]bool),
		purges:     make(map[string]uint64),
		replicas:   replicas{n: o.Replicas, wait: o.peersWait},

		purgeRequests: make(chan struct{}, 1),
	}
	j.js, err = jetstream.New(j.nc)
	if err != nil {
		return nil, err
	}
	j.replica, err = openReplica(o.ReplicaDir, o.Logger)
	if err != nil {
		return nil, err
	}
	j.Reader, j.Derived = j.replica, j.replica
	j.start()
	return j, nil
}

// start creates the streams and starts all goroutines.
func (j *Journal) start() {
	j.life, j.end = context.WithCancel(context.Background())
	for i := range j.opts.streams {
		name := j.names.Stream(i)
		s := &stream{
			j: j, index: i, name: name,
			log:           j.log.With("stream", name),
			resync:        make(chan struct{}, 1),
			checkRequests: make(chan struct{}, 1),
			retries:       make(chan struct{}, 1),
		}
		s.publisher = newPublisher(j.life, publisherOptions{
			Stream: s, Prefix: j.gateway + ".", Timeout: j.opts.AppendTimeout, OnCommit: j.opts.OnCommit,
		})
		s.local = j.replica.NewStream(name, s.log, s)
		s.setHealth(errCatchingUp)
		j.streams = append(j.streams, s)
		j.lagging[s] = true
	}
	j.answering.Go(j.deliver)
	j.supervising.Go(j.supervise)
	j.supervising.Go(j.watch)
	if j.opts.copyOf == "" {
		j.auditor = &auditor{
			j: j, incoming: make(chan report, auditQueue),
			suspicions: make(map[suspect]int), verified: make(map[int]time.Time),
		}
		j.supervising.Go(j.retain)
		j.supervising.Go(j.addReplicas)
		j.supervising.Go(j.auditor.audit)
	}
}

// Close implements [journal.Journal]. It waits for every Append, at most until
// their timeout.
func (j *Journal) Close() error {
	j.mu.Lock()
	again := j.closed
	j.closed = true
	j.mu.Unlock()
	if again {
		return nil
	}
	j.appending.Wait()
	j.end()
	for _, s := range j.streams {
		s.publisher.Wait()
	}
	j.supervising.Wait()
	close(j.deliveries)
	j.answering.Wait()
	if err := j.replica.Close(); err != nil {
		return fmt.Errorf("close replica: %w", err)
	}
	return nil
}

// Follow implements [journal.Journal].
func (j *Journal) Follow(sink journal.Sink, replaced journal.Replaced) {
	j.replaced.Store(&replaced)
	j.sink.Store(&sink)
}

// Ready implements [journal.Journal].
func (j *Journal) Ready() error {
	if reason := j.notReady(); reason != nil {
		return journal.Unavailable(reason)
	}
	return nil
}

func (j *Journal) notReady() error {
	j.mu.Lock()
	closed, behind := j.closed, len(j.lagging)
	j.mu.Unlock()
	if closed {
		return errClosed
	}
	if !j.nc.IsConnected() {
		if err := j.nc.LastError(); err != nil {
			return fmt.Errorf("%w: %w", errDisconnected, err)
		}
		return errDisconnected
	}
	var catchingUp error
	for _, s := range j.streams {
		err := s.healthErr()
		if err != nil && !errors.Is(err, errCatchingUp) {
			return err
		}
		catchingUp = cmp.Or(catchingUp, err)
	}
	if behind > 0 {
		return fmt.Errorf("%w: %d of %d streams to go", errIncomplete, behind, len(j.streams))
	}
	return catchingUp
}

// startCall registers an Append or Barrier, which ends with appending.Done.
func (j *Journal) startCall(space string) error {
	if space == "" {
		return errors.New("the space has no name")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return journal.Unavailable(errClosed)
	case !j.downSince.IsZero() && time.Since(j.downSince) > j.opts.AppendTimeout && !j.nc.IsConnected():
		return journal.Unavailable(errDisconnected) // it would only time out
	}
	j.appending.Add(1)
	return nil
}

// markCaughtUp records that a stream has been read to its end.
func (j *Journal) markCaughtUp(s *stream) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.lagging[s] {
		return
	}
	delete(j.lagging, s)
	if len(j.lagging) > 0 {
		return
	}
	j.replica.Complete()
	select {
	case <-j.complete:
	default:
		close(j.complete)
	}
}

// failOpen ends an Open that cannot succeed.
func (j *Journal) failOpen(err error) {
	select {
	case j.fatal <- err:
	default:
	}
}

// streamOf returns the stream that has a space.
func (j *Journal) streamOf(space string) *stream { return j.streams[j.names.Bucket(space)] }

// warnReplicas logs once which guarantees a log with fewer replicas than
// configured gives.
func (j *Journal) warnReplicas(n int, err error) {
	j.warned.Do(func() {
		promise := "an acknowledged envelope survives as long as that server's disk, and a power cut only if it runs with sync_interval: always; while it is away nothing can be sent"
		if n > 1 {
			promise = "an acknowledged envelope is on a majority of them"
		}
		j.log.Warn("NATS cannot hold as many replicas as configured",
			"configured", j.opts.Replicas, "used", n, "promise", promise, "error", err)
	})
}
