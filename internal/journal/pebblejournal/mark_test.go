package pebblejournal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// killed returns a copy of the folder of a log that was killed after it
// acknowledged n entries.
func killed(t *testing.T, n int) string {
	t.Helper()
	living, dir := t.TempDir(), t.TempDir()
	if err := open(t, Options{Dir: living}).Close(); err != nil {
		t.Fatal(err)
	}
	j := open(t, Options{Dir: living}) // Pebble's first write-ahead log has no offsets that prove damage
	for i := range n {
		if r := j.one("lab", fmt.Sprintf("m-%d", i)); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	testkit.CopyFolder(t, dir, living)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newestWAL(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no write-ahead log: %v", err)
	}
	slices.Sort(files)
	return files[len(files)-1]
}

// content returns the written part of a file; Pebble allocates more.
func content(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimRight(string(data), "\x00"))
}

// TestOpen_LostTail damages the end of the newest write-ahead log of a killed
// log. The rest looks like the log of a crash; the mark shows that it lacks
// acknowledged entries.
func TestOpen_LostTail(t *testing.T) {
	const n = 500 // more than a block of the write-ahead log
	write := func(t *testing.T, file string, data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
		intact bool
	}{
		{"nothing", func(*testing.T, string) {}, true},
		{"truncated", func(t *testing.T, dir string) {
			data := content(t, newestWAL(t, dir))
			write(t, newestWAL(t, dir), data[:len(data)/2])
		}, false},
		{"last byte", func(t *testing.T, dir string) {
			data := content(t, newestWAL(t, dir))
			data[len(data)-1] ^= 1
			write(t, newestWAL(t, dir), data)
		}, false},
		{"middle", func(t *testing.T, dir string) {
			data, err := os.ReadFile(newestWAL(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			data[len(content(t, newestWAL(t, dir)))/4] ^= 1
			write(t, newestWAL(t, dir), data)
		}, false},
		{"missing", func(t *testing.T, dir string) {
			if err := os.Remove(newestWAL(t, dir)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"everything but the mark", func(t *testing.T, dir string) {
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if f.Name() == markFile {
					continue
				}
				if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		{"mark removed", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, markFile)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"mark truncated", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, markFile), []byte("meup acknowledged"))
		}, false},
		{"mark damaged", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, markFile), []byte("meup acknowledged 00000000000000000500 00000000\n"))
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := killed(t, n)
			test.damage(t, dir)
			j, err := Open(Options{Dir: dir})
			if test.intact {
				if err != nil {
					t.Fatal(err)
				}
				if got := len(read(t, j, "lab")); got != n {
					t.Errorf("%d entries, want %d", got, n)
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatalf("opened with %d of %d entries", len(read(t, j, "lab")), n)
			}
			reason := "500 entries were acknowledged"
			switch {
			case strings.HasPrefix(test.name, "mark"):
				reason = "holds 500 entries"
			case test.name == "middle":
				reason = filepath.Base(newestWAL(t, dir)) + " is damaged before its end"
			}
			for _, part := range []string{reason, "--accept-loss", dir} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not contain %q: %v", part, err)
				}
			}
			acceptLoss(t, dir)
			if kept, err := filepath.Glob(filepath.Join(dir, "damaged-*", "*.log")); err != nil || (len(kept) > 0) != (test.name == "middle") {
				t.Errorf("kept %q: %v", kept, err)
			}
		})
	}
}

// acceptLoss opens a damaged log with AcceptLoss: it is a new log that accepts
// entries, and later no loss is found.
func acceptLoss(t *testing.T, dir string) {
	t.Helper()
	var ids []string
	for _, accept := range []bool{true, false} {
		var log bytes.Buffer
		j := open(t, Options{Dir: dir, AcceptLoss: accept, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if accept && !strings.Contains(log.String(), "entries are lost") && !strings.Contains(log.String(), "it is unknown") {
			t.Errorf("the loss is not logged: %s", log.String())
		}
		id, err := j.LogID(context.Background(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if r := j.one("lab", fmt.Sprintf("after-%v", accept)); r.Err != nil {
			t.Errorf("append: %v", r.Err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("ids of the log: %q", ids)
	}
}

// TestLogID_ChangesWithAcceptedLoss: positions in the log before the loss are
// not positions in the log after it.
func TestLogID_ChangesWithAcceptedLoss(t *testing.T) {
	dir := killed(t, 10)
	j := open(t, Options{Dir: dir})
	before := j.logID
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, markFile), formatMark(11), 0o600); err != nil {
		t.Fatal(err)
	}
	j = open(t, Options{Dir: dir, AcceptLoss: true})
	defer j.Close()
	if j.logID == before || j.logID == "" {
		t.Errorf("id %q after a loss, %q before", j.logID, before)
	}
}

// TestLogID_ChangesWithCopy: a copy of the folder may lack entries that the original
// had, so it is another log; the original, moved away and back, is the same.
func TestLogID_ChangesWithCopy(t *testing.T) {
	dir := killed(t, 10)
	logID := func(dir string) string {
		t.Helper()
		j := open(t, Options{Dir: dir})
		defer j.Close()
		if got := len(read(t, j, "lab")); got != 10 {
			t.Errorf("%d entries, want 10", got)
		}
		return j.logID
	}
	original := logID(dir)
	if f, err := vfs.Default.Open(filepath.Join(dir, markFile)); err != nil || birthTime(f) == "" {
		t.Skipf("the file system does not record when a file was created: %v", err)
	}
	aside, older := filepath.Join(t.TempDir(), "aside"), t.TempDir()
	if err := os.CopyFS(older, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(older, dir); err != nil {
		t.Fatal(err)
	}
	replaced := logID(dir)
	if replaced == original {
		t.Error("a copy of the log has its id")
	}
	if again := logID(dir); again != replaced {
		t.Errorf("the copy has the id %s, and then %s", replaced, again)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, dir); err != nil {
		t.Fatal(err)
	}
	if id := logID(dir); id != original {
		t.Errorf("the original has the id %s, and had %s", id, original)
	}
}

// A log whose files were moved away acknowledges nothing, writes nothing in their place, and
// goes on when they are back.
func TestJournal_MovedAway(t *testing.T) {
	data := t.TempDir()
	dir, aside := filepath.Join(data, "log"), filepath.Join(data, "aside")
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip("a folder in use cannot be moved:", err)
			}
			t.Fatal(err)
		}
	}
	list := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	j := open(t, Options{Dir: dir, RetryAfter: time.Millisecond})
	if r := j.one("lab", "before"); r.Err != nil {
		t.Fatal(r.Err)
	}
	move(dir, aside)
	testkit.CopyFolder(t, dir, aside) // as a backup that is restored there
	before := list()
	if r := j.one("lab", "unknown"); !errors.Is(r.Err, journal.ErrOutcomeUnknown) {
		t.Errorf("the first append after the move: %+v, want ErrOutcomeUnknown", r)
	}
	if r := j.one("lab", "refused"); !errors.Is(r.Err, journal.ErrUnavailable) || !strings.Contains(r.Err.Error(), "moved, removed or replaced") {
		t.Errorf("the next append: %+v, want ErrUnavailable with the reason", r)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if after := list(); !slices.Equal(after, before) {
		t.Errorf("the folder in its place has %q, want %q as before", after, before)
	}

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	move(aside, dir)
	j = open(t, Options{Dir: dir, RetryAfter: time.Millisecond, markEvery: time.Millisecond})
	defer j.Close()
	wantIDs(t, "the moved log", idsOf(read(t, j, "lab")), "before", "unknown")
	move(dir, aside)
	testkit.Eventually(t, "not ready without an append", func() bool { return j.Ready() != nil })
	move(aside, dir)
	testkit.Eventually(t, "ready with its files", func() bool { return j.Ready() == nil })
	move(dir, aside)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "not ready with a file in the place of the folder", func() bool { return j.Ready() != nil })
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	move(aside, dir)
	testkit.Eventually(t, "ready again with its files", func() bool { return j.Ready() == nil })
	if r := j.one("lab", "unknown"); !r.Retry || r.Err != nil {
		t.Errorf("sent again: %+v, want a retry", r)
	}
	if r := j.one("lab", "after"); r.Err != nil || r.Seq != 3 {
		t.Errorf("%+v, want Seq 3", r)
	}
}

// TestJournal_ManySpaces bounds the state in memory for spaces with appends.
func TestJournal_ManySpaces(t *testing.T) {
	testkit.OneGoroutine(t)
	j := open(t, Options{})
	defer j.Close()
	const spaces = 2*maxSpaceLogs + 10
	for i := range spaces {
		name := fmt.Sprintf("space-%d", i)
		if r := j.Append(context.Background(), name, []journal.Draft{newDraft("a"), newDraft("b")})[1]; r.Seq != 2 {
			t.Fatalf("%+v", r)
		}
	}
	heads := 0
	j.heads.Range(func(any, any) bool { heads++; return true })
	if heads > maxSpaceLogs+1 || len(j.logs) > maxSpaceLogs+1 {
		t.Errorf("%d heads, %d ends of logs", heads, len(j.logs))
	}
	if r := j.one("space-0", "c"); r.Seq != 3 {
		t.Errorf("%+v", r)
	}
	wantIDs(t, "first space", idsOf(read(t, j, "space-0")), "a", "b", "c")
}

// The failure to close the mark is reported, unless the journal had failed before.
func TestClose_MarkFails(t *testing.T) {
	for _, failed := range []bool{false, true} {
		var d disk
		j := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &d), RetryAfter: time.Hour})
		j.one("lab", "before")
		d.fail(full)
		if failed {
			j.one("lab", "refused")
		}
		if err := j.Close(); failed == (err != nil && strings.Contains(err.Error(), "close the mark")) {
			t.Errorf("failed before: %t; Close = %v", failed, err)
		}
	}
}
