package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds on the state that other gateways can create here.
const (
	maxPeers       = 1024
	maxEntries     = 200_000 // of one gateway
	maxConnections = 1 << 20 // of one participant
)

// table is the state of the other gateways. It does no I/O and has no clock.
// Its methods return the spaces in which the union of rosters changed.
type table struct {
	expiry            time.Duration
	peers             map[string]*peer
	lastSelfHeartbeat time.Time // when the gateway's own heartbeat was last received
}

// peer is another gateway.
type peer struct {
	lastSeen time.Time
	asked    time.Time
	known    bool // rosters are at version
	version  uint64
	rosters  map[string][]RosterEntry
	entries  int

	partial *snapshotPart // the parts of a snapshot received so far
	size    int           // its number of entries
}

func newTable(expiry time.Duration) *table {
	return &table{expiry: expiry, peers: make(map[string]*peer)}
}

// markAlive records that a gateway is alive and returns its peer; nil if there are
// too many.
func (t *table) markAlive(gateway string, now time.Time) *peer {
	p := t.peers[gateway]
	if p == nil {
		if len(t.peers) >= maxPeers {
			return nil
		}
		p = &peer{rosters: make(map[string][]RosterEntry)}
		t.peers[gateway] = p
	}
	p.lastSeen = now
	return p
}

// shouldRequest reports whether to request a snapshot from the peer, because its rosters
// have another version. It returns true at most once per pause.
func (p *peer) shouldRequest(version uint64, now time.Time, pause time.Duration) bool {
	if p.known && p.version == version || now.Sub(p.asked) < pause {
		return false
	}
	p.asked = now
	return true
}

// change applies a change of one space. ok is false if earlier changes are
// missing.
func (t *table) change(p *peer, c rosterChange) (changed []string, ok bool) {
	if p.known && c.Version <= p.version {
		return nil, true // already in a snapshot that was received meanwhile
	}
	entries := p.entries - len(p.rosters[c.Space]) + len(c.Here)
	if !p.known || c.Version != p.version+1 || entries > maxEntries {
		p.known = false
		return nil, false
	}
	before := t.union(c.Space)
	p.version, p.entries = c.Version, entries
	if len(c.Here) > 0 {
		p.rosters[c.Space] = c.Here
	} else {
		delete(p.rosters, c.Space)
	}
	if !slices.Equal(before, t.union(c.Space)) {
		changed = []string{c.Space}
	}
	return changed, true
}

// snapshot adds a part of all rosters, and applies them with the last part.
func (t *table) snapshot(p *peer, part snapshotPart) (changed []string) {
	if p.known && p.version == part.Version {
		return nil // another gateway requested it
	}
	if part.Part == 0 {
		p.partial, p.size = &snapshotPart{Version: part.Version}, 0
	}
	if p.partial == nil || p.partial.Version != part.Version || p.partial.Part != part.Part {
		p.partial = nil
		return nil
	}
	for _, r := range part.Rosters {
		p.size += len(r.Here)
	}
	if p.size > maxEntries {
		p.partial = nil
		return nil
	}
	p.partial.Rosters = append(p.partial.Rosters, part.Rosters...)
	p.partial.Part++
	if !part.Last {
		return nil
	}
	rosters := make(map[string][]RosterEntry)
	for _, r := range p.partial.Rosters {
		rosters[r.Space] = append(rosters[r.Space], r.Here...)
	}
	p.known, p.version, p.partial = true, part.Version, nil
	return t.replace(p, rosters, p.size)
}

// replace replaces the rosters of a peer, and returns the spaces where the
// union changed.
func (t *table) replace(p *peer, rosters map[string][]RosterEntry, entries int) (changed []string) {
	spaces := maps.Clone(p.rosters)
	maps.Copy(spaces, rosters)
	before := make(map[string][]RosterEntry)
	for space := range spaces {
		if !slices.Equal(p.rosters[space], rosters[space]) {
			before[space] = t.union(space)
		}
	}
	p.rosters, p.entries = rosters, entries
	for _, space := range sortedKeys(before) {
		if !slices.Equal(before[space], t.union(space)) {
			changed = append(changed, space)
		}
	}
	return changed
}

// remove drops a peer.
func (t *table) remove(gateway string) (changed []string) {
	p := t.peers[gateway]
	if p == nil {
		return nil
	}
	changed = t.replace(p, nil, 0)
	delete(t.peers, gateway)
	return changed
}

// spaces returns the spaces with participants on other gateways.
func (t *table) spaces() []string {
	all := make(map[string]bool)
	for _, p := range t.peers {
		for space := range p.rosters {
			all[space] = true
		}
	}
	return sortedKeys(all)
}

// tick is called when the gateway's own heartbeat arrives. It removes peers
// whose heartbeats are missing for too long. lost is true after a local outage,
// and at the start: the caller should send a hello, and no peer is removed
// because of the outage.
func (t *table) tick(now time.Time) (changed []string, gone []string, lost bool) {
	lost = now.Sub(t.lastSelfHeartbeat) > t.expiry/2
	t.lastSelfHeartbeat = now
	for gateway, p := range t.peers {
		switch {
		case lost:
			p.lastSeen = now
		case now.Sub(p.lastSeen) > t.expiry:
			gone = append(gone, gateway)
		}
	}
	slices.Sort(gone)
	for _, gateway := range gone {
		changed = append(changed, t.remove(gateway)...)
	}
	slices.Sort(changed)
	return slices.Compact(changed), gone, lost
}

// union adds up the rosters of a space, sorted by id; nil without participants.
func (t *table) union(space string) []RosterEntry {
	sum := make(map[protocol.ParticipantID]RosterEntry)
	for _, p := range t.peers {
		for _, e := range p.rosters[space] {
			e.Connections += sum[e.ID].Connections
			e.Tools = e.Tools || sum[e.ID].Tools
			sum[e.ID] = e
		}
	}
	var here []RosterEntry
	for _, e := range sum {
		here = append(here, e)
	}
	sortRoster(here)
	return here
}

func sortRoster(here []RosterEntry) {
	slices.SortFunc(here, func(a, b RosterEntry) int { return cmp.Compare(a.ID, b.ID) })
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
