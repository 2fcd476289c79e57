package agent

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// Beyond maxIDs ids the oldest are evicted.
func TestIDs_Bounded(t *testing.T) {
	var o recentIDs
	id := func(n int) protocol.ID { return protocol.ID(fmt.Sprint(n)) }
	const n = maxIDs + 10
	for i := range n {
		o.Add(id(i))
	}
	if len(o.ids) != maxIDs || len(o.order) != maxIDs {
		t.Errorf("%d ids in %d places", len(o.ids), len(o.order))
	}
	for i, want := range map[int]bool{0: false, 9: false, 10: true, n - 1: true} {
		if o.Remove(id(i)) != want {
			t.Errorf("%d is own: %v", i, !want)
		}
	}
	if o.Remove(id(n - 1)) {
		t.Error("own twice")
	}
}
