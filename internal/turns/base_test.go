package turns

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/protocol"
)

// withoutError yields entries like a log.
func withoutError(list []Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func foldOf(t rapid.TB, base []byte, list []Entry) []byte {
	t.Helper()
	base, err := Fold(context.Background(), "lab", base, withoutError(list))
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// openAfter returns a Tracker without an index that goes on after a base.
func openAfter(t rapid.TB, base []byte, reader Reader, rows Rows) *Tracker {
	t.Helper()
	if err := LoadBase(rows, base); err != nil {
		t.Fatal(err)
	}
	return open(t, Options{Reader: reader, Rows: rows})
}

// TestFold_SameNumbers: an index that is built from a base and the rest of the log has
// the threads and numbers of one that has applied all of it, in however many steps the
// log was dropped.
func TestFold_SameNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := drawLog(rt)
		var base []byte
		cut := 0
		for range rapid.IntRange(0, 3).Draw(rt, "steps") {
			next := rapid.IntRange(cut, len(log.entries)-1).Draw(rt, "cut")
			base = foldOf(rt, base, log.entries[cut:next])
			cut = next
		}
		oldest := log.entries[cut].Envelope.Seq
		reader := broken{log, nil, oldest}
		whole := open(rt, Options{Reader: reader, Rows: newCrashRows()})
		apply(whole, log.entries)
		if err := whole.Trim(oldest); err != nil {
			rt.Fatal(err)
		}
		built := openAfter(rt, base, reader, newCrashRows())
		apply(built, log.entries[cut:])
		want, _ := whole.Threads(MaxPage, 0, Viewer{})
		got, _ := built.Threads(MaxPage, 0, Viewer{})
		if marshal(t, got) != marshal(t, want) {
			rt.Fatalf("got %s\nwant %s", marshal(t, got), marshal(t, want))
		}
		for _, th := range want {
			want, _ := whole.History(t.Context(), th.ThreadID, MaxPage, 0, Viewer{})
			got, err := built.History(t.Context(), th.ThreadID, MaxPage, 0, Viewer{})
			if err != nil || marshal(t, got) != marshal(t, want) {
				rt.Fatalf("%v, got\n%s\nwant\n%s", err, marshal(t, got), marshal(t, want))
			}
		}
	})
}

// TestFold_Bounds: a base has a bounded size, and the entries of one step do not make the
// memory of a Fold grow. Threads that were not used for long are forgotten, others not.
func TestFold_Bounds(t *testing.T) {
	log := new(memoryLog)
	var base []byte
	chat := func(id, answers string) protocol.Envelope {
		e := protocol.Envelope{ID: protocol.ID(id), From: "alice", Kind: protocol.KindChat, Payload: []byte(`{"message":"and?"}`)}
		if answers != "" {
			e.Correlation = protocol.CorrelateTo(protocol.ID(answers))
		}
		return e
	}
	var sizes []int
	for step := range 4 {
		from := len(log.entries)
		for n := range 3000 {
			last := fmt.Sprintf("%d-%d", step, n-1)
			switch {
			case n%100 == 0: // the long thread goes on
				log.add(chat(fmt.Sprintf("long-%d-%d", step, n), map[bool]string{true: "long-0-0"}[step+n > 0]))
			case n%10 == 1 || step == 3: // of one chat each
				log.add(chat(fmt.Sprintf("%d-%d", step, n), ""))
			default:
				log.add(chat(fmt.Sprintf("%d-%d", step, n), last))
			}
		}
		base = foldOf(t, base, log.entries[from:])
		sizes = append(sizes, len(base))
	}
	if sizes[2] > sizes[1]+sizes[1]/4 || sizes[3] > 512<<10 {
		t.Errorf("sizes %d", sizes)
	}
	if atOnce := foldOf(t, nil, log.entries); len(atOnce) > sizes[3]+sizes[3]/4 {
		t.Errorf("%d bytes in one step, %d in several", len(atOnce), sizes[3])
	}
	p := openAfter(t, base, log, newCrashRows())
	if n := len(p.opts.Rows.(*crashRows).Rows); n > 3*2*baseIDs {
		t.Errorf("%d rows", n)
	}
	p.Apply(t.Context(), log.add(chat("on", "long-3-2900")))
	if key, ok := p.TurnOf("on"); !ok || key.Thread != "long-0-0" || key.Turn != 121 {
		t.Errorf("the long thread: %+v, %t", key, ok)
	}
	p.Apply(t.Context(), log.add(chat("old", "0-17")))
	if key, ok := p.TurnOf("old"); !ok || key.Thread != "old" || key.Turn != 1 {
		t.Errorf("a thread of long ago: %+v, %t", key, ok)
	}
}

// TestFold_ReadFails: the error of the log is the result.
func TestFold_ReadFails(t *testing.T) {
	failed := errors.New("disk")
	_, err := Fold(t.Context(), "lab", nil, func(yield func(Entry, error) bool) { yield(Entry{}, failed) })
	if !errors.Is(err, failed) {
		t.Error(err)
	}
}

// TestLoadBase_Unreadable: a base that cannot be read sets no row, and Fold begins anew.
func TestLoadBase_Unreadable(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 3, 1)
	good := foldOf(t, nil, log.entries)
	rows := newMemoryRows()
	_ = rows.Set([]byte("x"), []byte("y"))
	for name, bad := range map[string][]byte{
		"version":     append([]byte{baseVersion + 1}, good[1:]...),
		"cut":         good[:len(good)/2],
		"foreign row": encodeBase(rows),
	} {
		t.Run(name, func(t *testing.T) {
			rows := newMemoryRows()
			if err := LoadBase(rows, bad); !errors.Is(err, errBase) || len(rows.Rows) > 0 {
				t.Errorf("%v, %d rows", err, len(rows.Rows))
			}
			if name == "version" { // of a newer gateway, which has to go on with it
				if _, err := Fold(t.Context(), "lab", bad, func(func(Entry, error) bool) {}); !errors.Is(err, errNewerBase) {
					t.Error(err)
				}
				return
			}
			if got := foldOf(t, bad, log.entries); len(got) == 0 {
				t.Error("no base")
			}
		})
	}
}

// TestFold_DamagedRows: a base with a row that cannot be decoded does not stop a Fold.
func TestFold_DamagedRows(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 3, 1)
	rows := newMemoryRows()
	if err := LoadBase(rows, foldOf(t, nil, log.entries)); err != nil {
		t.Fatal(err)
	}
	more := len(log.entries)
	workday(log, "b", 1, 1)
	log.add(protocol.Envelope{ID: "on", From: "alice", Kind: protocol.KindChat, Correlation: protocol.CorrelateTo("a-w2"), Payload: []byte(`{"message":"and?"}`)})
	for key := range rows.Rows {
		damaged := rows.Copy()
		_ = damaged.Set([]byte(key), []byte{0xff})
		base := foldOf(t, encodeBase(damaged), log.entries[more:])
		base = foldOf(t, base, log.entries[more:]) // also if that gave none
		if err := LoadBase(newMemoryRows(), base); err != nil {
			t.Errorf("row %q: %v", key, err)
		}
	}
}

func FuzzLoadBase(f *testing.F) {
	log := new(memoryLog)
	workday(log, "a", 3, 1)
	good := foldOf(f, nil, log.entries)
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add([]byte{baseVersion})
	f.Fuzz(func(t *testing.T, base []byte) {
		if err := LoadBase(newMemoryRows(), base); err != nil && !errors.Is(err, errBase) {
			t.Error(err)
		}
	})
}
