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

func testRangeBothWays(t *testing.T, s *subject) {
	var seqs []protocol.Seq
	for i := range 100 {
		seqs = append(seqs, s.must(t, "lab", draft(protocol.ID(fmt.Sprintf("m-%d", i))))...)
	}
	down := slices.Clone(seqs)
	slices.Reverse(down)

	s.want(t, "lab", journal.Query{}, seqs...)
	s.want(t, "lab", journal.Query{Backwards: true}, down...)
	s.want(t, "lab", journal.Query{After: seqs[9], Before: seqs[12]}, seqs[10], seqs[11])
	s.want(t, "lab", journal.Query{After: seqs[9], Before: seqs[12], Backwards: true}, seqs[11], seqs[10])
	s.want(t, "lab", journal.Query{After: seqs[96]}, seqs[97:]...)
	s.want(t, "lab", journal.Query{Before: seqs[2]}, seqs[:2]...)
	s.want(t, "lab", journal.Query{Limit: 3}, seqs[:3]...)
	s.want(t, "lab", journal.Query{Limit: 70, After: seqs[4]}, seqs[5:75]...)
	s.want(t, "lab", journal.Query{Limit: 3, Backwards: true}, down[:3]...)
	s.want(t, "lab", journal.Query{Limit: 1000}, seqs...)
	s.want(t, "lab", journal.Query{After: seqs[99]})
	s.want(t, "lab", journal.Query{After: seqs[99] + 1000})
	s.want(t, "lab", journal.Query{Before: seqs[99] + 1000, After: seqs[98]}, seqs[99])
	s.want(t, "lab", journal.Query{After: seqs[5], Before: seqs[5]})
	s.want(t, "lab", journal.Query{After: seqs[9], Before: seqs[5]})
	s.want(t, "nobody", journal.Query{})
}

func testRangeByContext(t *testing.T, s *subject) {
	q := s.must(t, "lab",
		draft("a"), draft("b", within("msg-3")), draft("c", within("msg-301")),
		draft("d", within("msg-3/x")), draft("e", within("msg-3/x/y")), draft("f", within("msg-3.x")),
		draft("g", within("msg-3/xy")), draft("h", within("msg-3")))
	s.must(t, "other", draft("b", within("msg-3")))

	s.want(t, "lab", journal.Query{Context: "msg-3"}, q[1], q[3], q[4], q[6], q[7])
	s.want(t, "lab", journal.Query{Context: "msg-3/x"}, q[3], q[4])
	s.want(t, "lab", journal.Query{Context: "msg-3/x/y"}, q[4])
	s.want(t, "lab", journal.Query{Context: "msg"})
	s.want(t, "lab", journal.Query{Context: "msg-3", Backwards: true, Limit: 2}, q[7], q[6])
	s.want(t, "lab", journal.Query{Context: "msg-3", After: q[1], Before: q[6]}, q[3], q[4])
}

func testRangeStateOnly(t *testing.T, s *subject) {
	known := checkedAt(1 << 40) // covers all state entries to come
	q := s.must(t, "lab",
		draft("a", known), draft("b", known, state), draft("c", known, within("x")),
		draft("d", known, state, within("x")), draft("e", known, state, within("x/y")))
	s.want(t, "lab", journal.Query{StateOnly: true}, q[1], q[3], q[4])
	s.want(t, "lab", journal.Query{StateOnly: true, Backwards: true, Limit: 1}, q[4])
	s.want(t, "lab", journal.Query{StateOnly: true, After: q[1], Before: q[4]}, q[3])
	s.want(t, "lab", journal.Query{StateOnly: true, Context: "x"}, q[3], q[4])
	s.want(t, "lab", journal.Query{StateOnly: true, Context: "x/y"}, q[4])
}

func testRangeStopsEarly(t *testing.T, s *subject) {
	seqs := s.must(t, "lab", draft("a"), draft("b"), draft("c"))
	for e, err := range s.Range(context.Background(), "lab", journal.Query{}) {
		if err != nil || e.Envelope.Seq != seqs[0] {
			t.Errorf("got %v, %v", e, err)
		}
		// Other callers can use the log meanwhile.
		seqs = append(seqs, s.must(t, "lab", draft("d"))...)
		break
	}
	s.want(t, "lab", journal.Query{}, seqs...)
}

func testRangeEndsWithItsContext(t *testing.T, s *subject) {
	s.must(t, "lab", draft("a"), draft("b"), draft("c"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	errs := 0
	for _, err := range s.Range(ctx, "lab", journal.Query{}) {
		if cancel(); err == nil {
			continue
		}
		errs++
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	}
	if errs != 1 {
		t.Errorf("%d errors, want 1 at the end", errs)
	}
}

func testLookup(t *testing.T, s *subject) {
	d := draft("m-1", within("x/y"))
	seq := s.must(t, "lab", d)[0]
	e, err := s.Lookup(context.Background(), "lab", "m-1")
	if err != nil || !same(e, entryOf(d, seq)) {
		t.Errorf("Lookup = %+v, %v", e, err)
	}
	for _, where := range []struct {
		space string
		id    protocol.ID
	}{{"lab", "m-10"}, {"lab", "m-"}, {"other", "m-1"}} {
		if _, err := s.Lookup(context.Background(), where.space, where.id); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("Lookup of %v: %v", where, err)
		}
	}
}
