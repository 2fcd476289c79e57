package entrydb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// entry returns an entry with a timestamp seq seconds after start.
func entry(seq protocol.Seq, change ...func(*journal.Entry)) *journal.Entry {
	e := &journal.Entry{Envelope: protocol.Envelope{
		ID:      protocol.ID(fmt.Sprintf("id-%d", seq)),
		TS:      start.Add(time.Duration(seq) * time.Second),
		From:    "alice",
		Kind:    protocol.KindChat,
		Payload: json.RawMessage(`{"message":"hello"}`),
		Seq:     seq,
	}}
	for _, f := range change {
		f(e)
	}
	return e
}

func within(c protocol.ContextPath) func(*journal.Entry) {
	return func(e *journal.Entry) { e.Envelope.Context = c }
}

func state(e *journal.Entry) { e.State = true }

func open(t *testing.T, o Options) *DB {
	t.Helper()
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func put(t *testing.T, d *DB, space string, entries ...*journal.Entry) {
	t.Helper()
	b := d.NewBatch()
	for _, e := range entries {
		if err := b.Put(space, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
}

// seqs runs a query and returns the Seqs of its results.
func seqs(t *testing.T, d *DB, space string, q journal.Query) []protocol.Seq {
	t.Helper()
	var found []protocol.Seq
	for e, err := range d.Range(context.Background(), space, q) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, e.Envelope.Seq)
	}
	return found
}

func wantSeqs(t *testing.T, d *DB, space string, q journal.Query, want ...protocol.Seq) {
	t.Helper()
	if got := seqs(t, d, space, q); !reflect.DeepEqual(got, want) {
		t.Errorf("Range(%q, %+v) = %v, want %v", space, q, got, want)
	}
}

func wantBounds(t *testing.T, d *DB, space string, oldest, newest protocol.Seq) {
	t.Helper()
	o, n, err := d.Bounds(space)
	if err != nil {
		t.Fatal(err)
	}
	if o != oldest || n != newest {
		t.Errorf("Bounds(%q) = %d, %d, want %d, %d", space, o, n, oldest, newest)
	}
}

func TestDB_Indexes(t *testing.T) {
	d := open(t, Options{})
	put(t, d, "lab",
		entry(1),
		entry(2, within("msg-3")),
		entry(3, within("msg-301")),
		entry(4, within("msg-3/a/b"), state),
		entry(9, state))
	put(t, d, "la", entry(5))
	put(t, d, "labs", entry(6))

	wantSeqs(t, d, "lab", journal.Query{}, 1, 2, 3, 4, 9)
	wantSeqs(t, d, "lab", journal.Query{Backwards: true, Limit: 2}, 9, 4)
	wantSeqs(t, d, "lab", journal.Query{After: 2, Before: 9}, 3, 4)
	wantSeqs(t, d, "lab", journal.Query{After: 4, Before: 5})
	wantSeqs(t, d, "lab", journal.Query{Context: "msg-3"}, 2, 4)
	wantSeqs(t, d, "lab", journal.Query{Context: "msg-3", Backwards: true}, 4, 2)
	wantSeqs(t, d, "lab", journal.Query{Context: "msg-3/a"}, 4)
	wantSeqs(t, d, "lab", journal.Query{Context: "msg-3/b"})
	wantSeqs(t, d, "lab", journal.Query{StateOnly: true}, 4, 9)
	wantSeqs(t, d, "lab", journal.Query{StateOnly: true, Context: "msg-3"}, 4)
	wantSeqs(t, d, "la", journal.Query{}, 5)
	wantSeqs(t, d, "nobody", journal.Query{})
	wantBounds(t, d, "lab", 1, 9)
	wantBounds(t, d, "nobody", 0, 0)

	if seq, err := d.LastState("lab"); seq != 9 || err != nil {
		t.Errorf("LastState = %d, %v", seq, err)
	}
	spaces, err := d.Spaces()
	if err != nil || !reflect.DeepEqual(spaces, []string{"la", "lab", "labs"}) {
		t.Errorf("Spaces = %q, %v", spaces, err)
	}
	e, err := d.Lookup("lab", "id-4")
	if err != nil || !reflect.DeepEqual(e, entry(4, within("msg-3/a/b"), state)) {
		t.Errorf("Lookup = %+v, %v", e, err)
	}
	if _, err := d.Lookup("la", "id-4"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Lookup in another space: %v", err)
	}
	if ref, err := d.ref("lab", idKey(nil, "lab", "id-9")); ref != (Ref{9, "alice"}) || err != nil {
		t.Errorf("ref = %+v, %v", ref, err)
	}
	if ref, err := d.ref("lab", idKey(nil, "lab", "id-5")); ref != (Ref{}) || err != nil {
		t.Errorf("ref of an unknown id = %+v, %v", ref, err)
	}
}

func TestMeta_Atomic(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	b := d.NewBatch()
	if !b.Empty() {
		t.Error("a new batch is not empty")
	}
	if err := b.Put("lab", entry(1)); err != nil {
		t.Fatal(err)
	}
	b.SetMeta("position", []byte("17"))
	if b.Empty() {
		t.Error("a filled batch is empty")
	}
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	d = open(t, Options{Dir: dir})
	wantSeqs(t, d, "lab", journal.Query{}, 1)
	if v, err := d.Meta("position"); string(v) != "17" || err != nil {
		t.Errorf("Meta = %q, %v", v, err)
	}
	if v, err := d.Meta("pos"); v != nil || err != nil {
		t.Errorf("absent Meta = %q, %v", v, err)
	}
}

// A slow consumer must not prevent closing the database, and an early break
// must not leave resources open.
func TestRange_SlowConsumer(t *testing.T) {
	d, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*journal.Entry
	for seq := protocol.Seq(1); seq <= 3*firstChunk; seq++ {
		all = append(all, entry(seq))
	}
	put(t, d, "lab", all...)
	n := 0
	var last error
	for _, err := range d.Range(context.Background(), "lab", journal.Query{}) {
		n++
		if n == 1 {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	if !errors.Is(last, journal.ErrUnavailable) {
		t.Errorf("last error is %v after %d entries", last, n)
	}
	if err := d.NewBatch().Commit(true); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("Commit after Close: %v", err)
	}
}

func TestRange_Chunks(t *testing.T) {
	d := open(t, Options{})
	const n = 3 * lastChunk
	var all []*journal.Entry
	for seq := protocol.Seq(1); seq <= n; seq++ {
		all = append(all, entry(seq, within(protocol.ContextPath(fmt.Sprintf("c%d/d", seq%2)))))
	}
	put(t, d, "lab", all...)
	up := seqs(t, d, "lab", journal.Query{})
	down := seqs(t, d, "lab", journal.Query{Backwards: true})
	odd := seqs(t, d, "lab", journal.Query{Context: "c1", Limit: n/2 - 1})
	if len(up) != n || len(down) != n || len(odd) != n/2-1 {
		t.Fatalf("lengths %d, %d, %d", len(up), len(down), len(odd))
	}
	for i := range up {
		if up[i] != protocol.Seq(i+1) || down[i] != protocol.Seq(n-i) {
			t.Fatalf("at %d: %d and %d", i, up[i], down[i])
		}
		if i < len(odd) && odd[i] != protocol.Seq(2*i+1) {
			t.Fatalf("at %d of c1: %d", i, odd[i])
		}
	}
}

func TestRange_Canceled(t *testing.T) {
	d := open(t, Options{})
	put(t, d, "lab", entry(1), entry(2), entry(3))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var got []protocol.Seq
	var last error
	for e, err := range d.Range(ctx, "lab", journal.Query{}) {
		last = err
		if err == nil {
			got = append(got, e.Envelope.Seq)
		}
		cancel()
	}
	if len(got) != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("got %v, then %v", got, last)
	}
}
