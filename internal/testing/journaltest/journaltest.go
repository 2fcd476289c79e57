// Package journaltest is the conformance suite of package journal's contract,
// which every journal passes.
//
// A journal's own tests call [Run], and the other functions for further
// guarantees of the journal.
package journaltest

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
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
	t.Run("NoGaps", func(t *testing.T) { testNoGaps(t, follow(t, open(t))) })
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
