package journaltest

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// RunBase tests the bases of spaces. open returns an empty journal that applies ret by
// the given clock, at the latest soon after each Append, with bases by fold.
func RunBase(t *testing.T, open func(*testing.T, journal.Retention, func() time.Time, journal.Fold) journal.Journal) {
	t.Run("CoversWhatWasDropped", func(t *testing.T) {
		s := follow(t, open(t, journal.Retention{Age: time.Hour}, startClock, FoldIDs))
		s.wantBase(t, "lab", "", 0)
		old, known := at(start.Add(-2*time.Hour)), checkedAt(1<<40)
		q := s.must(t, "lab", draft("a", old), draft("s", old, state), draft("b", old, known))
		s.waitFor(t, q[1])
		s.wantBase(t, "lab", "a s b", q[2]+1)
		q = append(q, s.must(t, "lab", draft("c", old, known), draft("d", known))...)
		s.waitFor(t, q[1], q[4])
		s.wantBase(t, "lab", "a s b c", q[3]+1)
		s.wantBase(t, "la", "", 0)
	})
	t.Run("FailedFoldKeepsEntries", func(t *testing.T) {
		var fails atomic.Bool
		fails.Store(true)
		calls := make(chan struct{}, 1)
		s := follow(t, open(t, journal.Retention{Age: time.Hour}, startClock, func(ctx context.Context, space string, base []byte, dropped iter.Seq2[*journal.Entry, error]) ([]byte, error) {
			if fails.Load() {
				calls <- struct{}{}
				return nil, errors.New("not now")
			}
			return FoldIDs(ctx, space, base, dropped)
		}))
		q := s.must(t, "lab", draft("a", at(start.Add(-2*time.Hour))))
		<-calls
		<-calls // a round has ended
		s.want(t, "lab", journal.Query{}, q...)
		fails.Store(false)
		select { // the fold that is under way
		case <-calls:
		default:
		}
		s.waitFor(t)
		s.wantBase(t, "lab", "a", q[0]+1)
	})
	t.Run("FailedFoldSkipsNoOtherSpace", func(t *testing.T) {
		calls := make(chan string)
		s := follow(t, open(t, journal.Retention{Age: time.Hour}, startClock, func(ctx context.Context, space string, _ []byte, _ iter.Seq2[*journal.Entry, error]) ([]byte, error) {
			select {
			case calls <- space:
			case <-ctx.Done():
			}
			return nil, errors.New("never")
		}))
		s.must(t, "lab", draft("a", at(start.Add(-2*time.Hour))))
		<-calls
		s.must(t, "office", draft("a", at(start.Add(-2*time.Hour))))
		for space := ""; space != "office"; {
			space = <-calls
		}
		last, run := "", 0
		for range 40 { // a round has each space once, in any order
			if space := <-calls; space != last {
				last, run = space, 0
			}
			run++
			if run > 2 {
				t.Fatalf("%s was trimmed in three rounds without the other space", last)
			}
		}
	})
}

// FoldIDs is a journal.Fold that lists the ids of the dropped entries.
func FoldIDs(_ context.Context, _ string, base []byte, dropped iter.Seq2[*journal.Entry, error]) ([]byte, error) {
	for e, err := range dropped {
		if err != nil {
			return nil, err
		}
		if len(base) > 0 {
			base = append(base, ' ')
		}
		base = append(base, e.Envelope.ID...)
	}
	return base, nil
}

func (s *subject) wantBase(t *testing.T, space, want string, before protocol.Seq) {
	t.Helper()
	got, err := s.Base(space)
	if err != nil || string(got.Data) != want || got.Before != before {
		t.Errorf("base of %s: %q before %d, %v; want %q before %d", space, got.Data, got.Before, err, want, before)
	}
}
