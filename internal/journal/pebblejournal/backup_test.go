package pebblejournal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// Every entry that was acknowledged before a checkpoint is in it, and of the later ones
// of each writer a prefix.
func TestCheckpoint_DuringAppends(t *testing.T) {
	const writers = 4
	dir := t.TempDir()
	j := open(t, Options{Dir: filepath.Join(dir, "log")})
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var acknowledged [writers]atomic.Int64
	for w := range writers {
		running.Go(func() { // ends with ctx
			for i := 1; ctx.Err() == nil; i++ {
				if r := j.one(fmt.Sprint("space-", w), fmt.Sprintf("m-%d", i)); r.Err != nil {
					t.Error(r.Err)
					return
				}
				acknowledged[w].Store(int64(i))
			}
		})
	}
	for copied := range 5 {
		testkit.Eventually(t, "all writers go on", func() bool {
			least := acknowledged[0].Load()
			for w := range writers {
				least = min(least, acknowledged[w].Load())
			}
			return least >= int64(20*(copied+1))
		})
		var before [writers]int64
		for w := range writers {
			before[w] = acknowledged[w].Load()
		}
		to := filepath.Join(dir, "backup.tmp")
		if err := j.Checkpoint(to); err != nil {
			t.Fatal(err)
		}
		s, err := OpenStored(to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.LogID != j.logID || s.Spaces != writers {
			t.Errorf("log %s with %d spaces", s.LogID, s.Spaces)
		}
		var sum uint64
		for w := range writers {
			n := int64(0)
			for e, err := range s.db.Range(ctx, fmt.Sprint("space-", w), journal.Query{}) {
				n++
				if err != nil || string(e.Envelope.ID) != fmt.Sprintf("m-%d", n) || int64(e.Envelope.Seq) != n {
					t.Fatalf("writer %d: entry %d is %+v, %v", w, n, e, err)
				}
			}
			if n < before[w] {
				t.Errorf("writer %d: %d entries, %d were acknowledged", w, n, before[w])
			}
			sum += uint64(n)
		}
		if s.Entries != sum {
			t.Errorf("it counts %d entries and has %d", s.Entries, sum)
		}
		if err := errors.Join(s.Close(), os.RemoveAll(to)); err != nil {
			t.Fatal(err)
		}
	}
}

// A checkpoint has the mark of acknowledged entries, so that an incomplete one is
// detected.
func TestOpenStored_Incomplete(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: filepath.Join(dir, "log")})
	for i := range 3 {
		if r := j.one("lab", fmt.Sprint("m-", i)); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	to := filepath.Join(dir, "copy")
	if err := j.Checkpoint(to); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, mark, want string
	}{
		{"complete", string(formatMark(3)), ""},
		{"lost entries", string(formatMark(5)), "2 entries are lost"},
		{"damaged mark", "meup acknowledged x", "is missing or damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(to, markFile), []byte(test.mark), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := OpenStored(to, nil)
			if test.want == "" {
				if err != nil || s.Entries != 3 || s.Close() != nil {
					t.Errorf("got %+v, %v", s, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := OpenStored(t.TempDir(), nil); err == nil {
		t.Error("an empty folder is a log")
	}
}

// A restored log has another id, also on a file system that does not show that the
// folder is a copy.
func TestOpen_Restored(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir})
	if r := j.one("lab", "m-1"); r.Err != nil {
		t.Fatal(r.Err)
	}
	old := j.logID
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, Options{Dir: dir, Restored: true})
	restored := j.logID
	if restored == old {
		t.Error("the id is the same")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, Options{Dir: dir})
	defer j.Close()
	if j.logID != restored || len(read(t, j, "lab")) != 1 {
		t.Errorf("opened again, the log is %s with %d entries, before %s", j.logID, len(read(t, j, "lab")), restored)
	}
}
