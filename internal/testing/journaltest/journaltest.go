// Package journaltest is the conformance suite of package journal's contract,
// which every journal passes.
//
// A journal's own tests call [Run], and the other functions for further
// guarantees of the journal.
package journaltest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Run tests the common contract of all journals. open returns an empty journal
// each time; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) journal.Journal) {
	tests := []struct {
		name string
		run  func(*testing.T, *subject)
	}{
		{"EmptyLog", testEmptyLog},
		{"OneCallKeepsItsOrder", testOneCallKeepsItsOrder},
		{"SpacesAreApart", testSpacesAreApart},
		{"NoDrafts", testNoDrafts},
		{"RoundTrip", testRoundTrip},
		{"DraftsMayBeReused", testDraftsMayBeReused},
		{"RetryGetsTheFirstSeq", testRetryGetsTheFirstSeq},
		{"RetryWithinOneCall", testRetryWithinOneCall},
		{"DuplicateOfAnotherSender", testDuplicateOfAnotherSender},
		{"DuplicatesAtTheSameTime", testConcurrentDuplicates},
		{"RetriesAtTheSameTime", testConcurrentRetries},
		{"BasisCoversLastState", testBasisCoversLastState},
		{"StaleDraftStopsItsCall", testStaleDraftStopsItsCall},
		{"StateMakesTheRestOfItsCallStale", testStateMakesTheRestOfItsCallStale},
		{"BasisIsOfOneSpace", testBasisIsOfOneSpace},
		{"StateAtTheSameTime", testConcurrentState},
		{"FirstDecisionWins", testFirstDecisionWins},
		{"FirstDecisionOfOneCallWins", testFirstDecisionOfOneCallWins},
		{"DecisionsAtTheSameTime", testConcurrentDecisions},
		{"SinkBeforeAppendReturns", testSinkBeforeAppendReturns},
		{"SinkAndLogAgree", testSinkAndLogAgree},
		{"RangeBothWays", testRangeBothWays},
		{"RangeByContext", testRangeByContext},
		{"RangeStateOnly", testRangeStateOnly},
		{"RangeStopsEarly", testRangeStopsEarly},
		{"RangeEndsWithItsContext", testRangeEndsWithItsContext},
		{"Lookup", testLookup},
		{"CallersAtTheSameTime", testConcurrentCallers},
		{"ReadersDuringAppends", testReadersDuringAppends},
		{"CancelledAppend", testCanceledAppend},
		{"ClosedJournal", testClosedJournal},
		{"LogID", testLogID},
		{"Snapshot", testSnapshot},
		{"Barrier", testBarrier},
		{"Model", testModel},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, follow(t, open(t))) })
	}
}

// RunContiguous tests that the numbers of a space have no gaps, which journals
// with a log of their own guarantee.
func RunContiguous(t *testing.T, open func(t *testing.T) journal.Journal) {
	t.Run("NoGaps", func(t *testing.T) {
		s := follow(t, open(t))
		s.must(t, "other", draft("m-0"))
		for i := range protocol.Seq(20) {
			seqs := s.must(t, "lab", draft(protocol.ID(fmt.Sprintf("m-%d", 2*i))), draft(protocol.ID(fmt.Sprintf("m-%d", 2*i+1))))
			if !slices.Equal(seqs, []protocol.Seq{2*i + 1, 2*i + 2}) {
				t.Fatalf("call %d got %v", i, seqs)
			}
			s.append("lab", draft("m-0"), draft("m-1", from("bob"))) // a retry and a duplicate use no number
		}
	})
}

// RunDurable tests that appended entries exist after the journal was closed and
// opened again. open opens the journal of the folder dir, which is empty the
// first time.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	t.Run("ReopenKeepsEverything", func(t *testing.T) { testReopenKeepsEverything(t, open) })
	t.Run("ReopenKeepsTheRules", func(t *testing.T) { testReopenKeepsTheRules(t, open) })
}

// RunRetention tests which entries retention drops and keeps. open returns an
// empty journal that applies ret by the given clock, at the latest soon after
// each Append.
func RunRetention(t *testing.T, open func(*testing.T, journal.Retention, func() time.Time) journal.Journal) {
	t.Run("Age", func(t *testing.T) { testRetentionByAge(t, open) })
	t.Run("Bytes", func(t *testing.T) { testRetentionByBytes(t, open) })
	t.Run("NothingLeft", func(t *testing.T) { testRetentionOfEverything(t, open) })
	t.Run("GatewayLog", func(t *testing.T) { testRetentionOfGatewayLog(t, open) })
	t.Run("ClockJump", func(t *testing.T) { testRetentionAfterClockJump(t, open) })
}

func testSinkBeforeAppendReturns(t *testing.T, s *subject) {
	for i := range 50 {
		seq := s.must(t, "lab", draft(protocol.ID(fmt.Sprintf("m-%d", i))))[0]
		if !s.sink.has(seq) {
			t.Fatalf("entry %d was appended and is not in the sink", seq)
		}
	}
}

func testSinkAndLogAgree(t *testing.T, s *subject) {
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 40 {
				s.append(fmt.Sprintf("lab-%d", w%2), draft(protocol.ID(fmt.Sprintf("m-%d-%d", w, i))))
			}
		})
	}
	wg.Wait()
	for _, space := range []string{"lab-0", "lab-1"} {
		log, sink := s.read(t, space, journal.Query{}), s.sink.of(space)
		if len(log) != 120 || !slices.EqualFunc(log, sink, same) {
			t.Errorf("%s: %d entries in the log, %d in the sink, or they differ", space, len(log), len(sink))
		}
	}
}
