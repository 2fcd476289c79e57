package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

func testRetryGetsTheFirstSeq(t *testing.T, s *subject) {
	seqs := s.must(t, "lab", draft("m-1"), draft("m-2"))
	again := draft("m-1")
	again.Envelope.Payload = []byte(`{"message":"changed"}`)
	r := s.append("lab", again, draft("m-3"))
	if r[0] != (journal.Result{Seq: seqs[0], Retry: true}) {
		t.Errorf("retry: %+v", r[0])
	}
	if r[1].Err != nil || r[1].Retry || r[1].Seq <= seqs[1] {
		t.Errorf("behind the retry: %+v", r[1])
	}
	s.want(t, "lab", journal.Query{}, seqs[0], seqs[1], r[1].Seq)
	if n := len(s.sink.of("lab")); n != 3 {
		t.Errorf("the sink was given %d entries", n)
	}
}

func testRetryWithinOneCall(t *testing.T, s *subject) {
	r := s.append("lab", draft("m-1"), draft("m-1"), draft("m-1", from("bob")), draft("m-2"))
	if r[0].Err != nil || r[0].Retry {
		t.Errorf("first: %+v", r[0])
	}
	if r[1] != (journal.Result{Seq: r[0].Seq, Retry: true}) {
		t.Errorf("again: %+v", r[1])
	}
	if !errors.Is(r[2].Err, journal.ErrDuplicateID) {
		t.Errorf("of another sender: %+v", r[2])
	}
	if r[3].Err != nil {
		t.Errorf("behind them: %+v", r[3])
	}
	s.want(t, "lab", journal.Query{}, r[0].Seq, r[3].Seq)
}

func testDuplicateOfAnotherSender(t *testing.T, s *subject) {
	seqs := s.must(t, "lab", draft("m-1"))
	r := s.append("lab", draft("m-1", from("bob")), draft("m-2", from("bob")))
	if !errors.Is(r[0].Err, journal.ErrDuplicateID) {
		t.Errorf("duplicate: %+v", r[0])
	}
	if r[1].Err != nil {
		t.Errorf("behind the duplicate: %+v", r[1])
	}
	s.want(t, "lab", journal.Query{}, seqs[0], r[1].Seq)
}

// testConcurrentDuplicates: of two senders that use one id at once, one wins,
// and both receive the correct result.
func testConcurrentDuplicates(t *testing.T, s *subject) {
	for i := range 30 {
		id := protocol.ID(fmt.Sprintf("m-%d", i))
		results := s.atOnce(draft(id), draft(id, from("bob")))
		won := 0
		for _, r := range results {
			switch {
			case r.Err == nil && !r.Retry:
				won++
			case !errors.Is(r.Err, journal.ErrDuplicateID):
				t.Errorf("loser got %+v", r)
			}
		}
		if won != 1 {
			t.Errorf("%d senders won", won)
		}
	}
	if n := len(s.read(t, "lab", journal.Query{})); n != 30 {
		t.Errorf("%d entries", n)
	}
}

// testConcurrentRetries: a sender that resends before the first result receives
// the same number, and the log has the entry once.
func testConcurrentRetries(t *testing.T, s *subject) {
	for i := range 30 {
		id := protocol.ID(fmt.Sprintf("m-%d", i))
		results := s.atOnce(draft(id), draft(id), draft(id))
		fresh := 0
		for _, r := range results {
			if r.Err != nil || r.Seq != results[0].Seq {
				t.Errorf("got %+v, another %+v", r, results[0])
			}
			if !r.Retry {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("%d of three were the first", fresh)
		}
	}
	if n := len(s.sink.of("lab")); n != 30 {
		t.Errorf("the sink was given %d entries", n)
	}
}

// atOnce appends every draft to lab in a call of its own, all concurrently.
func (s *subject) atOnce(drafts ...journal.Draft) []journal.Result {
	results := make([]journal.Result, len(drafts))
	var wg sync.WaitGroup
	for i, d := range drafts {
		wg.Go(func() { results[i] = s.append("lab", d)[0] })
	}
	wg.Wait()
	return results
}
