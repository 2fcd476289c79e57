package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// testConcurrentCallers: no entry is lost, duplicated or reordered.
func testConcurrentCallers(t *testing.T, s *subject) {
	const callers, calls = 8, 40
	seqs := make([][]protocol.Seq, callers)
	var wg sync.WaitGroup
	for w := range callers {
		wg.Go(func() {
			for i := range calls {
				var drafts []journal.Draft
				for k := range 1 + i%3 {
					drafts = append(drafts, draft(protocol.ID(fmt.Sprintf("m-%d-%d-%d", w, i, k))))
				}
				for _, r := range s.append("lab", drafts...) {
					if r.Err != nil || r.Retry {
						t.Errorf("append: %+v", r)
					}
					seqs[w] = append(seqs[w], r.Seq)
				}
			}
		})
	}
	wg.Wait()
	for w := range seqs {
		if !slices.IsSorted(seqs[w]) {
			t.Errorf("caller %d was overtaken by itself: %v", w, seqs[w])
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(seqs...)))
	s.want(t, "lab", journal.Query{}, all...)
	if n := len(slices.Compact(all)); n != len(s.sink.of("lab")) {
		t.Errorf("%d numbers for %d entries", n, len(s.sink.of("lab")))
	}
}

// testReadersDuringAppends: a reader that has seen an entry sees everything
// before it, and sees it again.
func testReadersDuringAppends(t *testing.T, s *subject) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 200 {
			s.must(t, "lab", draft(protocol.ID(fmt.Sprintf("m-%d", i))))
		}
	})
	for range 2 {
		wg.Go(func() {
			var seen []protocol.Seq
			for {
				_, newest, err := s.Bounds(context.Background(), "lab")
				if err != nil {
					t.Error(err)
				}
				now := seqsOf(s.read(t, "lab", journal.Query{}))
				if len(now) < len(seen) || !slices.Equal(now[:len(seen)], seen) {
					t.Errorf("what was %v became %v", seen, now)
				}
				if newest > 0 && !slices.Contains(now, newest) {
					t.Errorf("Bounds said %d, Range found %v", newest, now)
				}
				seen = now
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	wg.Wait()
}

// testCanceledAppend: a canceled caller may or may not have appended, and a
// retry shows which.
func testCanceledAppend(t *testing.T, s *subject) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	first := s.Append(ctx, "lab", []journal.Draft{draft("m-1")})[0]
	if first.Err != nil && !errors.Is(first.Err, journal.ErrUnavailable) && !errors.Is(first.Err, journal.ErrOutcomeUnknown) {
		t.Errorf("cancelled: %+v", first)
	}
	again := s.append("lab", draft("m-1"))[0]
	if again.Err != nil || first.Err == nil && again.Seq != first.Seq {
		t.Errorf("again: %+v after %+v", again, first)
	}
	s.want(t, "lab", journal.Query{}, again.Seq)
}

// testClosedJournal: an append that never started is known not to be in the
// log.
func testClosedJournal(t *testing.T, s *subject) {
	s.must(t, "lab", draft("m-1"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := s.append("lab", draft("m-2"))[0]; !errors.Is(r.Err, journal.ErrUnavailable) || errors.Is(r.Err, journal.ErrOutcomeUnknown) {
		t.Errorf("append after Close: %+v", r)
	}
	if err := s.Ready(); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("Ready after Close: %v", err)
	}
}
