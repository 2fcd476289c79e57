package pebblejournal

import (
	"context"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestOnCommit_AllEntries(t *testing.T) {
	entries, bytes := 0, 0
	j := open(t, Options{OnCommit: func(e, b int, took time.Duration) {
		entries += e
		bytes += b
		if e <= 0 || b <= 0 || took < 0 {
			t.Errorf("OnCommit(%d, %d, %v)", e, b, took)
		}
	}})
	j.Append(context.Background(), "lab", []journal.Draft{newDraft("a"), newDraft("b")})
	j.one("lab", "a") // a retry
	j.one("other", "a")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if entries != 3 || bytes == 0 {
		t.Errorf("%d entries in %d bytes", entries, bytes)
	}
}

// The number of a dropped entry is not assigned again, even after a restart.
func TestAppend_NumbersAfterRetention(t *testing.T) {
	dir := t.TempDir()
	clock := func() time.Time { return time.Unix(1e9, 0) }
	o := Options{Dir: dir, Retention: journal.Retention{Age: time.Hour}, RetentionEvery: time.Millisecond, Clock: clock}
	j := open(t, o)
	for _, id := range []string{"a", "b", "c"} {
		j.one("lab", id) // timestamp in 1970
	}
	testkit.Eventually(t, "all is dropped", func() bool { return len(read(t, j, "lab")) == 0 })
	testkit.Eventually(t, "its size is known", func() bool { n, err := j.db.Size(); return n == 0 && err == nil })
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, Options{Dir: dir})
	defer j.Close()
	if oldest, newest, err := j.Bounds(context.Background(), "lab"); oldest != 4 || newest != 3 || err != nil {
		t.Errorf("Bounds = %d, %d, %v", oldest, newest, err)
	}
	if r := j.one("lab", "d"); r.Seq != protocol.Seq(4) {
		t.Errorf("%+v", r)
	}
}
