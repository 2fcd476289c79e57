package journaltest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

func wantStale(t *testing.T, what string, r journal.Result) {
	t.Helper()
	if !errors.Is(r.Err, journal.ErrStale) || r.Seq != 0 || r.Retry {
		t.Errorf("%s: %+v, want ErrStale", what, r)
	}
}

func testBasisCoversLastState(t *testing.T, s *subject) {
	first := s.must(t, "lab", draft("s-1", state))[0]
	wantStale(t, "no basis", s.append("lab", draft("m-1"))[0])
	second := s.must(t, "lab", draft("s-2", state, checkedAt(first)))[0]
	wantStale(t, "old basis", s.append("lab", draft("m-1", checkedAt(first)))[0])
	wantStale(t, "state entry with an old basis", s.append("lab", draft("s-3", state, checkedAt(first)))[0])
	last := s.must(t, "lab", draft("m-1", checkedAt(second)), draft("m-2", checkedAt(second+100)))
	// Entries that are no state entries make no draft stale.
	s.must(t, "lab", draft("m-3", checkedAt(second)))
	// A retry needs no check.
	if r := s.append("lab", draft("m-1"))[0]; !r.Retry || r.Seq != last[0] {
		t.Errorf("retry with an old basis: %+v", r)
	}
}

func testStaleDraftStopsItsCall(t *testing.T, s *subject) {
	now := s.must(t, "lab", draft("s-1", state))[0]
	r := s.append("lab", draft("m-1", checkedAt(now)), draft("m-2"), draft("m-3", checkedAt(now)), draft("m-1", checkedAt(now)))
	if r[0].Err != nil {
		t.Errorf("before the stale one: %+v", r[0])
	}
	for i := 1; i < 4; i++ {
		wantStale(t, fmt.Sprintf("draft %d", i), r[i])
	}
	s.want(t, "lab", journal.Query{}, now, r[0].Seq)
	// After another check they are admitted.
	s.must(t, "lab", draft("m-2", checkedAt(now)), draft("m-3", checkedAt(now)))
}

func testStateMakesTheRestOfItsCallStale(t *testing.T, s *subject) {
	r := s.append("lab", draft("m-1"), draft("s-1", state), draft("m-2"), draft("m-3"))
	if r[0].Err != nil || r[1].Err != nil {
		t.Fatalf("up to the state entry: %+v", r[:2])
	}
	wantStale(t, "behind it", r[2])
	wantStale(t, "last", r[3])
	s.want(t, "lab", journal.Query{}, r[0].Seq, r[1].Seq)
}

func testBasisIsOfOneSpace(t *testing.T, s *subject) {
	s.must(t, "lab", draft("s-1", state))
	s.must(t, "other", draft("m-1"))
}

// testConcurrentState: of all drafts that were checked before a state entry,
// the ones after it are rejected, regardless of the caller.
func testConcurrentState(t *testing.T, s *subject) {
	var last protocol.Seq
	for round := range 20 {
		var drafts []journal.Draft
		for i := range 6 {
			d := draft(protocol.ID(fmt.Sprintf("m-%d-%d", round, i)), checkedAt(last))
			d.State = i%3 == 0
			drafts = append(drafts, d)
		}
		results := s.atOnce(drafts...)
		admitted := last
		for i, r := range results {
			if drafts[i].State && r.Err == nil {
				if admitted != last {
					t.Fatal("two state entries with the same basis")
				}
				admitted = r.Seq
			}
		}
		if admitted == last {
			t.Fatalf("no state entry was admitted: %+v", results)
		}
		for i, r := range results {
			if r.Err == nil && r.Seq > admitted {
				t.Errorf("draft %d is behind a state entry that it does not know", i)
			}
			if r.Err != nil {
				wantStale(t, "refused draft", r)
			}
		}
		last = admitted
	}
}
