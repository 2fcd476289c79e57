package natsjournal

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestGuards_Cut(t *testing.T) {
	r := openTestReplica(t)
	db := r.db
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
		rows := make(guards)
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
		gotSafe, gotRemove, err := r.PurgeBound(space, upTo)
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
	if err := r.Purged("a", 51, []uint64{40}); err != nil {
		t.Fatal(err)
	}
	check("a", 11, 11)
	check("a", 61, 60)
	check("b", 15, 1)
}

// The cost of a rejected draft depends neither on the number of spaces with one
// nor on the number of earlier ones.
func TestGuards_CostOfManySpaces(t *testing.T) {
	testkit.OneGoroutine(t)
	for _, spaces := range []int{1000, 5000} {
		t.Run(fmt.Sprint(spaces), func(t *testing.T) {
			r := openTestReplica(t)
			s := r.NewStream("MEUP_00", slog.New(slog.DiscardHandler), ignore{})
			calls := func() block {
				return block{Calls: [][]*journal.Draft{{{Envelope: protocol.Envelope{
					ID: "x", From: "alice", Kind: protocol.KindChat, Payload: []byte(`{"message":"x"}`),
				}}}}}
			}
			began := testkit.CPUTime(t)
			seq := uint64(0)
			for round := range 4 { // an entry, and three retries of it
				for i := 0; i < spaces; i += 50 {
					var messages []appliedMessage
					for k := range 50 {
						seq++
						messages = append(messages, appliedMessage{Seq: seq, Space: fmt.Sprintf("space-%d", i+k), Block: calls()})
					}
					p := s.newPass()
					for _, it := range messages {
						if err := p.add(it); err != nil {
							t.Fatal(err)
						}
					}
					if err := p.guards.write(r.db, p.batch); err != nil {
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
			used := testkit.CPUTime(t) - began
			t.Logf("%d refused drafts took %s of CPU", 3*spaces, used)
			if testkit.IsSlow() && used > 20*time.Second {
				t.Error("that is too much")
			}
			rows := 0 // all that a later refused draft can have to read
			err := r.db.ScanMeta(string(guardEntry), string(guardEntry)+"\xff", false, func(string, []byte) bool { rows++; return true })
			if err != nil || rows != spaces {
				t.Errorf("%d guards of %d spaces, %v", rows, spaces, err)
			}
			if safe, _, err := r.PurgeBound("space-7", uint64(spaces)); safe != 8 || err != nil {
				t.Errorf("cut at %d, %v", safe, err)
			}
		})
	}
}

// ignore is a sink without effects.
type ignore struct{}

func (ignore) Applied(uint64, []appliedBlock, bool) {}
func (ignore) Trimmed(string, uint64)               {}

// openTestReplica opens an empty, complete replica.
func openTestReplica(t *testing.T) *replica {
	t.Helper()
	r, err := openReplica(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	r.Complete()
	return r
}
