package derived

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// countedLog counts the entries that are read. With an id it is a log of that id, and
// with a floor it has nothing older.
type countedLog struct {
	journal.Journal
	id    string
	floor protocol.Seq
	reads atomic.Int64
}

func newLog() *countedLog {
	return &countedLog{Journal: journal.NewMemory(journal.MemoryOptions{}), id: "log"}
}

func (c *countedLog) LogID(context.Context, string) (string, error) { return c.id, nil }

func (c *countedLog) Range(ctx context.Context, name string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range c.Journal.Range(ctx, name, q) {
			if err == nil && e.Envelope.Seq < c.floor {
				continue
			}
			c.reads.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}

func (c *countedLog) Bounds(ctx context.Context, name string) (oldest, newest protocol.Seq, err error) {
	oldest, newest, err = c.Journal.Bounds(ctx, name)
	return max(oldest, c.floor), newest, err
}

// everything is all that alice may see of the turns of a space.
func everything(t testing.TB, k *TurnStore, s *space.Space) string {
	t.Helper()
	v, err := k.View(t.Context(), s, ring.Viewer{ID: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	list, _ := v.Threads(turns.MaxPage, 0, v.Viewer)
	for _, th := range list {
		h, err := v.History(t.Context(), th.ThreadID, turns.MaxPage, 0, v.Viewer)
		if err != nil {
			t.Fatal(err)
		}
		body, err := h.JSON()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%+v\n%s\n", th, body)
	}
	jobs, _ := v.Jobs(turns.MaxPage, 0, v.Viewer)
	for _, j := range jobs {
		h, err := v.Job(t.Context(), j.JobID, v.Viewer)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := h.JSON()
		fmt.Fprintf(&b, "%+v\n%s\n", j, body)
	}
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fold returns the answers of a store without an index on disk.
func fold(t testing.TB, log *countedLog, s *space.Space) string {
	t.Helper()
	k := NewTurnStore(TurnOptions{Bounds: log.Bounds})
	defer k.Close()
	return everything(t, k, s)
}

// write adds turns and jobs.
func (h *house) write(name string, from, to int) {
	h.t.Helper()
	for n := from; n < to; n++ {
		answers := ""
		if n%5 > 0 {
			answers = fmt.Sprint("m", n-1)
		}
		h.turn(name, n, answers)
		if n%3 == 0 {
			h.job(name, fmt.Sprint("j", n))
		}
	}
}

// TestStore_Restart: after a restart the log is read from where the index was saved.
func TestStore_Restart(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	h.write("lab", 0, 30)
	h.write("other", 0, 3)
	o := TurnOptions{Dir: t.TempDir(), Bounds: log.Bounds}
	var want string
	for i := range 3 {
		k := NewTurnStore(o)
		got := everything(t, k, h.space("lab"))
		want = fold(t, log, h.space("lab"))
		if got != want {
			t.Fatalf("start %d:\n%s\nwant\n%s", i, got, want)
		}
		everything(t, k, h.space("other"))
		h.write("lab", 30+2*i, 32+2*i)
		k.Close()
	}
	k := NewTurnStore(o)
	defer k.Close()
	log.reads.Store(0)
	if _, err := history(t.Context(), k, h.space("lab"), "alice", "q0", 1); err != nil {
		t.Fatal(err)
	}
	if n := log.reads.Load(); n > 50 { // the two turns since then, one turn, the last entry
		t.Errorf("%d entries were read after the restart", n)
	}
}

// TestStore_Killed: what is applied again after a kill is what was not saved, although no
// table of rows was written.
func TestStore_Killed(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	fs := vfs.NewCrashableMem()
	o := TurnOptions{Dir: "turns", Bounds: log.Bounds, fs: fs, Clock: func() time.Time { return time.Unix(0, 0) }}
	k := NewTurnStore(o)
	defer k.Close()
	everything(t, k, h.space("lab"))
	for from := 0; h.space("lab").Head() < 2*saveEvery+saveEvery/2; from += 100 {
		h.write("lab", from, from+100)
		if _, err := k.View(t.Context(), h.space("lab"), ring.Viewer{ID: "alice"}); err != nil {
			t.Fatal(err)
		}
	}
	k.dbMu.Lock()
	err := k.db.(*turnDB).With(func(store *pebble.DB) error { return store.LogData(nil, pebble.Sync) }) // what was committed before is written
	k.dbMu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	o.fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	again := NewTurnStore(o)
	defer again.Close()
	log.reads.Store(0)
	if _, err := history(t.Context(), again, h.space("lab"), "alice", "q0", 1); err != nil {
		t.Fatal(err)
	}
	if n := log.reads.Load(); n > saveEvery {
		t.Errorf("of %d entries %d were read after the kill", h.space("lab").Head(), n)
	}
	if got, want := everything(t, again, h.space("lab")), fold(t, log, h.space("lab")); got != want {
		t.Error("the turns differ")
	}
}

// TestStore_Crash: after a crash at any point the index lacks the end of the log, and
// catches up.
func TestStore_Crash(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	fs := vfs.NewCrashableMem()
	k := NewTurnStore(TurnOptions{Dir: "turns", Bounds: log.Bounds, fs: fs})
	defer func() { k.Close() }()
	for round := range 6 {
		h.write("lab", 3*round, 3*round+3)
		everything(t, k, h.space("lab"))
		if round%3 == 0 {
			k.Close() // saved
			k = NewTurnStore(TurnOptions{Dir: "turns", Bounds: log.Bounds, fs: fs})
			everything(t, k, h.space("lab"))
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50 * (round % 3), RNG: rand.New(rand.NewPCG(uint64(round), 1))})
		k.Close()
		fs = clone
		k = NewTurnStore(TurnOptions{Dir: "turns", Bounds: log.Bounds, fs: fs})
		if got, want := everything(t, k, h.space("lab")), fold(t, log, h.space("lab")); got != want {
			t.Fatalf("round %d:\n%s\nwant\n%s", round, got, want)
		}
	}
}

// TestStore_CrashAfterSlowTraffic: the index is on disk a while after it was applied,
// however few entries these were, so that a crash costs the last ones only.
func TestStore_CrashAfterSlowTraffic(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	fs := vfs.NewCrashableMem()
	var seconds atomic.Int64
	o := TurnOptions{Dir: "turns", Bounds: log.Bounds, fs: fs, Clock: func() time.Time { return time.Unix(seconds.Load(), 0) }}
	k := NewTurnStore(o)
	defer k.Close()
	everything(t, k, h.space("lab")) // the index is open and follows the space
	seconds.Add(60)
	h.write("lab", 0, 100)
	everything(t, k, h.space("lab"))
	seconds.Add(60)
	h.write("lab", 100, 101)
	everything(t, k, h.space("lab"))
	testkit.Eventually(t, "a crash costs less than the entries of both minutes", func() bool {
		crashed := o
		crashed.fs = fs.CrashClone(vfs.CrashCloneCfg{})
		k := NewTurnStore(crashed)
		defer k.Close()
		log.reads.Store(0)
		if _, err := history(t.Context(), k, h.space("lab"), "alice", "q100", 1); err != nil {
			t.Fatal(err)
		}
		return log.reads.Load() < 50
	})
}

// TestStore_OtherLog: an index that is not of the log is not used: of a log that was
// cut back, restored from a backup and continued, or replaced.
func TestStore_OtherLog(t *testing.T) {
	for name, change := range map[string]struct {
		id   string
		from int // of the turns that the log has then
		to   int
	}{
		"cut back": {"log", 0, 3}, "restored and continued": {"log", 20, 40}, "restored, as long": {"log", 10, 20}, "replaced": {"log2", 0, 10},
		"empty": {"log", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir, log := t.TempDir(), newLog()
			h := newHouse(t, log)
			h.write("lab", 0, 10)
			k := NewTurnStore(TurnOptions{Dir: dir, Bounds: log.Bounds})
			everything(t, k, h.space("lab"))
			k.Close()

			log = newLog()
			log.id = change.id
			h = newHouse(t, log)
			h.write("lab", change.from, change.to)
			k = NewTurnStore(TurnOptions{Dir: dir, Bounds: log.Bounds})
			defer k.Close()
			if got, want := everything(t, k, h.space("lab")), fold(t, log, h.space("lab")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestStore_Retention: numbers of turns and ids of threads survive retention and a
// restart; entries that the log no longer has are not shown.
func TestStore_Retention(t *testing.T) {
	dir, log := t.TempDir(), newLog()
	h := newHouse(t, log)
	for n := range 4 {
		h.turn("lab", n, map[bool]string{true: fmt.Sprint("m", n-1)}[n > 0])
	}
	k := NewTurnStore(TurnOptions{Dir: dir, Bounds: log.Bounds})
	everything(t, k, h.space("lab"))
	k.Close()
	log.floor = h.space("lab").Head() + 1
	k = NewTurnStore(TurnOptions{Dir: dir, Bounds: log.Bounds})
	defer k.Close()
	if got := everything(t, k, h.space("lab")); got != "" {
		t.Errorf("after retention: %s", got)
	}
	h.turn("lab", 4, "m3")
	got, err := history(t.Context(), k, h.space("lab"), "alice", "q0", 0)
	if err != nil || len(got.Turns) != 1 || got.Turns[0].TurnNumber != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStore_RetentionWhileOpen: a question a while after retention does not find
// the dropped turns.
func TestStore_RetentionWhileOpen(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	h.write("lab", 0, 1)
	var minutes atomic.Int64
	k := NewTurnStore(TurnOptions{Bounds: log.Bounds, Clock: func() time.Time { return time.Unix(60*minutes.Load(), 0) }})
	defer k.Close()
	if everything(t, k, h.space("lab")) == "" {
		t.Fatal("nothing is there before")
	}
	log.floor = h.space("lab").Head() + 1
	minutes.Add(1)
	if got := everything(t, k, h.space("lab")); got != "" {
		t.Errorf("after retention: %s", got)
	}
}

// TestStore_Damaged: an index with damaged, missing or foreign files is built again,
// when it is opened or when the damage is read.
func TestStore_Damaged(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	h.write("lab", 0, 12)
	want := fold(t, log, h.space("lab"))
	for name, harm := range map[string]func(string) error{
		"overwritten": func(path string) error {
			content, err := os.ReadFile(path)
			for i := range content {
				if i >= 16 && i < len(content)*3/4 {
					content[i] ^= 0x55
				}
			}
			return errors.Join(err, os.WriteFile(path, content, 0o600))
		},
		"cut":     func(path string) error { return os.Truncate(path, 100) },
		"removed": os.Remove,
	} {
		for _, pattern := range []string{"*.sst", "MANIFEST*", "*"} {
			t.Run(name+" "+pattern, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "turns")
				k := NewTurnStore(TurnOptions{Dir: dir, Bounds: log.Bounds})
				everything(t, k, h.space("lab"))
				k.Close()
				paths, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil || len(paths) == 0 {
					t.Fatal(paths, err)
				}
				for _, path := range paths {
					if err := harm(path); err != nil && !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
				}
				k = NewTurnStore(TurnOptions{Dir: dir, Bounds: log.Bounds})
				defer k.Close()
				if got := everything(t, k, h.space("lab")); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// TestStore_FolderCannotBeUsed: then the index is in memory.
func TestStore_FolderCannotBeUsed(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	h.write("lab", 0, 3)
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	k := NewTurnStore(TurnOptions{Dir: filepath.Join(dir, "turns"), Bounds: log.Bounds})
	defer k.Close()
	if got, want := everything(t, k, h.space("lab")), fold(t, log, h.space("lab")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStore_DiskFull: with a full disk there are answers, and the index is saved when
// there is room again.
func TestStore_DiskFull(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	h.write("lab", 0, 10)
	var full atomic.Bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	k := NewTurnStore(TurnOptions{Dir: "turns", Bounds: log.Bounds, fs: fs})
	everything(t, k, h.space("lab"))
	full.Store(true)
	h.write("lab", 10, 20)
	if got, want := everything(t, k, h.space("lab")), fold(t, log, h.space("lab")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	full.Store(false)
	k.Close()
	k = NewTurnStore(TurnOptions{Dir: "turns", Bounds: log.Bounds, fs: mem})
	defer k.Close()
	log.reads.Store(0)
	if _, err := history(t.Context(), k, h.space("lab"), "alice", "q0", 1); err != nil {
		t.Fatal(err)
	}
	if n := log.reads.Load(); n > 20 {
		t.Errorf("%d entries were read after the restart", n)
	}
}

// TestStore_DamageWhileOpen: damage that is found while a listener waits is repaired,
// and the listener goes on.
func TestStore_DamageWhileOpen(t *testing.T) {
	log := newLog()
	h := newHouse(t, log)
	h.write("lab", 0, 5)
	k := NewTurnStore(TurnOptions{Bounds: log.Bounds})
	defer k.Close()
	s := h.space("lab")
	everything(t, k, s)
	woken := make(chan struct{}, 1)
	l := listen(t, k, s, s.Head(), func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	defer l.Close()
	k.dbMu.Lock()
	_ = k.db.(*turnDB).Failed(derivedb.ErrDamaged)
	k.dbMu.Unlock()
	h.write("lab", 5, 6)
	if got, want := everything(t, k, s), fold(t, log, s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	n := 0
	for n == 0 {
		for range l.UpTo(t.Context(), s.Head()) {
			n++
		}
		if n == 0 {
			select {
			case <-woken:
			case <-t.Context().Done():
				t.Fatal("no update")
			}
		}
	}
	if n != 1 {
		t.Errorf("%d updates", n)
	}
}

// TestStore_RowOfNonsense: an index with a row that cannot be decoded is built again
// when the row is read.
func TestStore_RowOfNonsense(t *testing.T) {
	for _, key := range []string{"s", "e", "h\x00\x00\x00\x00\x00\x00\x00\x01"} {
		t.Run(key[:1], func(t *testing.T) {
			log := newLog()
			h := newHouse(t, log)
			h.write("lab", 0, 5)
			o := TurnOptions{Dir: t.TempDir(), Bounds: log.Bounds}
			k := NewTurnStore(o)
			everything(t, k, h.space("lab"))
			k.Close()
			db, err := openTurnDB(derivedb.Options{Dir: o.Dir})
			if err != nil {
				t.Fatal(err)
			}
			rows, err := db.Space("lab", "log", false)
			if err := errors.Join(err, rows.Set([]byte(key), []byte{0xff}), rows.Commit(), db.Close()); err != nil {
				t.Fatal(err)
			}
			k = NewTurnStore(o)
			defer k.Close()
			if _, err := history(t.Context(), k, h.space("lab"), "alice", "q0", 0); err != nil && !errors.Is(err, turns.ErrDamaged) {
				t.Error(err)
			}
			if got, want := everything(t, k, h.space("lab")), fold(t, log, h.space("lab")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
