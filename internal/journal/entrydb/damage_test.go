package entrydb

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// fill makes a folder with what a database leaves behind that was killed: two
// tables, and a log of several blocks.
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
	if err := os.CopyFS(dir, os.DirFS(living)); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedFile overwrites the middle of a file of each kind. Opening the
// log, or reading it, must end in an error that tells which file it is.
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

// newest returns the last file with a name like that.
func newest(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files[len(files)-1]
}

// What was closed needs its log no more.
func TestClosedDatabaseSurvivesADamagedLog(t *testing.T) {
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

// overwrite changes the middle half of a file.
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

// TestOneProcessAtATime opens a log that is open, here and in another process,
// which is this test again.
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
