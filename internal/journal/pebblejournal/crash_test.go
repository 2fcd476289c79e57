package pebblejournal

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// acked records the acknowledged calls.
type acked struct {
	mu   sync.Mutex
	seqs map[protocol.ID]protocol.Seq
}

func (a *acked) add(id protocol.ID, seq protocol.Seq) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seqs[id] = seq
}

func (a *acked) copy() map[protocol.ID]protocol.Seq {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := make(map[protocol.ID]protocol.Seq, len(a.seqs))
	for id, seq := range a.seqs {
		m[id] = seq
	}
	return m
}

// TestPowerCut cuts the power repeatedly while callers append. Of the unsynced
// data, the file system keeps nothing, everything, or any part. After each cut
// the log has every acknowledged call, each call as a whole or not at all, and
// no entry that was not sent.
func TestPowerCut(t *testing.T) {
	fs := vfs.NewCrashableMem()
	j := open(t, Options{Dir: "log", FS: fs})
	acks := acked{seqs: map[protocol.ID]protocol.Seq{}}
	const calls = 20
	seeds := testkit.Rand(t)
	for cut := range 15 {
		before := len(acks.copy())
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range calls {
					acks.append(t, j, callOf(w, cut*calls+i))
				}
			})
		}
		testkit.Eventually(t, "callers get on", func() bool { return len(acks.copy()) > before+8*cut })
		sure := acks.copy()
		clone := fs.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: []int{0, 50, 100}[cut%3],
			RNG:                 rand.New(rand.NewPCG(seeds.Uint64(), 1)),
		})
		wg.Wait()
		checkAfterCut(t, clone, sure)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// append makes one call and records its result.
func (a *acked) append(t *testing.T, j *Journal, drafts []journal.Draft) {
	for k, r := range j.Append(context.Background(), "lab", drafts) {
		if r.Err != nil {
			t.Errorf("append: %v", r.Err)
		}
		a.add(drafts[k].Envelope.ID, r.Seq)
	}
}

// callOf returns the drafts of a call, one to three. An entry's id determines
// its content.
func callOf(w, i int) []journal.Draft {
	var drafts []journal.Draft
	for k := range 1 + i%3 {
		d := newDraft(fmt.Sprintf("m-%d-%d-%d", w, i, k))
		d.Envelope.TS = time.Unix(int64(i), 0).UTC()
		drafts = append(drafts, d)
	}
	return drafts
}

func checkAfterCut(t *testing.T, fs *vfs.MemFS, sure map[protocol.ID]protocol.Seq) {
	t.Helper()
	j := open(t, Options{Dir: "log", FS: fs})
	defer j.Close()
	calls := map[[2]int]int{}
	for i, e := range read(t, j, "lab") {
		seq := e.Envelope.Seq
		if seq != protocol.Seq(i+1) {
			t.Fatalf("entry %d has number %d", i, seq)
		}
		if want, ok := sure[e.Envelope.ID]; ok && want != seq {
			t.Errorf("%s was acknowledged as %d and is %d", e.Envelope.ID, want, seq)
		}
		delete(sure, e.Envelope.ID)
		var w, n, k int
		if _, err := fmt.Sscanf(string(e.Envelope.ID), "m-%d-%d-%d", &w, &n, &k); err != nil {
			t.Fatalf("nobody sent %s", e.Envelope.ID)
		}
		sent := entryOf(&callOf(w, n)[k], seq)
		if !bytes.Equal(journal.AppendEntry(nil, e), journal.AppendEntry(nil, sent)) {
			t.Errorf("entry %d is not what was sent: %+v", seq, e)
		}
		calls[[2]int{w, n}]++
		if i%20 > 0 { // a lookup is slow under the race detector
			continue
		}
		if found, err := j.Lookup(context.Background(), "lab", e.Envelope.ID); err != nil || found.Envelope.Seq != seq {
			t.Errorf("entry %d is not found by its id: %v", seq, err)
		}
	}
	if len(sure) > 0 {
		t.Errorf("%d acknowledged entries are lost", len(sure))
	}
	for call, n := range calls {
		if n != 1+call[1]%3 {
			t.Errorf("call %v is there in parts", call)
		}
	}
	if r := j.one("lab", "after"); r.Err != nil || r.Retry {
		t.Errorf("append after the cut: %+v", r)
	}
}
