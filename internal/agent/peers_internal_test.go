package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/protocol"
)

func guests(from, to int) []protocol.Participant {
	var list []protocol.Participant
	for i := from; i < to; i++ {
		list = append(list, protocol.Participant{ID: protocol.ParticipantID(fmt.Sprintf("guest%d", i)), Capabilities: []json.RawMessage{[]byte(`"*"`)}})
	}
	return list
}

func TestPeers_Evict(t *testing.T) {
	now := time.Unix(0, 0)
	var n peerTable
	meet := func(here []protocol.Participant) []protocol.ParticipantID {
		now = now.Add(time.Second)
		asked := n.Update("planner", here, now)
		for _, id := range asked {
			n.Store(id, []mcptools.Tool{{Name: "of " + string(id)}}, false)
			n.Finish(id, now)
		}
		if len(n.offers) > maxPeers {
			t.Fatalf("%d offers are kept", len(n.offers))
		}
		return asked
	}
	if asked := meet(guests(0, maxPeers+1)); len(asked) != maxPeers {
		t.Errorf("%d were asked", len(asked))
	}
	if asked := meet(guests(0, maxPeers+2)); len(asked) != 0 {
		t.Errorf("asked %v, although nobody has left", asked)
	}
	// One leaves: one of the new participants is queried, and no present
	// participant is evicted, wherever it is in the list.
	first := guests(maxPeers+2, maxPeers+3)
	if asked := meet(append(first, guests(1, maxPeers)...)); fmt.Sprint(asked) != fmt.Sprintf("[guest%d]", maxPeers+2) {
		t.Errorf("asked %v", asked)
	}
	kept := len(n.Offered())
	if kept != maxPeers || n.offers["guest0"] != nil {
		t.Errorf("the tools of %d are known", kept)
	}
	// All leave, and as many others join.
	if asked := meet(guests(100, 100+maxPeers)); len(asked) != maxPeers {
		t.Errorf("%d were asked", len(asked))
	}
}

func TestPeers_ToolsBounded(t *testing.T) {
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
		if got := len(boundedTools(list(test.tools, test.size))); got != test.want {
			t.Errorf("of %d tools of %d bytes %d are kept, want %d", test.tools, test.size, got, test.want)
		}
	}
}

// TestPeers_ChangeStorm: a participant that announces many changes is
// queried once at a time, and once at the end.
func TestPeers_ChangeStorm(t *testing.T) {
	now := time.Unix(0, 0)
	var n peerTable
	if asked := n.Update("planner", guests(0, 1), now); len(asked) != 1 {
		t.Fatalf("asked %v", asked)
	}
	begun := 0
	storm := func() {
		for range 10_000 {
			if n.Renew("guest0", now) {
				begun++
			}
		}
	}
	storm()
	n.Store("guest0", []mcptools.Tool{{Name: "old"}}, false)
	storm() // before the pause is over
	if begun != 0 {
		t.Fatalf("%d requests beside the one under way", begun)
	}
	if !n.Finish("guest0", now) {
		t.Fatal("not asked for the changes")
	}
	n.Store("guest0", []mcptools.Tool{{Name: "new"}}, false)
	if n.Finish("guest0", now) {
		t.Error("asked again without a change")
	}
	if offered := n.Offered(); len(offered) != 1 || offered[0].Name != "new" {
		t.Errorf("offered %v", offered)
	}
	if !n.Renew("guest0", now) {
		t.Error("not asked after another change")
	}
}

func host(id protocol.ParticipantID) protocol.Participant {
	return protocol.Participant{ID: id, Serves: []string{protocol.ServesTools}}
}

// A question waits for the lists of participants known to serve tools, for at
// most listWait, and not for the lists of other participants.
func TestPeers_WaitForHostsOnly(t *testing.T) {
	some := []mcptools.Tool{{Name: "read"}}
	tests := []struct {
		name   string
		here   []protocol.Participant
		before func(*peerTable)
		want   time.Duration
	}{
		{"nobody", nil, nil, 0},
		{"people", guests(0, 3), nil, 0},
		{"a silent host", append(guests(0, 3), host("files")), nil, listWait},
		{"a host that answers", append(guests(0, 3), host("files")), func(n *peerTable) {
			time.AfterFunc(listWait/4, func() { n.Store("files", some, false) })
		}, listWait / 4},
		{"one that has listed tools before and announces a change", guests(0, 1), func(n *peerTable) {
			n.Store("guest0", some, false)
			n.Finish("guest0", time.Now())
			n.Renew("guest0", time.Now())
		}, listWait},
		{"one that never listed tools and announces a change", guests(0, 1), func(n *peerTable) {
			n.Store("guest0", nil, false)
			n.Finish("guest0", time.Now())
			n.Renew("guest0", time.Now())
		}, 0},
		{"a host that has left", []protocol.Participant{host("files")}, func(n *peerTable) { n.Update("planner", nil, time.Now()) }, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n peerTable
				n.Update("planner", test.here, time.Now())
				if test.before != nil {
					test.before(&n)
				}
				began := time.Now()
				n.Wait(t.Context(), time.Now())
				if waited := time.Since(began); waited != test.want {
					t.Errorf("waited %s, want %s", waited, test.want)
				}
				synctest.Wait()
			})
		})
	}
}

// A participant that does not declare tools and lists none is not queried again until it
// announces a change.
func TestPeers_NoToolsListed(t *testing.T) {
	var n peerTable
	now := time.Unix(0, 0)
	everyone := []protocol.Participant{host("files"), {ID: "alice", Capabilities: []json.RawMessage{[]byte(`"*"`)}}}
	rejoin := func() []protocol.ParticipantID {
		n.Update("planner", nil, now)
		asked := n.Update("planner", everyone, now)
		for _, id := range asked {
			n.Store(id, nil, true)
			n.Finish(id, now)
		}
		return asked
	}
	for i, want := range []string{"[files alice]", "[files]"} {
		if asked := rejoin(); fmt.Sprint(asked) != want {
			t.Errorf("the %dth time %v are asked, want %s", i+1, asked, want)
		}
	}
	if !n.Renew("alice", now) || n.Renew("alice", now) {
		t.Error("not asked once after a change")
	}
	n.Store("alice", nil, true)
	if !n.Finish("alice", now) {
		t.Error("not asked for a change during the query")
	}
}

func TestPeers_HostsFirst(t *testing.T) {
	var n peerTable
	asked := n.Update("planner", append(guests(0, maxPeers), host("early")), time.Unix(0, 0))
	if len(asked) != maxPeers || asked[0] != "early" {
		t.Fatalf("asked %d, the first is %s", len(asked), asked[0])
	}
	for _, id := range asked {
		n.Store(id, nil, true)
		n.Finish(id, time.Unix(0, 0))
	}
	asked = n.Update("planner", append(guests(0, maxPeers), host("early"), host("late")), time.Unix(1, 0))
	if !slices.Contains(asked, "late") || n.offers["early"] == nil || len(n.offers) > maxPeers {
		t.Errorf("asked %v, %d are kept", asked, len(n.offers))
	}
}
