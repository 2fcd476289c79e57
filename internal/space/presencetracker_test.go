package space_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

func TestTracker_LingersWithinBound(t *testing.T) {
	var tracker space.Presence
	start := time.Unix(1_000_000, 0)
	id := func(i int) protocol.ParticipantID { return protocol.ParticipantID(fmt.Sprint("p", i)) }
	for i := range 1025 {
		tracker.Linger(id(i), start)
	}
	if n := len(tracker.Lingering()); n != 1024 || tracker.Lingers(id(1024)) {
		t.Errorf("%d participants linger", n)
	}
	tracker.Linger(id(0), start.Add(time.Second)) // one that lingers can go on
	noOne := func(protocol.ParticipantID) bool { return false }
	if due := tracker.Due(start.Add(space.PresenceLinger-1), noOne); len(due) != 0 {
		t.Errorf("%d are due before the end", len(due))
	}
	if due := tracker.Due(start.Add(space.PresenceLinger), noOne); len(due) != 1023 || !tracker.Lingers(id(0)) {
		t.Errorf("%d are due at the end", len(due))
	}
	everyone := func(protocol.ParticipantID) bool { return true }
	if due := tracker.Due(start.Add(space.PresenceLinger), everyone); len(due) != 1 || tracker.Lingers(id(0)) {
		t.Errorf("%d are due that were removed", len(due))
	}
}
