package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// MemoryOptions configures a Memory; the zero value keeps everything.
type MemoryOptions struct {
	// Retention is applied by every Append, so that memory is always bounded.
	Retention Retention
	// Clock determines the age of entries, within the limits of
	// [RetentionClock]; nil: time.Now.
	Clock func() time.Time
	// Logger receives warnings for operators; nil: discarded.
	Logger *slog.Logger
}

// Memory is a journal in memory only: for tests, and for gateways that are configured so.
// Otherwise it behaves like the durable journals, and passes the same suite.
//
// Appends are serialized by a mutex, under which Append calls the sink. That keeps the
// sink in order without a goroutine. Readers use a lock of their own, which is not held
// during the call: a sink and a reader may wait for the same lock of their callers.
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

// NewMemory returns an empty Memory.
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

// LogID implements [Journal]. The id is constant for the lifetime of
// the process.
func (j *Memory) LogID(context.Context, string) (string, error) { return j.logID, nil }

// Append implements [Journal].
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

// Lookup implements [Journal].
func (j *Memory) Lookup(_ context.Context, space string, id protocol.ID) (*Entry, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if l := j.spaces[space]; l != nil && l.ids[id] != nil {
		return l.ids[id].entry, nil
	}
	return nil, fmt.Errorf("look up %s in %s: %w", id, space, ErrNotFound)
}

// Snapshot implements [Journal].
func (j *Memory) Snapshot(space string) (Snapshot, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return Snapshot{Data: j.snapshots[space]}, nil
}

// SaveSnapshot implements [Journal].
func (j *Memory) SaveSnapshot(space string, s Snapshot) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return Unavailable(errClosed)
	}
	j.snapshots[space] = bytes.Clone(s.Data)
	return nil
}

// Bounds implements [Journal].
func (j *Memory) Bounds(_ context.Context, space string) (oldest, newest protocol.Seq, err error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	l := j.spaces[space]
	if l == nil {
		return 0, 0, nil
	}
	return l.dropped + 1, l.last, nil
}

// Spaces implements [Journal].
func (j *Memory) Spaces(context.Context) ([]string, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	names := slices.Sorted(maps.Keys(j.spaces))
	return slices.DeleteFunc(names, func(space string) bool {
		return space == GatewayLog || len(j.spaces[space].records) == 0
	}), nil
}

// Ready implements [Journal].
func (j *Memory) Ready() error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.unavailable(context.Background())
}

// Close implements [Journal]. Entries can still be read afterwards.
func (j *Memory) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	return nil
}

// Barrier implements [Journal]. It returns at once: Append returns
// after the sink was called, and only this process appends.
func (j *Memory) Barrier(context.Context, string) error { return nil }

// Range implements [Journal]. It holds no lock while it yields.
func (j *Memory) Range(ctx context.Context, space string, q Query) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, e := range j.selectEntries(space, q) {
			if err := ctx.Err(); err != nil {
				break
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, fmt.Errorf("read log of %s: %w", space, err))
		}
	}
}

func (j *Memory) selectEntries(space string, q Query) []*Entry {
	j.mu.RLock()
	defer j.mu.RUnlock()
	l := j.spaces[space]
	if l == nil {
		return nil
	}
	from, to := l.index(q.After+1), len(l.records)
	if q.Before != 0 {
		to = l.index(q.Before)
	}
	var found []*Entry
	for i := range max(to-from, 0) {
		at := from + i
		if q.Backwards {
			at = to - 1 - i
		}
		e := l.records[at].entry
		if q.StateOnly && !e.State || !e.Envelope.Context.Within(q.Context) {
			continue
		}
		found = append(found, e)
		if len(found) == q.Limit {
			break
		}
	}
	return found
}

// Base implements [Journal]: indexes do not outlive this log, so none is needed.
func (j *Memory) Base(string) (Base, error) { return Base{}, nil }

// index returns the index of the first record with this Seq or a greater one.
func (l *log) index(seq protocol.Seq) int {
	return sort.Search(len(l.records), func(i int) bool { return l.records[i].entry.Envelope.Seq >= seq })
}

// log is the log of one space.
type log struct {
	records   []*record // by Seq, without dropped ones
	ids       map[protocol.ID]*record
	settled   map[protocol.ID]*record // by the proposal that the record settles
	last      protocol.Seq            // last assigned Seq
	lastState protocol.Seq
	dropped   protocol.Seq // newest Seq that retention dropped
	oldest    int          // index of the first record that can be dropped
}

type record struct {
	entry *Entry
	bytes int64
}

// append decides a draft and appends it if it is accepted.
func (l *log) append(d *Draft) Result {
	env := &d.Envelope
	if first := l.ids[env.ID]; first != nil {
		if first.entry.Envelope.From != env.From {
			return refused(env.ID, ErrDuplicateID)
		}
		return Result{Seq: first.entry.Envelope.Seq, Retry: true}
	}
	if d.CheckedAtStateSeq < l.lastState {
		return refused(env.ID, ErrStale)
	}
	if r := l.settled[d.Settles]; r != nil {
		return refused(env.ID, &SettledError{By: r.entry.Envelope.From, Seq: r.entry.Envelope.Seq})
	}
	l.last++
	// It is encoded and decoded: the log must not change when the caller reuses memory
	// that the draft refers to.
	assigned := *d
	assigned.Envelope.Seq = l.last
	data := AppendEntry(nil, &assigned)
	e, err := DecodeEntry(data)
	if err != nil {
		panic(fmt.Sprintf("memory: entry cannot be read back: %v", err)) // a bug in the codec
	}
	r := &record{entry: e, bytes: int64(len(data))}
	l.records = append(l.records, r)
	l.ids[env.ID] = r
	if d.Settles != "" {
		l.settled[d.Settles] = r
	}
	if d.State {
		l.lastState = l.last
	}
	return Result{Seq: l.last}
}

func refused(id protocol.ID, err error) Result {
	return Result{Err: fmt.Errorf("append envelope %s: %w", id, err)}
}

// first returns the oldest record that can be dropped, or nil.
func (l *log) first() *record {
	for l.oldest < len(l.records) && l.records[l.oldest].entry.State {
		l.oldest++
	}
	if l.oldest == len(l.records) {
		return nil
	}
	return l.records[l.oldest]
}

// trim applies retention to all spaces.
func (j *Memory) trim() {
	now := j.clock.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.spaces[GatewayLog]; l != nil {
		for r := l.first(); r != nil && r.entry.Envelope.TS.Before(now); r = l.first() {
			j.drop(l, r)
		}
	}
	limits := j.opt.Retention
	if limits == (Retention{}) {
		return
	}
	for {
		l, r := j.oldestRecord()
		if r == nil {
			return
		}
		tooOld := limits.Age > 0 && r.entry.Envelope.TS.Before(now.Add(-limits.Age))
		tooMany := limits.Bytes > 0 && j.bytes > limits.Bytes
		if !tooOld && !tooMany {
			return
		}
		j.drop(l, r)
	}
}

// drop drops a record that first returned. It moves the state entries before it, so
// that later records keep their place.
func (j *Memory) drop(l *log, r *record) {
	copy(l.records[1:], l.records[:l.oldest])
	l.records[0] = nil
	l.records = l.records[1:]
	delete(l.ids, r.entry.Envelope.ID)
	delete(l.settled, r.entry.Settles)
	l.dropped = r.entry.Envelope.Seq
	j.bytes -= r.bytes
}

// oldestRecord returns the oldest record of all spaces that can be dropped.
func (j *Memory) oldestRecord() (*log, *record) {
	var oldest *log
	var found *record
	var ts time.Time
	for space, l := range j.spaces {
		if space == GatewayLog {
			continue
		}
		r := l.first()
		if r != nil && (found == nil || r.entry.Envelope.TS.Before(ts)) {
			oldest, found, ts = l, r, r.entry.Envelope.TS
		}
	}
	return oldest, found
}
