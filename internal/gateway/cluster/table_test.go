package cluster

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

const (
	expiry   = 6 * time.Second
	interval = 2 * time.Second
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// with adds a peer to a table, with this roster at version 1.
func (t *table) with(gateway string, now time.Time, space string, here []RosterEntry) *peer {
	p := t.markAlive(gateway, now)
	t.snapshot(p, snapshotPart{Version: 1, Last: true, Rosters: []spaceRoster{{space, here}}})
	return p
}

func TestExpiry_WithinTenSeconds(t *testing.T) {
	tab := newTable(expiry)
	tab.tick(start)
	tab.with("g", start, "lab", roster("alice", 1))
	for now := start.Add(interval); ; now = now.Add(interval) {
		changed, gone, lost := tab.tick(now)
		if lost {
			t.Fatal("one's own heartbeats came in time")
		}
		if len(gone) == 0 {
			continue
		}
		if after := now.Sub(start); after > 10*time.Second || after <= expiry {
			t.Errorf("gone after %s", after)
		}
		if !slices.Equal(changed, []string{"lab"}) || tab.union("lab") != nil {
			t.Errorf("changed %v, left %v", changed, tab.union("lab"))
		}
		return
	}
}

func TestExpiry_LocalOutage(t *testing.T) {
	tab := newTable(expiry)
	tab.tick(start)
	tab.with("g", start, "lab", roster("alice", 1))
	back := start.Add(time.Hour)
	changed, gone, lost := tab.tick(back)
	if !lost || len(changed)+len(gone) > 0 {
		t.Errorf("tick after an outage: %v, %v, lost %t", changed, gone, lost)
	}
	// A gateway that does not answer after that is dead.
	for now := back; now.Sub(back) <= expiry; now = now.Add(interval) {
		tab.tick(now)
	}
	_, gone, _ = tab.tick(back.Add(expiry + interval))
	if !slices.Equal(gone, []string{"g"}) {
		t.Errorf("gone: %v", gone)
	}
}

func TestRosterChange_Missed(t *testing.T) {
	tab := newTable(expiry)
	p := tab.with("g", start, "lab", roster("alice", 1))
	if p.shouldRequest(1, start, interval) {
		t.Error("asks though it has that version")
	}
	if changed, ok := tab.change(p, rosterChange{2, "lab", roster("bob", 1)}); !ok || len(changed) != 1 {
		t.Errorf("next change: %v, %t", changed, ok)
	}
	if _, ok := tab.change(p, rosterChange{4, "lab", nil}); ok {
		t.Error("a gap was not noticed")
	}
	if !p.shouldRequest(4, start, interval) || p.shouldRequest(4, start, interval) {
		t.Error("asks not at all, or twice at once")
	}
	if got := tab.union("lab"); !slices.Equal(got, roster("bob", 1)) {
		t.Errorf("until it is known better: %v", got)
	}
	changed := tab.snapshot(p, snapshotPart{Version: 4, Last: true, Rosters: []spaceRoster{{"hub", roster("bob", 1)}}})
	if !slices.Equal(changed, []string{"hub", "lab"}) {
		t.Errorf("changed: %v", changed)
	}
	if _, ok := tab.change(p, rosterChange{3, "lab", roster("x", 1)}); !ok || tab.union("lab") != nil {
		t.Error("an old change was applied")
	}
}

func TestSnapshotParts(t *testing.T) {
	rosters := map[string][]RosterEntry{"a": make([]RosterEntry, partEntries+3), "b": make([]RosterEntry, partEntries)}
	parts := cutSnapshot(7, rosters)
	if len(parts) != 3 || !parts[2].Last {
		t.Fatalf("%d parts", len(parts))
	}
	tab := newTable(expiry)
	p := tab.markAlive("g", start)
	tab.snapshot(p, parts[0])
	tab.snapshot(p, parts[2]) // a part is missing
	if p.known {
		t.Error("half a snapshot was taken")
	}
	for _, part := range parts {
		tab.snapshot(p, part)
	}
	if !p.known || len(p.rosters["a"]) != partEntries+3 || len(p.rosters["b"]) != partEntries {
		t.Error("the parts do not make the whole")
	}
	if empty := cutSnapshot(1, nil); len(empty) != 1 || !empty[0].Last {
		t.Errorf("snapshot of nothing: %+v", empty)
	}
}

func TestTable_Bounds(t *testing.T) {
	tab := newTable(expiry)
	for i := range 2 * maxPeers {
		tab.markAlive(time.Duration(i).String(), start)
	}
	if len(tab.peers) != maxPeers {
		t.Errorf("%d peers", len(tab.peers))
	}
	tab = newTable(expiry)
	p := tab.markAlive("g", start)
	part := snapshotPart{Version: 1, Rosters: []spaceRoster{{"lab", make([]RosterEntry, partEntries)}}}
	for i := range 2 * maxEntries / partEntries {
		part.Part = i
		tab.snapshot(p, part)
	}
	if p.partial != nil {
		t.Error("a snapshot without end is collected")
	}
}

func FuzzMessages(f *testing.F) {
	f.Add("meup.gw.g.roster", []byte(`{"version":1,"space":"lab","here":[{"id":"alice","n":1}]}`))
	f.Add("meup.gw.g.snapshot", []byte(`{"version":1,"last":true,"rosters":[{"space":"lab","here":[{"id":"alice","n":1}]}]}`))
	f.Add("meup.gw.g.live.a%2Eb", []byte("{}"))
	f.Add("meup.gw.g.", []byte("{}"))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		if gateway, op, _, ok := newSubjects("meup").parse(subject); ok && (gateway == "" || op == "") {
			t.Errorf("%q has gateway %q and op %q", subject, gateway, op)
		}
		tab := newTable(expiry)
		p := tab.markAlive("g", start)
		var part snapshotPart
		if json.Unmarshal(data, &part) == nil {
			tab.snapshot(p, part)
		}
		var c rosterChange
		if json.Unmarshal(data, &c) == nil && validRoster(c.Space, c.Here) {
			p.known, p.version = true, c.Version-1
			tab.change(p, c)
		}
		for _, space := range tab.spaces() {
			tab.union(space)
		}
	})
}

func TestTable_UnionOfTools(t *testing.T) {
	tab := newTable(expiry)
	tab.with("a", start, "lab", []RosterEntry{{ID: "files", Connections: 1}})
	tab.with("b", start, "lab", []RosterEntry{{ID: "files", Connections: 2, Tools: true}})
	tab.with("c", start, "lab", []RosterEntry{{ID: "files", Connections: 1}})
	want := []RosterEntry{{ID: "files", Connections: 4, Tools: true}}
	if got := tab.union("lab"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
