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
	var n peers
	meet := func(here []protocol.Participant) []protocol.ParticipantID {
		now = now.Add(time.Second)
		asked := n.update("planner", here, now)
		for _, id := range asked {
			n.store(id, []mcptools.Tool{{Name: "of " + string(id)}}, false)
			n.finish(id, now)
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
	kept := len(n.offered())
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
		if got := len(bounded(list(test.tools, test.size))); got != test.want {
			t.Errorf("of %d tools of %d bytes %d are kept, want %d", test.tools, test.size, got, test.want)
		}
	}
}

// TestPeers_ChangeStorm: a participant that announces many changes is
// queried once at a time, and once at the end.
func TestPeers_ChangeStorm(t *testing.T) {
	now := time.Unix(0, 0)
	var n peers
	if asked := n.update("planner", guests(0, 1), now); len(asked) != 1 {
		t.Fatalf("asked %v", asked)
	}
	begun := 0
	storm := func() {
		for range 10_000 {
			if n.renew("guest0", now) {
				begun++
			}
		}
	}
	storm()
	n.store("guest0", []mcptools.Tool{{Name: "old"}}, false)
	storm() // before the pause is over
	if begun != 0 {
		t.Fatalf("%d requests beside the one under way", begun)
	}
	if !n.finish("guest0", now) {
		t.Fatal("not asked for the changes")
	}
	n.store("guest0", []mcptools.Tool{{Name: "new"}}, false)
	if n.finish("guest0", now) {
		t.Error("asked again without a change")
	}
	if offered := n.offered(); len(offered) != 1 || offered[0].Name != "new" {
		t.Errorf("offered %v", offered)
	}
	if !n.renew("guest0", now) {
		t.Error("not asked after another change")
	}
}

func TestToolbox_NamesOfOthers(t *testing.T) {
	offer := func(owner protocol.ParticipantID, names ...string) (list []offeredTool) {
		for _, name := range names {
			list = append(list, offeredTool{owner, mcptools.Tool{Name: name}})
		}
		return list
	}
	tests := []struct {
		name    string
		own     []string
		offered [][]offeredTool
		want    map[string]tool // expected meaning of a name
		absent  []string
	}{
		{"no clash", []string{"own"}, [][]offeredTool{offer("files", "read")},
			map[string]tool{"own": {name: "own"}, "read": {"files", "read"}}, nil},
		{"own name", []string{"read"}, [][]offeredTool{offer("files", "read")},
			map[string]tool{"read": {name: "read"}, "files__read": {"files", "read"}}, nil},
		{"two participants", nil, [][]offeredTool{offer("aaa", "read"), offer("files", "read")},
			map[string]tool{"aaa__read": {"aaa", "read"}, "files__read": {"files", "read"}}, []string{"read"}},
		{"the qualified name of another one's tool", nil, [][]offeredTool{offer("aaa", "files__read", "read"), offer("files", "read")},
			map[string]tool{"aaa__read": {"aaa", "read"}, "aaa__files__read": {"aaa", "files__read"}}, []string{"read", "files__read"}},
		{"two ways to qualify", []string{"c", "b__c"}, [][]offeredTool{offer("a", "b__c"), offer("a__b", "c")},
			map[string]tool{"c": {name: "c"}}, []string{"a__b__c"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := toolbox{tools: map[string]tool{}}
			for _, name := range test.own {
				b.add(name, tool{name: name}, mcptools.Tool{Name: name})
			}
			offered := slices.Concat(test.offered...)
			b.addOffered(offered)
			for name, want := range test.want {
				if got := b.tools[name]; got != want {
					t.Errorf("%s is %+v, want %+v", name, got, want)
				}
			}
			for _, name := range test.absent {
				if got, found := b.tools[name]; found {
					t.Errorf("%s is %+v", name, got)
				}
			}
			if len(b.tools) != len(test.own)+len(offered) || len(b.plannable) != len(b.tools) {
				t.Errorf("%d tools under %d names", len(test.own)+len(offered), len(b.tools))
			}
		})
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
		before func(*peers)
		want   time.Duration
	}{
		{"nobody", nil, nil, 0},
		{"people", guests(0, 3), nil, 0},
		{"a silent host", append(guests(0, 3), host("files")), nil, listWait},
		{"a host that answers", append(guests(0, 3), host("files")), func(n *peers) {
			time.AfterFunc(listWait/4, func() { n.store("files", some, false) })
		}, listWait / 4},
		{"one that has listed tools before and announces a change", guests(0, 1), func(n *peers) {
			n.store("guest0", some, false)
			n.finish("guest0", time.Now())
			n.renew("guest0", time.Now())
		}, listWait},
		{"one that never listed tools and announces a change", guests(0, 1), func(n *peers) {
			n.store("guest0", nil, false)
			n.finish("guest0", time.Now())
			n.renew("guest0", time.Now())
		}, 0},
		{"a host that has left", []protocol.Participant{host("files")}, func(n *peers) { n.update("planner", nil, time.Now()) }, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n peers
				n.update("planner", test.here, time.Now())
				if test.before != nil {
					test.before(&n)
				}
				began := time.Now()
				n.wait(t.Context(), time.Now())
				if waited := time.Since(began); waited != test.want {
					t.Errorf("waited %s, want %s", waited, test.want)
				}
				synctest.Wait()
			})
		})
	}
}

func TestPeers_HostsFirst(t *testing.T) {
	var n peers
	asked := n.update("planner", append(guests(0, maxPeers), host("early")), time.Unix(0, 0))
	if len(asked) != maxPeers || asked[0] != "early" {
		t.Fatalf("asked %d, the first is %s", len(asked), asked[0])
	}
	for _, id := range asked {
		n.store(id, nil, true)
		n.finish(id, time.Unix(0, 0))
	}
	asked = n.update("planner", append(guests(0, maxPeers), host("early"), host("late")), time.Unix(1, 0))
	if !slices.Contains(asked, "late") || n.offers["early"] == nil || len(n.offers) > maxPeers {
		t.Errorf("asked %v, %d are kept", asked, len(n.offers))
	}
}
