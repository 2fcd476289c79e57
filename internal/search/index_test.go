package search

import (
	"errors"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
)

// TestOpen_AfterACrash: without Close, the index continues from an earlier position,
// and the entries after it are applied again.
func TestOpen_AfterACrash(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, derivedb.Options{Dir: dir})
	r := rand.New(rand.NewSource(1))
	for seq := 1; seq <= 300; seq++ {
		a.randomDoc(r, seq)
	}
	first := a.docs
	a.docs = first[:200]
	a.apply(0)
	if err := a.index.db.Flush(); err != nil {
		t.Fatal(err)
	}
	a.docs = first
	a.apply(200)
	copied := filepath.Join(t.TempDir(), "copy") // as after a crash
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b := &archive{t: t, docs: first}
	b.open(derivedb.Options{Dir: copied})
	defer b.index.Close()
	p, err := b.index.Position("lab")
	if err != nil || p.Read < 200 || p.Log != "log-1" {
		t.Fatalf("%+v, %v", p, err)
	}
	b.apply(0) // the ones up to 200 are known
	for _, id := range people {
		if who, q := b.asker(id, 0, false), (Query{Text: "alpha"}); !slices.Equal(b.pages(who, q), b.scan(who, q)) {
			t.Errorf("%s: %v, want %v", id, b.pages(who, q), b.scan(who, q))
		}
	}
}

// TestOpen_AfterAKill: a kill loses nothing that was written to the log, although no table was
// written.
func TestOpen_AfterAKill(t *testing.T) {
	const docs, batch = 3000, 100
	fs := vfs.NewCrashableMem()
	a := newArchive(t, derivedb.Options{Dir: "search", FS: fs})
	r := rand.New(rand.NewSource(1))
	for seq := 1; seq <= docs; seq++ {
		a.randomDoc(r, seq)
	}
	all := a.docs
	for from := 0; from < docs; from += batch {
		a.docs = all[:from+batch]
		a.apply(from)
	}
	if n := a.index.db.Metrics().Flush.Count; n != 0 {
		t.Fatalf("%d flushes", n)
	}
	if err := a.index.db.LogData(nil, pebble.Sync); err != nil { // writes the last block of the log, too
		t.Fatal(err)
	}
	b := &archive{t: t, docs: all}
	b.open(derivedb.Options{Dir: "search", FS: fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: randv2.New(randv2.NewPCG(1, 1))})})
	defer b.index.Close()
	if p, err := b.index.Position("lab"); err != nil || p.Read != docs {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestOpen_Damaged checks that searches in an index with damaged or missing tables, or
// with lists that make no sense, fail with derivedb.ErrDamaged, unless it is begun again when it
// is opened.
func TestOpen_Damaged(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"damaged tables": func(t *testing.T, dir string) {
			tables(t, dir, func(path string) error {
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for i := range len(b) / 2 {
					b[i] ^= 0x55
				}
				return os.WriteFile(path, b, 0o600)
			})
		},
		"missing tables": func(t *testing.T, dir string) { tables(t, dir, os.Remove) },
		"another version": func(t *testing.T, dir string) {
			other := schema
			other.Version = "0"
			db, err := derivedb.Open(other, derivedb.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"postings of nonsense": func(t *testing.T, dir string) {
			x, err := Open(derivedb.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			p, err := x.Position("lab")
			if err != nil {
				t.Fatal(err)
			}
			key := appendAudience(append(numberKey(keyPostings, p.Number, 0), "alpha\x00"...), public)
			if err := errors.Join(x.db.Set(key, []byte{255}, pebble.NoSync), x.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a := newArchive(t, derivedb.Options{Dir: dir})
			r := rand.New(rand.NewSource(1))
			for seq := 1; seq <= 2000; seq++ {
				a.randomDoc(r, seq)
			}
			a.apply(0)
			a.close()
			harm(t, dir)
			x, err := Open(derivedb.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = x.Close() }() // also when the test fails
			found, err := x.Search(t.Context(), "lab", a.asker("ann", 0, true), Query{Text: "alpha"})
			if err == nil && found.Position.Log == "" {
				return // it was begun again
			}
			if !errors.Is(err, derivedb.ErrDamaged) {
				t.Fatalf("%+v, %v", found, err)
			}
			if err := x.Close(); err != nil {
				t.Log(err)
			}
			again, err := Open(derivedb.Options{Dir: dir, Reset: true})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if p, err := again.Position("lab"); err != nil || p.Log != "" {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// tables calls f for the table files of an index.
func tables(t *testing.T, dir string, f func(path string) error) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		if err := f(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrim_NothingToDelete checks that the first Trim of a new space, which only
// sets its floor, deletes no range: with many new spaces these would slow all reads.
func TestTrim_NothingToDelete(t *testing.T) {
	a := newArchive(t, derivedb.Options{Dir: t.TempDir()})
	a.say(7, "ann", "hello")
	a.apply(0)
	if err := a.index.Trim("lab", 7); err != nil {
		t.Fatal(err)
	}
	if p, err := a.index.Position("lab"); err != nil || p.Floor != 7 {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := a.index.db.Flush(); err != nil {
		t.Fatal(err)
	}
	levels, err := a.index.db.SSTables(pebble.WithProperties())
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range levels {
		for _, table := range tables {
			if n := table.Properties.NumRangeDeletions; n > 0 {
				t.Errorf("%d deleted ranges", n)
			}
		}
	}
}
