package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// session opens the journal of dir, lets f use it and closes it.
func session(t *testing.T, open func(*testing.T, string) journal.Journal, dir string, f func(*subject)) {
	t.Helper()
	j := open(t, dir)
	s := &subject{Journal: j, sink: sinkRecorder{spaces: map[string][]*journal.Entry{}}}
	j.Follow(s.sink.add, nil)
	f(s)
	if err := j.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func testReopenKeepsEverything(t *testing.T, open func(*testing.T, string) journal.Journal) {
	dir := t.TempDir()
	var want []*journal.Entry
	var id string
	for round := range 3 {
		session(t, open, dir, func(s *subject) {
			if got := logID(t, s); round > 0 && got != id {
				t.Errorf("round %d: log id %q, was %q", round, got, id)
			} else {
				id = got
			}
			got := s.read(t, "lab", journal.Query{})
			if !slices.EqualFunc(got, want, same) {
				t.Fatalf("round %d: %d entries, want %d, or they differ", round, len(got), len(want))
			}
			for i := range 50 {
				d := draft(protocol.ID(fmt.Sprintf("m-%d-%d", round, i)), within("a/b"))
				want = append(want, entryOf(d, s.must(t, "lab", d)[0]))
			}
			seqs := seqsOf(want)
			if !slices.IsSorted(seqs) {
				t.Fatalf("round %d: numbers went back: %v", round, seqs)
			}
			s.want(t, "lab", journal.Query{Context: "a"}, seqs...)
			if n := len(s.sink.of("lab")); n != 50 {
				t.Errorf("the sink was given %d entries; those of before are none of its business", n)
			}
		})
	}
}

func testReopenKeepsTheRules(t *testing.T, open func(*testing.T, string) journal.Journal) {
	dir := t.TempDir()
	var seqs []protocol.Seq
	session(t, open, dir, func(s *subject) {
		seqs = s.must(t, "lab", draft("m-1", settles("p-1")), draft("s-1", state))
	})
	session(t, open, dir, func(s *subject) {
		if r := s.append("lab", draft("m-1"))[0]; !r.Retry || r.Seq != seqs[0] {
			t.Errorf("retry: %+v", r)
		}
		if r := s.append("lab", draft("m-1", from("bob")))[0]; !errors.Is(r.Err, journal.ErrDuplicateID) {
			t.Errorf("duplicate: %+v", r)
		}
		wantStale(t, "old basis", s.append("lab", draft("m-2"))[0])
		wantSettled(t, "decided before", s.append("lab", draft("m-9", checkedAt(seqs[1]), settles("p-1")))[0], "alice", seqs[0])
		next := s.must(t, "lab", draft("m-2", checkedAt(seqs[1])))
		s.want(t, "lab", journal.Query{}, seqs[0], seqs[1], next[0])
		oldest, newest, err := s.Bounds(context.Background(), "lab")
		if oldest != seqs[0] || newest != next[0] || err != nil {
			t.Errorf("Bounds = %d, %d, %v", oldest, newest, err)
		}
		spaces, err := s.Spaces(context.Background())
		if err != nil || !slices.Equal(spaces, []string{"lab"}) {
			t.Errorf("Spaces = %q, %v", spaces, err)
		}
	})
}
