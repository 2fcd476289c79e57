package natsjournal

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
)

func TestGuards_Cut(t *testing.T) {
	db, err := entrydb.Open(entrydb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	// A separate pass writes each inner list.
	for _, pass := range [][]struct {
		space    string
		from, to uint64
		state    bool
	}{
		{{"a", 10, 10, false}, {"a", 10, 20, false}, {"b", 1, 15, false}, {"a", 18, 22, false}},
		{{"a", 20, 30, false}, {"a", 5, 40, true}, {"a-1", 1, 99, false}, {"a", 40, 45, false}, {"a", 44, 47, false}},
		{{"a", 41, 50, false}, {"a", 60, 62, false}, {"b", 90, 100, false}},
		{{"a", 60, 62, false}}, // applied again after a failure
	} {
		var rows guardRows
		for _, g := range pass {
			rows.record(g.space, g.from, g.to, g.state)
		}
		b := db.NewBatch()
		if err := rows.write(db, b); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(false); err != nil {
			t.Fatal(err)
		}
	}
	check := func(space string, upTo, safe uint64, remove ...uint64) {
		t.Helper()
		gotSafe, gotRemove, err := purgeBound(db, space, upTo)
		if err != nil || gotSafe != safe || !slices.Equal(gotRemove, remove) {
			t.Errorf("cut(%s, %d) = %d %v, want %d %v; %v", space, upTo, gotSafe, gotRemove, safe, remove, err)
		}
	}
	check("a", 4, 4)
	check("a", 10, 10, 40)
	check("a", 11, 10, 40)
	check("a", 25, 10, 40)
	check("a", 30, 10, 40)
	check("a", 31, 31, 40)
	check("a", 46, 40, 40)
	check("a", 50, 40, 40)
	check("a", 61, 60, 40)
	check("a", 70, 70, 40)
	check("b", 15, 1)
	check("b", 16, 16)
	check("c", 16, 16)
	if err := dropGuards(db, "a", 51, []uint64{40}); err != nil {
		t.Fatal(err)
	}
	check("a", 11, 11)
	check("a", 61, 60)
	check("b", 15, 1)
}

// The cost of a rejected draft depends neither on the number of spaces with one
// nor on the number of earlier ones.
func TestGuards_CostOfManySpaces(t *testing.T) {
	for _, spaces := range []int{1000, 5000} {
		t.Run(fmt.Sprint(spaces), func(t *testing.T) {
			db, err := entrydb.Open(entrydb.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			s := &stream{name: "MEUP_00", comparable: notComparable, j: &Journal{
				replica: &replica{db: db}, deliveries: make(chan delivery, 1), log: testLog(t),
			}}
			var drained sync.WaitGroup
			drained.Go(s.j.deliver)
			t.Cleanup(func() { close(s.j.deliveries); drained.Wait() })
			calls := func(id string) block {
				return block{calls: [][]*journal.Draft{{{Envelope: chat(id, "alice").Envelope}}}}
			}
			began := cpuTime(t)
			seq := uint64(0)
			for round := range 4 { // an entry, and three retries of it
				for i := 0; i < spaces; i += 50 {
					var items []item
					for k := range 50 {
						seq++
						items = append(items, item{seq: seq, space: fmt.Sprintf("space-%d", i+k), block: calls("x")})
					}
					p := s.newPass()
					for _, it := range items {
						if err := p.add(it); err != nil {
							t.Fatal(err)
						}
					}
					if err := p.guards.write(db, p.batch); err != nil {
						t.Fatal(err)
					}
					if n := p.batch.Bytes(); round > 0 && n > 50*400 {
						t.Fatalf("a pass with 50 refused drafts writes %d bytes", n)
					}
					if err := p.commit(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if used := cpuTime(t) - began; used > 20*time.Second {
				t.Errorf("%d refused drafts took %s of CPU", 3*spaces, used)
			} else {
				t.Logf("%d refused drafts took %s of CPU", 3*spaces, used)
			}
			if safe, _, err := purgeBound(db, "space-7", uint64(spaces)); safe != 8 || err != nil {
				t.Errorf("cut at %d, %v", safe, err)
			}
		})
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
