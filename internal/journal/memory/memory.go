// Package memory is a journal in memory only: for tests, and for gateways that
// are configured so. Otherwise it behaves like the durable journals, and passes
// the same suite.
//
// Appends are serialized by a mutex, under which Append calls the sink. That
// keeps the sink in order without a goroutine. Readers use a lock of their own,
// which is not held during the call: a sink and a reader may wait for the same
// lock of their callers.
package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Options configures a journal; the zero value keeps everything.
type Options struct {
	// Retention is applied by every Append, so that memory is always bounded.
	Retention journal.Retention
	// Clock determines the age of entries, within the limits of
	// [journal.RetentionClock]; nil: time.Now.
	Clock func() time.Time
	// Logger receives warnings for operators; nil: discarded.
	Logger *slog.Logger
}

// Journal implements [journal.Journal].
type Journal struct {
	opt   Options
	logID string
	sink  journal.Sink // set before the first Append

	appendMu sync.Mutex // held by an Append from the first draft to the sink
	clock    *journal.RetentionClock

	mu        sync.RWMutex // locked while appendMu is held
	spaces    map[string]*log
	snapshots map[string][]byte
	bytes     int64 // encoded size of all entries
	closed    bool
}

var _ journal.Journal = (*Journal)(nil)

// New returns an empty journal.
func New(o Options) *Journal {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Journal{
		opt:    o,
		logID:  uuid.NewString(),
		clock:  journal.NewRetentionClock(o.Clock, o.Logger),
		sink:   func(string, []*journal.Entry) {},
		spaces: map[string]*log{}, snapshots: map[string][]byte{},
	}
}

var errClosed = errors.New("the log is closed")

// Follow sets the sink. The log is never replaced while the process runs.
func (j *Journal) Follow(sink journal.Sink, _ journal.Replaced) { j.sink = sink }

// LogID implements [journal.Journal]. The id is constant for the lifetime of
// the process.
func (j *Journal) LogID(context.Context, string) (string, error) { return j.logID, nil }

// Append implements [journal.Journal].
func (j *Journal) Append(ctx context.Context, space string, drafts []journal.Draft) []journal.Result {
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	results, added := j.appendAll(ctx, space, drafts)
	if len(added) > 0 {
		j.sink(space, added)
		j.trim()
	}
	return results
}

// appendAll appends the accepted drafts and returns the new entries.
func (j *Journal) appendAll(ctx context.Context, space string, drafts []journal.Draft) ([]journal.Result, []*journal.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	results := make([]journal.Result, len(drafts))
	if err := j.unavailable(ctx); err != nil {
		refuseAll(results, err)
		return results, nil
	}
	l := j.spaces[space]
	if l == nil {
		l = &log{ids: map[protocol.ID]*record{}, settled: map[protocol.ID]*record{}}
	}
	var added []*journal.Entry
	for i := range drafts {
		results[i] = l.append(&drafts[i])
		if errors.Is(results[i].Err, journal.ErrStale) {
			refuseAll(results[i:], results[i].Err)
			break
		}
		if results[i].Err == nil && !results[i].Retry {
			r := l.records[len(l.records)-1]
			added = append(added, r.entry)
			j.bytes += r.bytes
		}
	}
	if len(added) > 0 {
		j.spaces[space] = l
	}
	return results, added
}

func refuseAll(results []journal.Result, err error) {
	for i := range results {
		results[i] = journal.Result{Err: err}
	}
}

// unavailable returns the reason why appends are rejected, or nil.
func (j *Journal) unavailable(ctx context.Context) error {
	if j.closed {
		return journal.Unavailable(errClosed)
	}
	if ctx.Err() != nil {
		return journal.Unavailable(context.Cause(ctx))
	}
	return nil
}

// Lookup implements [journal.Journal].
func (j *Journal) Lookup(_ context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if l := j.spaces[space]; l != nil && l.ids[id] != nil {
		return l.ids[id].entry, nil
	}
	return nil, fmt.Errorf("look up %s in %s: %w", id, space, journal.ErrNotFound)
}

// Snapshot implements [journal.Journal].
func (j *Journal) Snapshot(space string) (journal.Snapshot, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return journal.Snapshot{Data: j.snapshots[space]}, nil
}

// SaveSnapshot implements [journal.Journal].
func (j *Journal) SaveSnapshot(space string, s journal.Snapshot) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return journal.Unavailable(errClosed)
	}
	j.snapshots[space] = bytes.Clone(s.Data)
	return nil
}

// Bounds implements [journal.Journal].
func (j *Journal) Bounds(_ context.Context, space string) (oldest, newest protocol.Seq, err error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	l := j.spaces[space]
	if l == nil {
		return 0, 0, nil
	}
	return l.dropped + 1, l.last, nil
}

// Spaces implements [journal.Journal].
func (j *Journal) Spaces(context.Context) ([]string, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	names := slices.Sorted(maps.Keys(j.spaces))
	return slices.DeleteFunc(names, func(space string) bool {
		return space == journal.GatewayLog || len(j.spaces[space].records) == 0
	}), nil
}

// Ready implements [journal.Journal].
func (j *Journal) Ready() error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.unavailable(context.Background())
}

// Close implements [journal.Journal]. Entries can still be read afterwards.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	return nil
}

// Barrier implements [journal.Journal]. It returns at once: Append returns
// after the sink was called, and only this process appends.
func (j *Journal) Barrier(context.Context, string) error { return nil }
