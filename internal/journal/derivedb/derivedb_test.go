package derivedb

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const dir = "index"

var schema = Schema{Name: "index of tests", Version: "2", MemTableBytes: 256 << 10}

func openDB(t *testing.T, fs vfs.FS) *DB {
	t.Helper()
	db, err := Open(schema, Options{Dir: dir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // also when the test fails
	return db
}

func key(i int) []byte { return fmt.Appendf(nil, "k%04d", i) }

// fill sets rows of text that does not compress, so that they have several tables, and
// closes the database.
func fill(t *testing.T, fs vfs.FS) {
	t.Helper()
	db := openDB(t, fs)
	r := rand.New(rand.NewSource(1))
	for i := range 2000 {
		value := make([]byte, 200)
		_, _ = r.Read(value)
		if err := db.Store().Set(key(i), value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// read returns the number of rows.
func read(db *DB) (n int, err error) {
	return n, db.With(func(store *pebble.DB) error {
		n = 0
		for i := range 2000 {
			v, err := Get(store, key(i))
			if err != nil {
				return err
			}
			if v != nil {
				n++
			}
		}
		return nil
	})
}

// TestOpen_BegunAgain checks that a database of another version, or with damaged or
// missing files, is begun again: when it is opened, or with Reset after ErrDamaged.
func TestOpen_BegunAgain(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, vfs.FS){
		"another version": func(t *testing.T, fs vfs.FS) {
			db := openDB(t, fs)
			if err := errors.Join(db.Store().Set(keyVersion, []byte("1"), pebble.NoSync), db.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"later version": func(t *testing.T, fs vfs.FS) {
			db := openDB(t, fs)
			if err := errors.Join(db.Store().Set(keyVersion, []byte("3"), pebble.NoSync), db.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"later version of Pebble": func(t *testing.T, fs vfs.FS) {
			files(t, fs, "marker.format-version", func(path string) error {
				return fs.Rename(path, fs.PathJoin(dir, "marker.format-version.000099.999"))
			})
		},
		"damaged tables":     func(t *testing.T, fs vfs.FS) { files(t, fs, ".sst", overwrite(t, fs)) },
		"damaged manifest":   func(t *testing.T, fs vfs.FS) { files(t, fs, "MANIFEST", overwrite(t, fs)) },
		"no tables any more": func(t *testing.T, fs vfs.FS) { files(t, fs, ".sst", fs.Remove) },
		"no table of some":   func(t *testing.T, fs vfs.FS) { removeOne(t, fs) },
		"no beginning": func(t *testing.T, fs vfs.FS) {
			db := openDB(t, fs)
			if err := errors.Join(db.Store().Delete(keyVersion, pebble.NoSync), db.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"no files any more": func(t *testing.T, fs vfs.FS) { files(t, fs, "", fs.Remove) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			fill(t, fs)
			harm(t, fs)
			var log testkit.Log
			db, err := Open(schema, Options{Dir: dir, FS: fs, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if strings.Contains(name, "version") && (!strings.Contains(log.String(), "the index is of another version") || strings.Contains(log.String(), "damaged")) {
				t.Errorf("want a log of another version, and of no damage, got:\n%s", log.String())
			}
			expectBegunAgain(t, fs, db)
		})
	}
}

// TestOpen_NoManifest checks that a database without its list of tables has all rows, of its logs, or none.
func TestOpen_NoManifest(t *testing.T) {
	fs := vfs.NewMem()
	fill(t, fs)
	files(t, fs, "MANIFEST", fs.Remove)
	if n, err := read(openDB(t, fs)); err != nil || n != 0 && n != 2000 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestFailed checks that a missing file is damage, and a full disk is not.
func TestFailed(t *testing.T) {
	for _, test := range []struct {
		err     error
		damaged bool
	}{
		{&os.PathError{Op: "open", Path: "000004.sst", Err: os.ErrNotExist}, true},
		{pebble.ErrCorruption, true},
		{ErrDamaged, true},
		{syscall.ENOSPC, false},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			db := openDB(t, vfs.NewMem())
			err := db.With(func(*pebble.DB) error { return test.err })
			if !errors.Is(err, test.err) || errors.Is(err, ErrDamaged) != test.damaged || db.Damaged() != test.damaged {
				t.Error(err)
			}
		})
	}
}

// expectBegunAgain checks that a database is empty, or that it is damaged, and empty
// after a reset.
func expectBegunAgain(t *testing.T, fs vfs.FS, db *DB) {
	t.Helper()
	n, err := read(db)
	if err == nil && n == 0 {
		return
	}
	if !errors.Is(err, ErrDamaged) || !db.Damaged() {
		t.Fatalf("%d rows, %v", n, err)
	}
	if err := db.With(func(*pebble.DB) error { return nil }); !errors.Is(err, ErrDamaged) {
		t.Errorf("used after the damage: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Log(err)
	}
	again, err := Open(schema, Options{Dir: dir, FS: fs, Reset: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n, err := read(again); err != nil || n != 0 {
		t.Errorf("after a reset: %d rows, %v", n, err)
	}
}

// files calls f for the files of the database whose names contain a text.
func files(t *testing.T, fs vfs.FS, part string, f func(path string) error) {
	t.Helper()
	list, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, name := range list {
		if strings.Contains(name, part) {
			found = true
			if err := f(fs.PathJoin(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found {
		t.Fatalf("no file %q in %q", part, list)
	}
}

func removeOne(t *testing.T, fs vfs.FS) {
	t.Helper()
	removed := false
	files(t, fs, ".sst", func(path string) error {
		if removed {
			return nil
		}
		removed = true
		return fs.Remove(path)
	})
}

// overwrite returns a function that damages the middle of a file.
func overwrite(t *testing.T, fs vfs.FS) func(path string) error {
	t.Helper()
	return func(path string) error {
		f, err := fs.Open(path)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		for i := range content {
			if i >= 16 && i < len(content)*3/4 {
				content[i] ^= 0x55
			}
		}
		w, err := fs.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		_, err = w.Write(content)
		return errors.Join(err, w.Close())
	}
}

// TestDB_Closed checks that a closed database returns an error.
func TestDB_Closed(t *testing.T) {
	db := openDB(t, vfs.NewMem())
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := db.With(func(*pebble.DB) error { panic("called") }); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if db.Full() || db.Size() != 0 {
		t.Error("a closed database has a size")
	}
}

// TestDB_Full checks that Full bounds the rows that wait for the disk: the store itself
// takes any number of rows.
func TestDB_Full(t *testing.T) {
	var full errorfs.Toggle
	full.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	db := openDB(t, errorfs.Wrap(vfs.NewMem(), &full))
	full.On()
	defer full.Off() // before the database is closed
	value := make([]byte, schema.MemTableBytes/16)
	n := 0
	for ; !db.Full(); n++ {
		if n > 32*maxUnwritten {
			t.Fatal("not full")
		}
		if err := db.Store().Set(key(n), value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if n < 8*maxUnwritten {
		t.Errorf("full after %d rows", n)
	}
	if err := db.Store().Set(key(n), value, pebble.NoSync); err != nil {
		t.Error(err)
	}
}

// TestFailed_Logged checks that a fatal message of the store, and an error of its work
// in the background that is damage, do not end the process but make the database damaged.
func TestFailed_Logged(t *testing.T) {
	for name, report := range map[string]func(*DB){
		"fatal":      func(db *DB) { storeLogger{db}.Fatalf("no %s", "table") },
		"background": func(db *DB) { db.storeOptions(vfs.NewMem(), nil).EventListener.BackgroundError(ErrDamaged) },
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, vfs.NewMem())
			db.log = slog.New(slog.DiscardHandler)
			report(db)
			if err := db.With(func(*pebble.DB) error { return nil }); !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
		})
	}
}

// TestBeginSpace checks that spaces have numbers of their own, also after a restart, and
// that only the rows of the number before are deleted.
func TestBeginSpace(t *testing.T) {
	fs := vfs.NewMem()
	db := openDB(t, fs)
	rows := map[string]uint32{}
	begin := func(space string) {
		t.Helper()
		before := rows[space]
		err := db.BeginSpace(db.Store(), space, before, "ab", func(number uint32) any {
			rows[space] = number
			return number
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, class := range []byte("abc") {
			if err := db.Store().Set(SpaceKey(class, rows[space]), []byte(space), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin("a")
	begin("b")
	begin("a")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openDB(t, fs)
	begin("c")
	for space, want := range map[string]uint32{"a": 3, "b": 2, "c": 4, "d": 0} {
		var number uint32
		if err := ReadSpace(db.Store(), space, &number); err != nil || number != want || rows[space] != want {
			t.Errorf("%s: %d, want %d, %v", space, number, want, err)
		}
	}
	var got []string
	for number := range uint32(5) {
		for _, class := range []byte("abc") {
			v, err := Get(db.Store(), SpaceKey(class, number))
			if err != nil {
				t.Fatal(err)
			}
			if v != nil {
				got = append(got, fmt.Sprintf("%c%d=%s", class, number, v))
			}
		}
	}
	if got, want := fmt.Sprint(got), "[c1=a a2=b b2=b c2=b a3=a b3=a c3=a a4=c b4=c c4=c]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReadSpace_Nonsense checks that a row that is no JSON is damage.
func TestReadSpace_Nonsense(t *testing.T) {
	db := openDB(t, vfs.NewMem())
	if err := db.Store().Set(nameKey("lab"), []byte("x"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	var row struct{}
	err := db.With(func(store *pebble.DB) error { return ReadSpace(store, "lab", &row) })
	if !errors.Is(err, ErrDamaged) || !db.Damaged() {
		t.Error(err)
	}
}

// TestOpen_CompactionWaits checks that opening a database whose tables are to be compacted
// does not wait for that, and that it is done afterwards.
func TestOpen_CompactionWaits(t *testing.T) {
	mem := vfs.NewMem()
	uncompacted := schema
	uncompacted.Tune = func(o *pebble.Options) { o.DisableAutomaticCompactions = true }
	db, err := Open(uncompacted, Options{Dir: dir, FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 { // Pebble compacts at 4 tables of level 0
		for i := range 10 {
			if err := db.Store().Set(key(i), key(i), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Store().Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") { // of a compaction: nothing is flushed
			once.Do(func() { close(begun) })
			<-release
		}
		return nil
	}))
	opened := make(chan *DB, 1)
	go func() { // ends when the database is open
		db, err := Open(schema, Options{Dir: dir, FS: slow})
		if err != nil {
			t.Error(err)
		}
		opened <- db
	}()
	select {
	case db = <-opened:
	case <-testkit.Deadline(t).Done():
		t.Error("Open waits for the compaction")
		close(release)
		db = <-opened
		t.Cleanup(func() { _ = db.Close() })
		return
	}
	select {
	case <-begun:
	case <-testkit.Deadline(t).Done():
		t.Error("the tables are not compacted after the database was opened")
	}
	close(release)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// small has memtables so small that there are several logs.
var small = Schema{Name: "index of tests", Version: "2", MemTableBytes: 64 << 10}

func openSmall(t *testing.T, fs vfs.FS) *DB {
	t.Helper()
	db, err := Open(small, Options{Dir: dir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// commit commits the rows from a number to another one, each in a batch.
func commit(t *testing.T, db *DB, from, to int) {
	t.Helper()
	value := make([]byte, 1000)
	for i := from; i < to; i++ {
		b := db.Store().NewBatch()
		if err := errors.Join(b.Set(key(i), value, nil), db.Commit(b)); err != nil {
			t.Fatal(err)
		}
	}
}

// expectBeginning checks that a database has the first rows, at least so many, and no others.
func expectBeginning(t *testing.T, db *DB, least int) {
	t.Helper()
	n, err := read(db)
	if err != nil {
		t.Fatal(err)
	}
	if n < least {
		t.Errorf("%d rows, want %d", n, least)
	}
	if n > 0 {
		if v, err := Get(db.Store(), key(n-1)); v == nil || err != nil {
			t.Errorf("of %d rows the last one is not there, %v", n, err)
		}
	}
}

// TestCommit_Crash checks that a kill loses nothing that was written to the log, and that
// after a power failure the rows are the beginning of what was committed.
func TestCommit_Crash(t *testing.T) {
	for _, test := range []struct {
		name     string
		unsynced int // percent that is left
	}{{"killed", 100}, {"power failure", 0}, {"power failure while data is written", 50}} {
		t.Run(test.name, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			db := openSmall(t, fs)
			rounds := 10
			if testkit.Race {
				rounds = 3
			}
			for round := range rounds {
				commit(t, db, 50*round, 50*round+50)
				if test.unsynced == 100 {
					if err := db.Store().LogData(nil, pebble.Sync); err != nil { // waits until the log is written
						t.Fatal(err)
					}
				}
				crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: test.unsynced, RNG: randv2.New(randv2.NewPCG(uint64(round), 1))})
				least := 0
				if test.unsynced == 100 {
					least = 50*round + 50
				}
				expectBeginning(t, openSmall(t, crashed), least)
			}
		})
	}
}

// TestCommit_Syncs checks that commits in a short time have few syncs together, and that the
// last of them is synced too.
func TestCommit_Syncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var syncs atomic.Int32
		mem := vfs.NewCrashableMem()
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
				syncs.Add(1)
			}
			return nil
		}))
		db := openSmall(t, fs)
		before := syncs.Load()
		for i := range 20 {
			commit(t, db, i, i+1)
			synctest.Wait() // it is synced, if that is started at once
		}
		time.Sleep(syncInterval)
		synctest.Wait()
		if n := syncs.Load() - before; n > 2 {
			t.Errorf("%d syncs of 20 commits at one time", n)
		}
		expectBeginning(t, openSmall(t, mem.CrashClone(vfs.CrashCloneCfg{})), 20)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCommit_LogFails checks that a database whose log cannot be created, written or
// synced goes on without it: all rows can be read, they reach the disk by flushes, and
// after a crash there is the beginning of what was committed.
func TestCommit_LogFails(t *testing.T) {
	for name, fails := range map[string]func(errorfs.Op) bool{
		"create": func(op errorfs.Op) bool { return op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite },
		"write":  func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite },
		"sync": func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
		},
		"any": func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite },
	} {
		if testkit.Race && name != "any" {
			continue // they take long, and have the same goroutines
		}
		for _, from := range []int{0, 100} {
			t.Run(fmt.Sprint(name, " after ", from), func(t *testing.T) {
				var broken errorfs.Toggle
				broken.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
					if (strings.HasSuffix(op.Path, ".log") || op.Path == dir && op.Kind == errorfs.OpFileSync) && fails(op) {
						return syscall.ENOSPC
					}
					return nil
				})
				mem := vfs.NewCrashableMem()
				var log testkit.Log
				if from == 0 {
					broken.On()
				}
				db, err := Open(small, Options{Dir: dir, FS: errorfs.Wrap(mem, &broken), Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				commit(t, db, 0, from)
				broken.On()
				commit(t, db, from, 300)
				expectBeginning(t, db, 300)
				crashed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: randv2.New(randv2.NewPCG(1, 1))})
				expectBeginning(t, openSmall(t, crashed), 0)
				broken.Off() // the log stays without its end
				commit(t, db, 300, 310)
				if err := db.StartFlush(); err != nil {
					t.Error(err)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				if n := strings.Count(log.String(), "cannot be written"); n != 1 {
					t.Errorf("%d warnings:\n%s", n, log.String())
				}
				crashed = mem.CrashClone(vfs.CrashCloneCfg{})
				expectBeginning(t, openSmall(t, crashed), 310)
			})
		}
	}
}

// TestFlush_Retried checks that a flush is tried again after a pause while the disk is full, and
// succeeds when there is room.
func TestFlush_Retried(t *testing.T) {
	for name, kind := range map[string]errorfs.OpKind{"create": errorfs.OpCreate, "write": errorfs.OpFileWrite} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tries atomic.Int32
				var room atomic.Bool
				fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					if room.Load() || op.Kind != kind || !strings.HasSuffix(op.Path, ".sst") {
						return nil
					}
					if tries.Add(1) == 1000 {
						room.Store(true) // they never pause
					}
					return syscall.ENOSPC
				}))
				db := openSmall(t, fs)
				commit(t, db, 0, 10)
				flushed, err := db.Store().AsyncFlush()
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * retryInterval)
				if n := tries.Load(); n < 2 || n > 11 {
					t.Errorf("%d tries in 10 intervals", n)
				}
				room.Store(true)
				<-flushed
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestManifest_Fails checks that a database whose list of tables cannot be written is damaged,
// says so once, removes nothing of what the list needs, and closes without waiting for the disk.
func TestManifest_Fails(t *testing.T) {
	for name, kind := range map[string]errorfs.OpKind{"write": errorfs.OpFileWrite, "sync": errorfs.OpFileSync} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var full errorfs.Toggle
				full.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
					if op.Kind == kind && strings.Contains(op.Path, "MANIFEST-") {
						return syscall.ENOSPC
					}
					return nil
				})
				mem := vfs.NewMem()
				fs := errorfs.Wrap(mem, &full)
				var log testkit.Log
				o := Options{Dir: dir, FS: fs, Logger: slog.New(slog.NewTextHandler(&log, nil))}
				db, err := Open(small, o)
				if err != nil {
					t.Fatal(err)
				}
				commit(t, db, 0, 100)
				full.On()
				for range 3 {
					flushed, err := db.Store().AsyncFlush()
					if err != nil {
						t.Fatal(err)
					}
					<-flushed
				}
				full.Off()
				if !db.Damaged() {
					t.Error("it is not damaged")
				}
				begun := time.Now()
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				if d := time.Since(begun); d > 0 {
					t.Errorf("it closes after %s", d)
				}
				if n := strings.Count(log.String(), "level=WARN"); n != 1 {
					t.Errorf("%d warnings: %.1000s", n, log.String())
				}
				expectBeginning(t, openSmall(t, mem), 100) // a crash before it is begun again loses nothing
			})
		})
	}
}

// TestManifest_FailsInOpen checks that Open fails if it cannot write the list of tables, and that
// the next one has all rows that the log has.
func TestManifest_FailsInOpen(t *testing.T) {
	mem := vfs.NewCrashableMem()
	db := openSmall(t, mem)
	commit(t, db, 0, 100)
	if err := db.Store().Set(key(100), []byte("synced"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	var full errorfs.Toggle
	full.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "MANIFEST-") {
			return syscall.ENOSPC
		}
		return nil
	})
	full.On()
	if _, err := Open(small, Options{Dir: dir, FS: errorfs.Wrap(crashed, &full)}); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrDamaged) {
		t.Fatalf("opened on a full disk: %v", err)
	}
	expectBeginning(t, openSmall(t, crashed), 101)
}

// TestStartFlush_Logged checks that rows that the log has are not flushed.
func TestStartFlush_Logged(t *testing.T) {
	db := openSmall(t, vfs.NewMem())
	commit(t, db, 0, 1)
	flushes := db.Store().Metrics().Flush.Count
	if err := db.StartFlush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Store().Flush(); err != nil { // the next one, if any was started
		t.Fatal(err)
	}
	if n := db.Store().Metrics().Flush.Count - flushes; n != 1 {
		t.Errorf("%d flushes", n)
	}
}
