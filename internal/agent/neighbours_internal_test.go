package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/mcptools"
	"github.com/meup-protocol/meup/protocol"
)

func guests(from, to int) []protocol.Participant {
	var list []protocol.Participant
	for i := from; i < to; i++ {
		list = append(list, protocol.Participant{ID: protocol.ParticipantID(fmt.Sprintf("guest%d", i)), Capabilities: []json.RawMessage{[]byte(`"*"`)}})
	}
	return list
}

func TestThoseWhoLeftMakeRoomForThoseWhoCome(t *testing.T) {
	now := time.Unix(0, 0)
	var n neighbours
	meet := func(here []protocol.Participant) []protocol.ParticipantID {
		now = now.Add(time.Second)
		asked := n.meet("planner", here, now)
		for _, id := range asked {
			n.settle(id, []mcptools.Tool{{Name: "of " + string(id)}}, false)
		}
		if len(n.offers) > maxNeighbours {
			t.Fatalf("%d offers are kept", len(n.offers))
		}
		return asked
	}
	if asked := meet(guests(0, maxNeighbours+1)); len(asked) != maxNeighbours {
		t.Errorf("%d were asked", len(asked))
	}
	if asked := meet(guests(0, maxNeighbours+2)); len(asked) != 0 {
		t.Errorf("asked %v, although nobody has left", asked)
	}
	// One leaves: one of those who have come is asked, and nobody is dropped
	// who is here, wherever in the list he stands.
	first := guests(maxNeighbours+2, maxNeighbours+3)
	if asked := meet(append(first, guests(1, maxNeighbours)...)); fmt.Sprint(asked) != fmt.Sprintf("[guest%d]", maxNeighbours+2) {
		t.Errorf("asked %v", asked)
	}
	kept := 0
	n.each(func(protocol.ParticipantID, mcptools.Tool) { kept++ })
	if kept != maxNeighbours || n.offers["guest0"] != nil {
		t.Errorf("the tools of %d are known", kept)
	}
	// All leave, and as many others come.
	if asked := meet(guests(100, 100+maxNeighbours)); len(asked) != maxNeighbours {
		t.Errorf("%d were asked", len(asked))
	}
}

func TestWhatOneNeighbourOffersIsBounded(t *testing.T) {
	list := func(n, size int) []mcptools.Tool {
		tools := make([]mcptools.Tool, n)
		for i := range tools {
			tools[i] = mcptools.Tool{Name: fmt.Sprintf("tool%04d", i), InputSchema: bytes.Repeat([]byte(" "), size)}
		}
		return tools
	}
	for _, test := range []struct{ tools, size, want int }{
		{0, 0, 0},
		{maxOffered, 100, maxOffered},
		{maxOffered + 1, 100, maxOffered},
		{10, maxToolBytes, 0},
		{10, maxToolBytes / 4, 3},
	} {
		if got := len(bounded(list(test.tools, test.size))); got != test.want {
			t.Errorf("of %d tools of %d bytes %d are kept, want %d", test.tools, test.size, got, test.want)
		}
	}
}
