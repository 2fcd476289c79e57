// Package pebblejournal is the embedded journal: the log of all spaces of one
// gateway, on its own disk.
//
// Every append is synced: what Append reported survives a power cut. Appends
// that come at the same time, of whatever spaces, share one sync:
//
//	Append ─queue→ committer: place, write, sync, sink ─→ the callers
//
// One goroutine, the committer, does it all, one batch at a time. While the
// disk is busy with a batch the next one gathers in the queue. To make it and
// start it before the disk is free sounds faster and is slower: it parts those
// who call one append after the other into two halves that wait for each
// other's syncs.
//
// Readers see an entry when it is durable, not before.
//
// When the disk fails, the outcome of the batch under way is unknown: its
// callers get [journal.ErrOutcomeUnknown], and every later append gets
// [journal.ErrUnavailable] until the store could be opened again. The store
// then has the batch as a whole or not at all. If it has it, its entries are
// given to the sink, and a caller that retries finds them.
package pebblejournal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/protocol"
)

// Options configure a journal. All but Dir may be left out.
type Options struct {
	// Dir is the log's folder. Empty: in memory.
	Dir string
	// FS holds the folder; nil is the machine's file system.
	FS vfs.FS

	// AcceptLoss opens a log that lacks entries it once acknowledged, which is
	// an error otherwise.
	AcceptLoss bool

	// Retention is applied every RetentionEvery, by default a minute.
	Retention      journal.Retention
	RetentionEvery time.Duration
	// Clock is the wall clock by which retention decides; nil is time.Now. See
	// [journal.RetentionClock].
	Clock func() time.Time

	// RetryAfter is how long to wait before a failed store is tried again the
	// second time; it doubles with every attempt up to 50-fold. Default 100 ms.
	RetryAfter time.Duration

	// Logger is told what an operator must look at; nil: nobody.
	Logger *slog.Logger
	// OnCommit is called after every batch that became durable, with its size
	// and the time from the first write to the end of the sync; nil: nobody.
	OnCommit func(entries, bytes int, took time.Duration)
}

const (
	defaultRetentionEvery = time.Minute
	defaultRetryAfter     = 100 * time.Millisecond

	// queueLength bounds how many appends wait for the committer; more block.
	queueLength = 4096
)

var errClosed = errors.New("the log is closed")

// Journal implements [journal.Journal].
type Journal struct {
	opt   Options
	db    *entrydb.DB
	log   *slog.Logger
	logID string

	sink  journal.Sink // set before the first Append
	queue chan *request
	heads sync.Map // space → *head

	// Owned by the committer.
	logs     map[string]*spaceLog
	batch    *entrydb.Batch
	failed   []*appended // of the last commit, if it failed
	appended uint64      // entries that were ever acknowledged
	mark     *mark
	markErr  error // of the last write of the mark

	down atomic.Pointer[error] // why appends are refused, nil while they are not

	running sync.WaitGroup
	stop    context.CancelFunc // ends retention

	mu        sync.Mutex
	closed    bool
	appending sync.WaitGroup // Append calls; grows only under mu while not closed
}

var _ journal.Journal = (*Journal)(nil)

// Open opens the log in o.Dir, making it if there is none. The error says what
// an operator can do something about: a damaged file by name, another process
// that has the log open.
func Open(o Options) (*Journal, error) {
	if o.RetentionEvery <= 0 {
		o.RetentionEvery = defaultRetentionEvery
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = defaultRetryAfter
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnCommit == nil {
		o.OnCommit = func(int, int, time.Duration) {}
	}
	db, err := entrydb.Open(entrydb.Options{Dir: o.Dir, FS: o.FS, CutDamage: o.AcceptLoss, Logger: o.Logger})
	if errors.Is(err, entrydb.ErrDamagedWAL) {
		return nil, fmt.Errorf("%w; %s", err, remedies)
	}
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	j := &Journal{
		opt: o, db: db, log: o.Logger,
		sink:  func(string, []*journal.Entry) {},
		queue: make(chan *request, queueLength),
		logs:  map[string]*spaceLog{},
		batch: db.NewBatch(),
		stop:  stop,
	}
	if err := j.loadMeta(); err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("open log in %s: %w", db.Dir(), err), db.Close())
	}
	j.running.Go(j.commitAll)                // until the queue is closed
	j.running.Go(func() { j.syncMark(ctx) }) // until stop
	if o.Retention != (journal.Retention{}) {
		j.running.Go(func() { j.retain(ctx) }) // until stop
	}
	return j, nil
}

// Follow sets the sink.
func (j *Journal) Follow(sink journal.Sink, _ journal.Replaced) { j.sink = sink }

// LogID implements [journal.Journal].
func (j *Journal) LogID(context.Context, string) (string, error) { return j.logID, nil }

// request is one call of Append on its way.
type request struct {
	space   string
	drafts  []journal.Draft
	results []journal.Result
	claimed atomic.Bool   // by the committer, or by a caller that gives up
	done    chan struct{} // closed when results are final
}

// refuse gives all drafts the same error.
func (r *request) refuse(err error) {
	for i := range r.results {
		r.results[i] = journal.Result{Err: err}
	}
}

// Append implements [journal.Journal]. A context that ends takes the drafts
// back while they are still queued; afterwards Append waits for what becomes
// of them.
func (j *Journal) Append(ctx context.Context, space string, drafts []journal.Draft) []journal.Result {
	r := &request{
		space: space, drafts: drafts,
		results: make([]journal.Result, len(drafts)),
		done:    make(chan struct{}),
	}
	if len(drafts) == 0 {
		return r.results
	}
	if !j.enter() {
		r.refuse(unavailable(errClosed))
		return r.results
	}
	defer j.appending.Done()
	select {
	case j.queue <- r:
	case <-ctx.Done():
		r.refuse(unavailable(context.Cause(ctx)))
		return r.results
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.claimed.CompareAndSwap(false, true) {
			r.refuse(unavailable(context.Cause(ctx)))
			return r.results
		}
		<-r.done
	}
	return r.results
}

// enter counts a call of Append in, unless the journal is closed.
func (j *Journal) enter() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.appending.Add(1)
	return true
}

// Ready implements [journal.Journal].
func (j *Journal) Ready() error {
	j.mu.Lock()
	closed := j.closed
	j.mu.Unlock()
	if closed {
		return unavailable(errClosed)
	}
	if reason := j.down.Load(); reason != nil {
		return unavailable(*reason)
	}
	if reason := j.db.Err(); reason != nil {
		return unavailable(reason)
	}
	return nil
}

// Close implements [journal.Journal]: every Append that was called before is
// answered first.
func (j *Journal) Close() error {
	j.mu.Lock()
	again := j.closed
	j.closed = true
	j.mu.Unlock()
	if !again {
		j.stop()
		j.appending.Wait()
		close(j.queue)
	}
	j.running.Wait()
	return errors.Join(j.closeMark(), j.db.Close())
}

// unavailable makes an error that wraps ErrUnavailable and gives the reason.
func unavailable(reason error) error {
	if errors.Is(reason, journal.ErrUnavailable) {
		return reason
	}
	return fmt.Errorf("%w: %w", journal.ErrUnavailable, reason)
}

// head is what readers know of a space that was appended to.
type head struct{ durable atomic.Uint64 }

func (h *head) seq() protocol.Seq { return protocol.Seq(h.durable.Load()) }

// Barrier implements [journal.Journal]. Append returns after the sink was
// called, and this process alone appends: there is nothing to wait for.
func (j *Journal) Barrier(context.Context, string) error { return nil }
