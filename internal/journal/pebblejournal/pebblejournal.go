// Package pebblejournal is the embedded journal: the log of all spaces of one
// gateway, on its own disk.
//
// Every append is synced: an entry that Append reported survives a power
// failure. Concurrent appends, also of different spaces, share one sync:
//
//	Append ─queue→ committer: decide, write, sync, sink ─→ the callers
//
// One goroutine, the committer, does all of this, one batch at a time. While
// the disk is busy with a batch the next one collects in the queue. Starting it
// before the disk is free sounds faster but is slower: Pebble syncs its log once
// at a time, so callers that append repeatedly would split into two halves that
// wait for each other's syncs.
//
// Readers see an entry only when it is durable.
//
// When the disk fails, the outcome of the current batch is unknown: its callers
// receive [journal.ErrOutcomeUnknown], and later appends receive
// [journal.ErrUnavailable] until the store has been opened again. The store
// then has the batch as a whole or not at all. If it has the batch, the sink
// receives its entries, and retries find them.
package pebblejournal

import (
	"cmp"
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

// Options configures a journal. All fields except Dir are optional.
type Options struct {
	// Dir is the log's folder. Empty: in memory.
	Dir string
	// FS has the folder; nil is the machine's file system.
	FS vfs.FS

	// MustExist means that Open creates no log, unless AcceptLoss is set.
	MustExist bool
	// AcceptLoss opens a log that lacks entries which it once acknowledged. That
	// is an error otherwise.
	AcceptLoss bool
	// Restored gives the log another id: the folder is a backup that was restored, and
	// clients may have received entries that it does not have.
	Restored bool

	// Retention is applied every RetentionEvery, by default a minute.
	Retention      journal.Retention
	RetentionEvery time.Duration
	// Fold makes the bases of spaces before entries are dropped; nil: there are none.
	Fold journal.Fold
	// Clock is the wall clock of retention; nil is time.Now. See
	// [journal.RetentionClock].
	Clock func() time.Time

	// RetryAfter is the pause before the second attempt to open a failed store; it
	// doubles with every attempt up to 50-fold. Default 100 ms.
	RetryAfter time.Duration

	// Logger receives warnings and errors for operators; nil: discarded.
	Logger *slog.Logger
	// OnCommit is called after every batch that became durable, with its size and
	// the time from the first write to the end of the sync. It may be nil.
	OnCommit func(entries, bytes int, took time.Duration)

	markEvery time.Duration // between two looks at the mark; 0: markSyncEvery
}

const (
	defaultRetentionEvery = time.Minute
	defaultRetryAfter     = 100 * time.Millisecond

	// queueLength bounds the appends in the committer's queue; further ones block.
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
	heads sync.Map // space → *head; the committer creates and removes them

	// Owned by the committer.
	logs     map[string]*spaceLog
	batch    *entrydb.Batch
	failed   []*appended // entries of the last commit, if it failed
	appended uint64      // entries that were ever acknowledged
	mark     *mark
	markErr  error // error of the last write of the mark

	down atomic.Pointer[error] // why appends are rejected; nil while they are not

	running sync.WaitGroup
	stop    context.CancelFunc // ends retention

	mu        sync.Mutex
	closed    bool
	appending sync.WaitGroup // Append calls; grows only under mu while not closed
}

var _ journal.Journal = (*Journal)(nil)

// Open opens the log in o.Dir, and creates it if it does not exist. The error
// names the cause if an operator can fix it: a damaged file, or another process
// that has the log open.
func Open(o Options) (*Journal, error) {
	if o.RetentionEvery <= 0 {
		o.RetentionEvery = defaultRetentionEvery
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = defaultRetryAfter
	}
	if o.markEvery <= 0 {
		o.markEvery = markSyncEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnCommit == nil {
		o.OnCommit = func(int, int, time.Duration) {}
	}
	if o.Dir != "" && !o.AcceptLoss {
		if err := checkMissing(cmp.Or(o.FS, vfs.Default), o.Dir, o.MustExist); err != nil {
			return nil, err
		}
	}
	db, err := entrydb.Open(entrydb.Options{Dir: o.Dir, FS: o.FS, CutDamage: o.AcceptLoss, Logger: o.Logger})
	if errors.Is(err, entrydb.ErrDamagedWAL) {
		return nil, fmt.Errorf("%w; %s", err, lossRemedies)
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
	clock := journal.NewRetentionClock(o.Clock, j.log)
	j.running.Go(func() { j.retain(ctx, clock) }) // until stop
	return j, nil
}

// Follow sets the sink.
func (j *Journal) Follow(sink journal.Sink, _ journal.Replaced) { j.sink = sink }

// LogID implements [journal.Journal].
func (j *Journal) LogID(context.Context, string) (string, error) { return j.logID, nil }

// request is one call of Append.
type request struct {
	space   string
	drafts  []journal.Draft
	results []journal.Result
	claimed atomic.Bool   // by the committer, or by a caller that withdraws the request
	done    chan struct{} // closed when results are final
}

// refuse sets the same error for all drafts.
func (r *request) refuse(err error) {
	for i := range r.results {
		r.results[i] = journal.Result{Err: err}
	}
}

// Append implements [journal.Journal]. If ctx ends while the drafts are queued,
// they are withdrawn; afterwards Append waits for their outcome.
func (j *Journal) Append(ctx context.Context, space string, drafts []journal.Draft) []journal.Result {
	r := &request{
		space: space, drafts: drafts,
		results: make([]journal.Result, len(drafts)),
		done:    make(chan struct{}),
	}
	if len(drafts) == 0 {
		return r.results
	}
	if !j.startCall() {
		r.refuse(journal.Unavailable(errClosed))
		return r.results
	}
	defer j.appending.Done()
	select {
	case j.queue <- r:
	case <-ctx.Done():
		r.refuse(journal.Unavailable(context.Cause(ctx)))
		return r.results
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.claimed.CompareAndSwap(false, true) {
			r.refuse(journal.Unavailable(context.Cause(ctx)))
			return r.results
		}
		<-r.done
	}
	return r.results
}

// startCall registers a call of Append, unless the journal is closed.
func (j *Journal) startCall() bool {
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
		return journal.Unavailable(errClosed)
	}
	if reason := j.down.Load(); reason != nil {
		return journal.Unavailable(*reason)
	}
	if reason := j.db.Err(); reason != nil {
		return journal.Unavailable(reason)
	}
	return nil
}

// Close implements [journal.Journal]. It first completes every earlier Append.
func (j *Journal) Close() error {
	failed := j.Ready() // its cause was reported
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
	_ = j.checkPlace() // or Close writes into another log
	err := j.mark.close()
	if err == nil || failed != nil {
		return j.db.Close()
	}
	return errors.Join(fmt.Errorf("close the mark of acknowledged entries: %w", err), j.db.Close())
}

// head is the part of a space's state that readers use.
type head struct{ durable atomic.Uint64 }

func (h *head) seq() protocol.Seq { return protocol.Seq(h.durable.Load()) }

// Barrier implements [journal.Journal]. It returns at once: Append returns
// after the sink was called, and only this process appends.
func (j *Journal) Barrier(context.Context, string) error { return nil }
