package journaltest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

func wantSettled(t *testing.T, what string, r journal.Result, by protocol.ParticipantID, at protocol.Seq) {
	t.Helper()
	var settled *journal.SettledError
	if !errors.As(r.Err, &settled) || r.Seq != 0 || r.Retry {
		t.Errorf("%s: %+v, want a SettledError", what, r)
		return
	}
	if settled.By != by || settled.Seq != at {
		t.Errorf("%s: settled by %s in %d, want %s in %d", what, settled.By, settled.Seq, by, at)
	}
}

func testFirstDecisionWins(t *testing.T, s *subject) {
	first := s.must(t, "lab", draft("r-1", settles("p-1")))[0]
	wantSettled(t, "another sender", s.append("lab", draft("r-2", from("bob"), settles("p-1")))[0], "alice", first)
	wantSettled(t, "the same sender", s.append("lab", draft("r-3", settles("p-1")))[0], "alice", first)
	if r := s.append("lab", draft("r-1", settles("p-1")))[0]; !r.Retry || r.Seq != first {
		t.Errorf("retry of the decision: %+v", r)
	}
	// Other proposals, other spaces and entries without a decision are unaffected.
	s.must(t, "other", draft("r-1", settles("p-1")))
	last := s.must(t, "lab", draft("r-4", settles("p-2")), draft("p-1"), draft("m-1"))
	s.want(t, "lab", journal.Query{}, append([]protocol.Seq{first}, last...)...)
	// A rejected decision does not use up its id.
	s.must(t, "lab", draft("r-2", settles("p-3")))
	// An entry that is rejected as stale settles nothing.
	now := s.must(t, "lab", draft("s-1", state))[0]
	wantStale(t, "old basis", s.append("lab", draft("r-5", settles("p-4")))[0])
	s.must(t, "lab", draft("r-6", from("bob"), checkedAt(now), settles("p-4")))
}

func testFirstDecisionOfOneCallWins(t *testing.T, s *subject) {
	r := s.append("lab", draft("r-1", settles("p-1")), draft("r-2", settles("p-1")), draft("r-1", settles("p-1")), draft("m-1"))
	if r[0].Err != nil || r[0].Retry || r[3].Err != nil {
		t.Fatalf("got %+v", r)
	}
	wantSettled(t, "second of the call", r[1], "alice", r[0].Seq)
	if r[2] != (journal.Result{Seq: r[0].Seq, Retry: true}) {
		t.Errorf("retry in the call: %+v", r[2])
	}
	s.want(t, "lab", journal.Query{}, r[0].Seq, r[3].Seq)
}

// testConcurrentDecisions: of several concurrent decisions one wins, and the
// others receive its sender and seq.
func testConcurrentDecisions(t *testing.T, s *subject) {
	senders := []protocol.ParticipantID{"alice", "bob", "carol", "dave"}
	for round := range 30 {
		proposal := protocol.ID(fmt.Sprintf("p-%d", round))
		var drafts []journal.Draft
		for _, who := range senders {
			drafts = append(drafts, draft(protocol.ID(fmt.Sprintf("r-%d-%s", round, who)), from(who), settles(proposal)))
		}
		results := s.atOnce(drafts...)
		winner := -1
		for i, r := range results {
			if r.Err != nil {
				continue
			}
			if winner >= 0 {
				t.Fatalf("%s and %s have both decided", senders[winner], senders[i])
			}
			winner = i
		}
		if winner < 0 {
			t.Fatalf("no decision was admitted: %+v", results)
		}
		for i, r := range results {
			if i != winner {
				wantSettled(t, "a later decision", r, senders[winner], results[winner].Seq)
			}
		}
	}
	if n := len(s.sink.of("lab")); n != 30 {
		t.Errorf("the sink was given %d entries", n)
	}
}
