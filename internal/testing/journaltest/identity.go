package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func testLogID(t *testing.T, s *subject) {
	id := logID(t, s)
	s.must(t, "lab", draft("m-1"))
	if again := logID(t, s); again != id {
		t.Errorf("the log's id is %q and then %q", id, again)
	}
}

func logID(t *testing.T, s *subject) string {
	t.Helper()
	id, err := s.LogID(context.Background(), "lab")
	if err != nil || id == "" {
		t.Errorf("LogID = %q, %v", id, err)
	}
	return id
}

// testBarrier: after a barrier the sink and the log have all entries that
// Append has returned to other callers.
func testBarrier(t *testing.T, s *subject) {
	var callers sync.WaitGroup
	for w := range 4 {
		callers.Go(func() {
			for i := range 10 {
				id := protocol.ID(fmt.Sprintf("m-%d-%d", w, i))
				seq := s.must(t, "lab", draft(id))[0]
				s.barrier(t, "lab")
				if !s.sink.has(seq) {
					t.Errorf("the sink lacks %s after a barrier", id)
				}
				if _, err := s.Lookup(context.Background(), "lab", id); err != nil {
					t.Errorf("Lookup of %s after a barrier: %v", id, err)
				}
			}
		})
	}
	callers.Wait()
	s.barrier(t, "a.space.without.entries")
}

// barrier waits for a barrier, again after a failure: on a busy machine, a server may answer
// too late.
func (s *subject) barrier(t *testing.T, space string) {
	t.Helper()
	testkit.Eventually(t, "the barrier holds", func() bool {
		err := s.Barrier(context.Background(), space)
		if err != nil && !errors.Is(err, journal.ErrUnavailable) {
			t.Errorf("Barrier of %s: %v", space, err)
			return true
		}
		return err == nil
	})
}
