package journal_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// countedReader counts the queries of a log.
type countedReader struct {
	journal.Journal
	queries int
}

func (c *countedReader) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	c.queries++
	return c.Journal.Range(ctx, space, q)
}

// TestBetween_LosesNoEntry draws logs whose times deviate from the order by up to 10
// minutes, and periods: every entry of the period is within the bounds, and few
// entries that are far from it.
func TestBetween_LosesNoEntry(t *testing.T) {
	start := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	rapid.Check(t, func(rt *rapid.T) {
		log := &countedReader{Journal: journal.NewMemory(journal.MemoryOptions{})}
		log.Follow(func(string, []*journal.Entry) {}, nil)
		times := rapid.SliceOfN(rapid.IntRange(0, 30), 0, 60).Draw(rt, "passes")
		at := 0
		for i, passes := range times {
			at += passes
			e := protocol.Envelope{ID: protocol.ID(fmt.Sprint("e", i)), From: "a", Kind: "chat", Payload: []byte(`{}`), TS: minute(at - rapid.IntRange(0, 9).Draw(rt, "behind"))}
			if r := log.Append(t.Context(), "lab", []journal.Draft{{Envelope: e}}); r[0].Err != nil {
				rt.Fatal(r[0].Err)
			}
		}
		var from, until time.Time
		if rapid.Bool().Draw(rt, "has from") {
			from = minute(rapid.IntRange(-30, at+30).Draw(rt, "from"))
		}
		if rapid.Bool().Draw(rt, "has until") {
			until = minute(rapid.IntRange(-30, at+30).Draw(rt, "until"))
		}
		after, before, err := journal.Between(t.Context(), log, "lab", from, until)
		if err != nil {
			rt.Fatal(err)
		}
		if log.queries > 16 { // two searches of at most 60 entries
			rt.Errorf("%d queries for %d entries", log.queries, len(times))
		}
		for e, err := range log.Range(t.Context(), "lab", journal.Query{}) {
			if err != nil {
				rt.Fatal(err)
			}
			ts, seq := e.Envelope.TS, e.Envelope.Seq
			inside := seq > after && (before == 0 || seq < before)
			wanted := !ts.Before(from) && (until.IsZero() || ts.Before(until))
			far := !from.IsZero() && ts.Before(from.Add(-time.Hour)) || !until.IsZero() && !ts.Before(until.Add(time.Hour))
			if wanted && !inside || far && inside {
				rt.Errorf("entry %d of %v: inside %v; bounds %d and %d for %v to %v", seq, ts, inside, after, before, from, until)
			}
		}
	})
}
