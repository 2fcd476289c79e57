// Package memory is a journal in memory only: for tests, and for gateways that
// are configured so. Otherwise it behaves like the durable journals, and passes
// the same suite.
//
// Appends are serialized by a mutex, under which Append calls the sink. That
// keeps the sink in order without a goroutine. Readers use a lock of their own,
// which is not held during the call: a sink and a reader may wait for the same
// lock of their callers.
package journal

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

	"github.com/meup-protocol/meup/protocol"
)

// MemoryOptions configures a journal; the zero value keeps everything.
type MemoryOptions struct {
	// Retention is applied by every Append, so that memory is always bounded.
	Retention Retention
	// Clock determines the age of entries, within the limits of
	// [journal.RetentionClock]; nil: time.Now.
	Clock func() time.Time
	// Logger receives warnings for operators; nil: discarded.
	Logger *slog.Logger
}

// Memory implements [journal.Journal].
type Memory struct {
	opt   MemoryOptions
	logID string
	sink  Sink // set before the first Append

	appendMu sync.Mutex // held by an Append from the first draft to the sink
	clock    *RetentionClock

	mu        sync.RWMutex // locked while appendMu is held
	spaces    map[string]*log
	snapshots map[string][]byte
	bytes     int64 // encoded size of all entries
	closed    bool
}

var _ Journal = (*Memory)(nil)

// NewMemory returns an empty journal.
func NewMemory(o MemoryOptions) *Memory {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Memory{
		opt:    o,
		logID:  uuid.NewString(),
		clock:  NewRetentionClock(o.Clock, o.Logger),
		sink:   func(string, []*Entry) {},
		spaces: map[string]*log{}, snapshots: map[string][]byte{},
	}
}

var errClosed = errors.New("the log is closed")

// Follow sets the sink. The log is never replaced while the process runs.
func (j *Memory) Follow(sink Sink, _ Replaced) { j.sink = sink }

// LogID implements [journal.Journal]. The id is constant for the lifetime of
// the process.
func (j *Memory) LogID(context.Context, string) (string, error) { return j.logID, nil }

// Append implements [journal.Journal].
func (j *Memory) Append(ctx context.Context, space string, drafts []Draft) []Result {
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
func (j *Memory) appendAll(ctx context.Context, space string, drafts []Draft) ([]Result, []*Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	results := make([]Result, len(drafts))
	if err := j.unavailable(ctx); err != nil {
		refuseAll(results, err)
		return results, nil
	}
	l := j.spaces[space]
	if l == nil {
		l = &log{ids: map[protocol.ID]*record{}, settled: map[protocol.ID]*record{}}
	}
	var added []*Entry
	for i := range drafts {
		results[i] = l.append(&drafts[i])
		if errors.Is(results[i].Err, ErrStale) {
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

func refuseAll(results []Result, err error) {
	for i := range results {
		results[i] = Result{Err: err}
	}
}

// unavailable returns the reason why appends are rejected, or nil.
func (j *Memory) unavailable(ctx context.Context) error {
	if j.closed {
		return Unavailable(errClosed)
	}
	if ctx.Err() != nil {
		return Unavailable(context.Cause(ctx))
	}
	return nil
}

// Lookup implements [journal.Journal].
func (j *Memory) Lookup(_ context.Context, space string, id protocol.ID) (*Entry, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if l := j.spaces[space]; l != nil && l.ids[id] != nil {
		return l.ids[id].entry, nil
	}
	return nil, fmt.Errorf("look up %s in %s: %w", id, space, ErrNotFound)
}

// Snapshot implements [journal.Journal].
func (j *Memory) Snapshot(space string) (Snapshot, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return Snapshot{Data: j.snapshots[space]}, nil
}

// SaveSnapshot implements [journal.Journal].
func (j *Memory) SaveSnapshot(space string, s Snapshot) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return Unavailable(errClosed)
	}
	j.snapshots[space] = bytes.Clone(s.Data)
	return nil
}

// Bounds implements [journal.Journal].
func (j *Memory) Bounds(_ context.Context, space string) (oldest, newest protocol.Seq, err error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	l := j.spaces[space]
	if l == nil {
		return 0, 0, nil
	}
	return l.dropped + 1, l.last, nil
}

// Spaces implements [journal.Journal].
func (j *Memory) Spaces(context.Context) ([]string, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	names := slices.Sorted(maps.Keys(j.spaces))
	return slices.DeleteFunc(names, func(space string) bool {
		return space == GatewayLog || len(j.spaces[space].records) == 0
	}), nil
}

// Ready implements [journal.Journal].
func (j *Memory) Ready() error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.unavailable(context.Background())
}

// Close implements [journal.Journal]. Entries can still be read afterwards.
func (j *Memory) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	return nil
}

// Barrier implements [journal.Journal]. It returns at once: Append returns
// after the sink was called, and only this process appends.
func (j *Memory) Barrier(context.Context, string) error { return nil }
