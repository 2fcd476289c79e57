package pebblejournal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// disk fails the operations that hit selects, while hit is set.
type disk struct {
	hit atomic.Pointer[func(errorfs.Op) bool]
}

func (d *disk) String() string { return "disk" }

func (d *disk) MaybeError(op errorfs.Op) error {
	if hit := d.hit.Load(); hit != nil && (*hit)(op) {
		return syscall.ENOSPC
	}
	return nil
}

func (d *disk) fail(hit func(errorfs.Op) bool) { d.hit.Store(&hit) }
func (d *disk) heal()                          { d.hit.Store(nil) }

func full(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite }

// records is a log handler that keeps the messages.
type records struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

func newRecords() *records { return &records{Handler: slog.DiscardHandler} }

func (r *records) Enabled(context.Context, slog.Level) bool { return true }

func (r *records) Handle(_ context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, rec.Level.String()+" "+rec.Message)
	return nil
}

func (r *records) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.text)
}

// sinkRecorder collects the entries that a sink receives.
type sinkRecorder struct {
	mu      sync.Mutex
	entries map[string][]*journal.Entry
}

func (s *sinkRecorder) add(space string, entries []*journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = map[string][]*journal.Entry{}
	}
	s.entries[space] = append(s.entries[space], entries...)
}

func (s *sinkRecorder) ids(space string) []protocol.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return idsOf(s.entries[space])
}

func idsOf(entries []*journal.Entry) []protocol.ID {
	var ids []protocol.ID
	for _, e := range entries {
		ids = append(ids, e.Envelope.ID)
	}
	return ids
}

func newDraft(id string) journal.Draft {
	return journal.Draft{Envelope: protocol.Envelope{
		ID: protocol.ID(id), From: "alice", Kind: protocol.KindChat, TS: time.Unix(1, 0).UTC(),
		Context: "x/y", Payload: json.RawMessage(`{"message":"` + id + `"}`),
	}}
}

func (j *Journal) one(space, id string) journal.Result {
	return j.Append(context.Background(), space, []journal.Draft{newDraft(id)})[0]
}

func read(t *testing.T, j *Journal, space string) []*journal.Entry {
	t.Helper()
	var list []*journal.Entry
	for e, err := range j.Range(context.Background(), space, journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func wantIDs(t *testing.T, what string, got []protocol.ID, want ...protocol.ID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestFullDisk(t *testing.T) {
	var d disk
	var s sinkRecorder
	log := newRecords()
	j := open(t, Options{
		FS: errorfs.Wrap(vfs.NewMem(), &d), Logger: slog.New(log), RetryAfter: time.Millisecond,
	})
	defer j.Close()
	j.Follow(s.add, nil)
	if r := j.one("lab", "before"); r.Seq != 1 || r.Err != nil {
		t.Fatalf("%+v", r)
	}

	d.fail(full)
	for i := range 3 {
		want := journal.ErrUnavailable
		if i == 0 { // the one that received the error
			want = journal.ErrOutcomeUnknown
		}
		r := j.one("lab", fmt.Sprintf("refused-%d", i))
		if !errors.Is(r.Err, want) || !errors.Is(r.Err, syscall.ENOSPC) || r.Seq != 0 {
			t.Errorf("on a full disk: %+v", r)
		}
	}
	if err := j.Ready(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Ready = %v", err)
	}
	wantIDs(t, "readable meanwhile", idsOf(read(t, j, "lab")), "before")
	if _, err := j.Lookup(context.Background(), "lab", "refused-0"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Lookup of a refused one: %v", err)
	}

	d.heal()
	testkit.Eventually(t, "ready", func() bool { return j.Ready() == nil })
	if r := j.one("lab", "refused-1"); r.Seq != 2 || r.Retry || r.Err != nil {
		t.Errorf("sent again: %+v", r)
	}
	wantIDs(t, "log", idsOf(read(t, j, "lab")), "before", "refused-1")
	wantIDs(t, "sink", s.ids("lab"), "before", "refused-1")
	lines := log.all()
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "ERROR log takes no entries") ||
		!slices.Contains(lines, "INFO log takes entries again") || len(lines) > 4 {
		t.Errorf("log lines %q", lines)
	}
}

// TestAppend_FailedSyncOfWrittenBatch: the batch has reached the file, the sync
// returns an error, and the store has the batch when it is opened again. The
// outcome was reported as unknown; the entries are delivered, and retries find
// them.
func TestAppend_FailedSyncOfWrittenBatch(t *testing.T) {
	var d disk
	var s sinkRecorder
	fs := vfs.NewMem()
	j := open(t, Options{FS: errorfs.Wrap(fs, &d), RetryAfter: time.Millisecond})
	j.Follow(s.add, nil)
	j.one("lab", "before")

	var once atomic.Bool
	d.fail(func(op errorfs.Op) bool {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		return sync && strings.HasSuffix(op.Path, ".log") && once.CompareAndSwap(false, true)
	})
	state := newDraft("state")
	state.State = true
	stale := newDraft("stale")
	drafts := []journal.Draft{newDraft("unknown"), state, stale}
	results := j.Append(context.Background(), "lab", drafts)
	for i, want := range []error{journal.ErrOutcomeUnknown, journal.ErrOutcomeUnknown, journal.ErrUnavailable} {
		if !errors.Is(results[i].Err, want) {
			t.Errorf("result %d: %+v, want %v", i, results[i], want)
		}
	}
	if !once.Load() {
		t.Fatal("no sync was hit")
	}
	testkit.Eventually(t, "ready", func() bool { return j.Ready() == nil })
	if r := j.one("lab", "unknown"); r.Seq != 2 || !r.Retry || r.Err != nil {
		t.Errorf("retry: %+v", r)
	}
	want := []protocol.ID{"before", "unknown", "state"}
	wantIDs(t, "log", idsOf(read(t, j, "lab")), want...)
	wantIDs(t, "sink", s.ids("lab"), want...)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	j = open(t, Options{FS: fs})
	defer j.Close()
	wantIDs(t, "log opened again", idsOf(read(t, j, "lab")), want...)
}

// A flush that fails in the background must be detected without an append.
func TestFailureBetweenAppends(t *testing.T) {
	var d disk
	j := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &d), RetryAfter: time.Millisecond})
	defer j.Close()
	d.fail(func(op errorfs.Op) bool { return full(op) && strings.HasSuffix(op.Path, ".sst") })
	big := newDraft("big")
	big.Envelope.Payload = json.RawMessage(`{"message":"` + strings.Repeat("x", 1<<20) + `"}`)
	n := 0
	testkit.Eventually(t, "not ready", func() bool {
		// The append that rotates the log starts the flush and has returned long
		// before the flush fails.
		big.Envelope.ID = protocol.ID(fmt.Sprintf("big-%d", n))
		n++
		if n < 40 {
			j.Append(context.Background(), "lab", []journal.Draft{big})
		}
		return j.Ready() != nil
	})
	d.heal()
	testkit.Eventually(t, "ready", func() bool { return j.Ready() == nil })
	if r := j.one("lab", "after"); r.Err != nil {
		t.Errorf("%+v", r)
	}
}

// TestFlakyDisk makes a disk fail repeatedly while callers resend
// rejected drafts, as clients do. In the end the log has every entry once.
func TestFlakyDisk(t *testing.T) {
	var d disk
	var s sinkRecorder
	fs := vfs.NewMem()
	j := open(t, Options{FS: errorfs.Wrap(fs, &d), RetryAfter: time.Millisecond})
	j.Follow(s.add, nil)
	const callers, each = 4, 150
	var writes, refused atomic.Int64
	d.fail(func(op errorfs.Op) bool {
		// At intervals, fail a few consecutive writes of any kind.
		return full(op) && writes.Add(1)%97 > 93
	})
	var wg sync.WaitGroup
	for w := range callers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("m-%d-%d", w, i)
				for r := j.one("lab", id); r.Err != nil; r = j.one("lab", id) {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	d.heal()
	testkit.Eventually(t, "ready", func() bool { return j.Ready() == nil })
	if refused.Load() == 0 {
		t.Error("nothing was refused")
	}
	check := func(j *Journal) {
		entries := read(t, j, "lab")
		if len(entries) != callers*each {
			t.Errorf("%d entries, want %d", len(entries), callers*each)
		}
		for i, e := range entries {
			if e.Envelope.Seq != protocol.Seq(i+1) {
				t.Fatalf("entry %d has number %d", i, e.Envelope.Seq)
			}
		}
		if !slices.Equal(idsOf(entries), s.ids("lab")) {
			t.Error("log and sink differ")
		}
	}
	check(j)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	j = open(t, Options{FS: fs})
	defer j.Close()
	check(j)
}

func TestCloseWhileDiskIsFull(t *testing.T) {
	var d disk
	j := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &d), RetryAfter: time.Millisecond})
	d.fail(full)
	if r := j.one("lab", "a"); r.Err == nil {
		t.Errorf("%+v", r)
	}
	if err := j.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// Ready says why the log takes no entries now, also if the reason changes meanwhile.
func TestReady_OtherReason(t *testing.T) {
	var d disk
	failed := heldLog{begun: make(chan struct{}), goOn: make(chan struct{})}
	j := open(t, Options{
		FS: errorfs.Wrap(vfs.NewMem(), &d), RetryAfter: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(failed, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	defer j.Close()
	d.fail(full)
	if r := j.one("lab", "a"); r.Err == nil {
		t.Fatal("appended to a full disk")
	}
	<-failed.begun // the store is not opened again yet
	first := j.Ready()
	var asking sync.WaitGroup
	asking.Go(func() {
		for now := first; now != nil && now.Error() == first.Error(); {
			now = j.Ready()
		}
	})
	close(failed.goOn)
	asking.Wait()
	if err := j.Ready(); err == nil {
		t.Error("the log is ready")
	}
}

// heldLog is a log whose first line waits.
type heldLog struct{ begun, goOn chan struct{} }

func (l heldLog) Write(p []byte) (int, error) {
	select {
	case <-l.goOn:
	default:
		close(l.begun)
		<-l.goOn
	}
	return len(p), nil
}

// Between its write and the end of its sync an entry is in the store, but not
// yet visible.
func TestRange_UnsyncedEntry(t *testing.T) {
	var d disk
	j := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &d)})
	defer j.Close()
	j.one("lab", "before")
	synced := make(chan struct{})
	d.fail(func(op errorfs.Op) bool {
		if strings.HasSuffix(op.Path, ".log") && op.Kind != errorfs.OpFileWrite {
			<-synced
		}
		return false
	})
	ctx := context.Background()
	var wg sync.WaitGroup
	wg.Go(func() { j.one("lab", "after") })
	testkit.Eventually(t, "the entry is in the store", func() bool {
		found, err := j.db.Has("lab", 2)
		return found && err == nil
	})
	wantIDs(t, "log", idsOf(read(t, j, "lab")), "before")
	if _, err := j.Lookup(ctx, "lab", "after"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Lookup = %v", err)
	}
	if oldest, newest, err := j.Bounds(ctx, "lab"); oldest != 1 || newest != 1 || err != nil {
		t.Errorf("Bounds = %d, %d, %v", oldest, newest, err)
	}
	close(synced)
	wg.Wait()
	wantIDs(t, "log", idsOf(read(t, j, "lab")), "before", "after")
}

func TestSpaces_UnsyncedEntry(t *testing.T) {
	var d disk
	j := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &d)})
	defer j.Close()
	synced := make(chan struct{})
	d.fail(func(op errorfs.Op) bool {
		if strings.HasSuffix(op.Path, ".log") && op.Kind != errorfs.OpFileWrite {
			<-synced
		}
		return false
	})
	var wg sync.WaitGroup
	wg.Go(func() { j.one("lab", "first") })
	testkit.Eventually(t, "the entry is in the store", func() bool {
		found, err := j.db.Has("lab", 1)
		return found && err == nil
	})
	if spaces, err := j.Spaces(context.Background()); len(spaces) != 0 || err != nil {
		t.Errorf("Spaces = %q, %v", spaces, err)
	}
	if oldest, newest, err := j.Bounds(context.Background(), "lab"); oldest != 0 || newest != 0 || err != nil {
		t.Errorf("Bounds = %d, %d, %v", oldest, newest, err)
	}
	close(synced)
	wg.Wait()
}

// A caller that gives up while its draft is queued withdraws it; if the draft
// is being written, the caller waits for the outcome.
func TestAppend_Canceled(t *testing.T) {
	var d disk
	j := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &d)})
	defer j.Close()
	blocked, synced := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.fail(func(op errorfs.Op) bool {
		if op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSync {
			once.Do(func() { close(blocked) })
			<-synced
		}
		return false
	})
	ctx, cancel := context.WithCancel(context.Background())
	var first, second journal.Result
	var wg sync.WaitGroup
	wg.Go(func() { first = j.Append(ctx, "lab", []journal.Draft{newDraft("first")})[0] })
	<-blocked
	var queued sync.WaitGroup
	queued.Go(func() { second = j.Append(ctx, "lab", []journal.Draft{newDraft("second")})[0] })
	testkit.Eventually(t, "the second is queued", func() bool { return len(j.queue) == 1 })
	cancel()
	queued.Wait()
	if !errors.Is(second.Err, journal.ErrUnavailable) || !errors.Is(second.Err, context.Canceled) {
		t.Errorf("queued: %+v", second)
	}
	close(synced)
	wg.Wait()
	if first.Err != nil {
		t.Errorf("under way: %+v", first)
	}
	j.one("lab", "third")
	wantIDs(t, "log", idsOf(read(t, j, "lab")), "first", "third")
}
