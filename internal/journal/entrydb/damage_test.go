package entrydb

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// fill creates a folder as a killed database leaves it: two tables, and a log
// of several blocks.
func fill(t *testing.T, dir string) {
	t.Helper()
	living := t.TempDir()
	d := open(t, Options{Dir: living})
	for batch := range protocol.Seq(20) {
		var entries []*journal.Entry
		for i := range protocol.Seq(50) {
			entries = append(entries, entry(50*batch+i+1))
		}
		put(t, d, "lab", entries...)
		if batch == 4 {
			flush(d)
		}
	}
	testkit.CopyFolder(t, dir, living)
}

// TestDamagedFile overwrites the middle of a file of each kind. Opening the
// log, or reading it, must return an error that names the file.
func TestDamagedFile(t *testing.T) {
	for _, pattern := range []string{"MANIFEST-*", "*.sst", "*.log"} {
		t.Run(pattern, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir)
			if err := readAll(dir); err != nil {
				t.Fatalf("undamaged: %v", err)
			}
			dir = t.TempDir()
			fill(t, dir)
			file := newest(t, dir, pattern)
			overwrite(t, file)
			err := readAll(dir)
			if err == nil {
				t.Fatal("no error")
			}
			t.Log(err)
			if name := filepath.Base(file); !strings.Contains(err.Error(), strings.TrimSuffix(name, filepath.Ext(name))) {
				t.Errorf("the error does not name %s", file)
			}
		})
	}
}

// newest returns the last file that matches the pattern.
func newest(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files[len(files)-1]
}

// TestOpen_CutDamage damages a write-ahead log before its end: the database
// opens with the batches before the damage, keeps the original files, and
// accepts entries again.
func TestOpen_CutDamage(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	file := newest(t, dir, "*.log")
	overwrite(t, file)
	damaged := readFile(t, file)
	later := filepath.Join(dir, "999999.log") // its batches depend on the lost ones
	if err := os.WriteFile(later, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrDamagedWAL) || !strings.Contains(err.Error(), file) {
		t.Fatalf("error is %v", err)
	}

	d, err := Open(Options{Dir: dir, CutDamage: true})
	if err != nil {
		t.Fatal(err)
	}
	first, last, err := d.Bounds("lab")
	if err != nil {
		t.Fatal(err)
	}
	if first != 1 || last < 250 || last >= 1000 || last%50 != 0 { // 5 batches are in a table, 15 in the log
		t.Errorf("the database has entries %d to %d", first, last)
	}
	put(t, d, "lab", entry(last+1))
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{filepath.Base(file), filepath.Base(later)} {
		if kept := readFile(t, newest(t, dir, "damaged-*/"+name)); !bytes.Equal(kept, damaged) {
			t.Errorf("%s was not kept as it was", name)
		}
	}
	d = open(t, Options{Dir: dir})
	if _, got, err := d.Bounds("lab"); err != nil || got != last+1 {
		t.Errorf("opened again, it ends at %d: %v", got, err)
	}
}

// TestOpen_CutDamageInterrupted makes each operation that changes the disk fail
// while a log is cut: no entries before the damage are lost.
func TestOpen_CutDamageInterrupted(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	overwrite(t, newest(t, dir, "*.log"))
	want := lastAfterCut(t, inMemory(t, dir))
	failures := 0
	for n := int64(0); ; n++ {
		fs := inMemory(t, dir)
		var f faults
		f.fail(afterWrites(n, false))
		d, err := Open(Options{Dir: memoryDir, FS: errorfs.Wrap(fs, &f), CutDamage: true})
		if err == nil {
			_ = d.Close() // the disk may have failed in the background
			break
		}
		failures++
		if got := lastAfterCut(t, fs); got != want {
			t.Fatalf("failure %d: the database ends at %d, want %d", n, got, want)
		}
	}
	if failures < 10 {
		t.Errorf("only %d operations failed", failures)
	}
}

// inMemory returns a copy of a folder as memoryDir of a file system in memory.
func inMemory(t *testing.T, dir string) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if _, err := vfs.Clone(vfs.Default, fs, dir, memoryDir); err != nil {
		t.Fatal(err)
	}
	return fs
}

// lastAfterCut returns the newest Seq of a database opened with CutDamage.
func lastAfterCut(t *testing.T, fs vfs.FS) protocol.Seq {
	t.Helper()
	d, err := Open(Options{Dir: memoryDir, FS: fs, CutDamage: true})
	if err != nil {
		t.Fatal(err)
	}
	_, last, err := d.Bounds("lab")
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return last
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A closed database no longer needs its log.
func TestOpen_DamagedLogAfterClose(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, "lab", entry(1), entry(2))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, newest(t, dir, "*.log"))
	d = open(t, Options{Dir: dir})
	wantSeqs(t, d, "lab", journal.Query{}, 1, 2)
}

// overwrite overwrites the middle half of a file.
func overwrite(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 4; i < 3*len(data)/4; i++ {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readAll(dir string) error {
	d, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	defer d.Close()
	for _, err := range d.Range(context.Background(), "lab", journal.Query{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMissingTable(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	file := newest(t, dir, "*.sst")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := readAll(dir); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(filepath.Base(file), ".sst")) {
		t.Errorf("error is %v", err)
	}
}

// TestOneProcessAtATime opens a log that is already open, in this process and
// in another one, which runs this test.
func TestOneProcessAtATime(t *testing.T) {
	const variable = "MEUP_TEST_LOCKED_DIR"
	if dir := os.Getenv(variable); dir != "" {
		wantLocked(t, dir)
		return
	}
	dir := t.TempDir()
	open(t, Options{Dir: dir})
	wantLocked(t, dir)
	child := exec.Command(os.Args[0], "-test.run=^TestOneProcessAtATime$")
	child.Env = append(os.Environ(), variable+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("in another process: %v\n%s", err, out)
	}
}

func wantLocked(t *testing.T, dir string) {
	t.Helper()
	d, err := Open(Options{Dir: dir})
	if err == nil {
		d.Close()
		t.Fatal("it was opened twice")
	}
	if !strings.Contains(err.Error(), "has it open") || !strings.Contains(err.Error(), dir) {
		t.Errorf("error is %v", err)
	}
}

func TestUnusableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error is %v", err)
	}
}
