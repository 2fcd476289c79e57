package journaltest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

func testSinkBeforeAppendReturns(t *testing.T, s *subject) {
	for i := range 50 {
		seq := s.must(t, "lab", draft(protocol.ID(fmt.Sprintf("m-%d", i))))[0]
		if !s.sink.has("lab", seq) {
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
