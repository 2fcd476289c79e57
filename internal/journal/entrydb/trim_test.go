package entrydb

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// maxSeq is beyond every entry.
const maxSeq = protocol.Seq(1 << 40)

func trim(t *testing.T, d *DB, space string, before protocol.Seq) int {
	t.Helper()
	n, err := d.Trim(space, before, TrimHooks{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func size(t *testing.T, d *DB) int64 {
	t.Helper()
	n, err := d.Size()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTrim_StateEntries(t *testing.T) {
	d := open(t, Options{})
	put(t, d, "lab",
		entry(1, within("a")), entry(2, state, within("a")), entry(3, within("a/b")),
		entry(4, within("a")), entry(5))
	put(t, d, "labs", entry(1))

	if n := trim(t, d, "lab", 4); n != 2 {
		t.Errorf("dropped %d, want 2", n)
	}
	wantSeqs(t, d, "lab", journal.Query{}, 2, 4, 5)
	wantSeqs(t, d, "lab", journal.Query{Context: "a"}, 2, 4)
	wantSeqs(t, d, "lab", journal.Query{Context: "a/b"})
	wantSeqs(t, d, "lab", journal.Query{StateOnly: true}, 2)
	wantSeqs(t, d, "labs", journal.Query{}, 1)
	wantBounds(t, d, "lab", 4, 5)
	if _, err := d.Lookup("lab", "id-3"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Lookup of a dropped entry: %v", err)
	}
	if _, err := d.Lookup("lab", "id-2"); err != nil {
		t.Errorf("Lookup of a kept entry: %v", err)
	}
	if n := trim(t, d, "lab", 4); n != 0 {
		t.Errorf("dropped %d the second time", n)
	}
}

func TestTrim_Everything(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, "lab", entry(1, state), entry(2), entry(3))
	trim(t, d, "lab", maxSeq)
	wantBounds(t, d, "lab", 4, 3)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, Options{Dir: dir})
	wantBounds(t, d, "lab", 4, 3)
	wantSeqs(t, d, "lab", journal.Query{}, 1)
	put(t, d, "lab", entry(4))
	wantBounds(t, d, "lab", 4, 4)
}

func TestTrim_Chunks(t *testing.T) {
	d := open(t, Options{})
	const n = 2*trimChunk + 5
	b := d.NewBatch()
	for seq := protocol.Seq(1); seq <= n; seq++ {
		if err := b.Put("lab", entry(seq)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
	if dropped := trim(t, d, "lab", n); dropped != n-1 {
		t.Errorf("dropped %d", dropped)
	}
	wantSeqs(t, d, "lab", journal.Query{}, n)
}

// The size must return to its previous value, or retention would drift.
func TestSize_PutAndTrim(t *testing.T) {
	d := open(t, Options{})
	put(t, d, "lab", entry(1, state, within("x/y")))
	kept := size(t, d)
	if kept <= 0 {
		t.Fatalf("size is %d", kept)
	}
	put(t, d, "lab", entry(300, within("a/b/c")), entry(301, within("a")))
	put(t, d, "labs", entry(7, within("a/b")), entry(9))
	if size(t, d) <= kept {
		t.Error("size did not grow")
	}
	trim(t, d, "labs", maxSeq)
	trim(t, d, "lab", maxSeq)
	if got := size(t, d); got != kept {
		t.Errorf("size is %d with the state entry alone, want %d", got, kept)
	}
}

func wantPlan(t *testing.T, d *DB, ret journal.Retention, now time.Time, want map[string]protocol.Seq) {
	t.Helper()
	got, err := d.TrimPlan(ret, now)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("TrimPlan(%+v) = %v, want %v", ret, got, want)
	}
}

func TestTrimPlan(t *testing.T) {
	d := open(t, Options{})
	put(t, d, "a", entry(1), entry(2, state), entry(30), entry(40))
	put(t, d, "b", entry(10), entry(20), entry(50))
	put(t, d, "c", entry(60, state))
	now := start.Add(60 * time.Second)
	all := size(t, d)

	wantPlan(t, d, journal.Retention{}, now, nil)
	wantPlan(t, d, journal.Retention{Age: time.Hour, Bytes: all}, now, nil)
	wantPlan(t, d, journal.Retention{Age: 35 * time.Second}, now,
		map[string]protocol.Seq{"a": 2, "b": 21})
	wantPlan(t, d, journal.Retention{Age: time.Nanosecond}, now,
		map[string]protocol.Seq{"a": 41, "b": 51})
	wantPlan(t, d, journal.Retention{Bytes: 1}, now,
		map[string]protocol.Seq{"a": 41, "b": 51})
	// One excess byte costs the oldest entry, regardless of its space.
	wantPlan(t, d, journal.Retention{Bytes: all - 1}, now, map[string]protocol.Seq{"a": 2})

	trim(t, d, "a", 2)
	wantPlan(t, d, journal.Retention{Bytes: size(t, d) - 1}, now, map[string]protocol.Seq{"b": 11})
	// Entries dropped by age count towards the bytes.
	wantPlan(t, d, journal.Retention{Age: 35 * time.Second, Bytes: size(t, d) - 1}, now,
		map[string]protocol.Seq{"b": 21})
}

// The hooks receive every dropped entry, no others, and each batch.
func TestTrim_Hooks(t *testing.T) {
	d := open(t, Options{})
	var want []string
	for seq := protocol.Seq(1); seq <= trimChunk+10; seq++ {
		e := entry(seq)
		if seq == 5 {
			e = entry(seq, state)
		} else {
			want = append(want, string(journal.AppendEntry(nil, e)))
		}
		put(t, d, "lab", e)
	}
	put(t, d, "lab", entry(trimChunk+11))
	var got []string
	batches := 0
	n, err := d.Trim("lab", trimChunk+11, TrimHooks{
		Dropped: func(encoded []byte) { got = append(got, string(encoded)) },
		Commit: func(b *Batch) {
			batches++
			b.SetMeta("dropped", []byte(strconv.Itoa(len(got))))
		},
	})
	if err != nil || n != len(want) || !slices.Equal(got, want) {
		t.Errorf("%d dropped, hook called for %d, want %d; %v", n, len(got), len(want), err)
	}
	if meta, err := d.Meta("dropped"); err != nil || string(meta) != strconv.Itoa(n) || batches != 2 {
		t.Errorf("meta %q after %d batches, %v", meta, batches, err)
	}
}

// The entries that another gateway drops while they are folded are in its base.
func TestNextBase_DroppedMeanwhile(t *testing.T) {
	d := open(t, Options{})
	put(t, d, "lab", entry(1), entry(2), entry(3), entry(4))
	rounds := 0
	fold := func(_ context.Context, _ string, base []byte, dropped iter.Seq2[*journal.Entry, error]) ([]byte, error) {
		rounds++
		if rounds == 1 {
			b := d.NewBatch()
			b.PutBase("lab", journal.Base{Data: []byte("id-1 id-2"), Before: 3})
			if err := b.Commit(false); err != nil {
				return nil, err
			}
			trim(t, d, "lab", 3)
		}
		for e, err := range dropped {
			if err != nil {
				return nil, err
			}
			base = append(base, " "+string(e.Envelope.ID)...)
		}
		return base, nil
	}
	base, err := d.NextBase(t.Context(), "lab", 4, fold)
	if err != nil || string(base.Data) != "id-1 id-2 id-3" || base.Before != 4 {
		t.Errorf("%q before %d, %v", base.Data, base.Before, err)
	}
	base, err = d.NextBase(t.Context(), "lab", 3, fold)
	if err != nil || base.Before != 0 || rounds != 2 {
		t.Errorf("a base that there is: %+v after %d rounds, %v", base, rounds, err)
	}
}
