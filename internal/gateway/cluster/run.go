package cluster

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// run owns the protocol state and sends all messages. It ends with Close.
func (p *Peers) run() {
	status := p.nc.StatusChanged(nats.CONNECTED)
	defer func(c chan nats.Status) { p.nc.RemoveStatusListener(c) }(status)
	ticker := time.NewTicker(p.opts.Interval)
	defer ticker.Stop()
	spending := time.NewTicker(p.opts.Interval / spendingPerInterval)
	defer spending.Stop()
	p.introduce()
	for {
		select {
		case <-p.stop:
			return
		case _, ok := <-status:
			if !ok { // the connection was closed permanently
				status = nil
			}
			p.introduce()
		case <-ticker.C:
			p.sendHeartbeat()
		case <-spending.C:
			p.sendSpending()
		case <-p.due:
			p.announce()
			p.sendSnapshot()
		case <-p.renotify:
			p.mu.Lock()
			remote := p.table.spaces()
			p.mu.Unlock()
			p.notify(remote)
		case <-p.wake:
			p.announce()
		case m := <-p.messages:
			p.handle(m)
		}
	}
}

// introduce sends all rosters to the others and requests theirs.
func (p *Peers) introduce() {
	p.announce()
	p.sendControl(opHello, hello{})
	p.sendSnapshot()
	p.sendHeartbeat()
}

// announce sends the changes since the last announcement.
func (p *Peers) announce() {
	p.mu.Lock()
	changes := make(map[string][]RosterEntry, len(p.dirty))
	for space := range p.dirty {
		changes[space] = p.local[space]
	}
	clear(p.dirty)
	p.mu.Unlock()
	large := false
	for _, space := range sortedKeys(changes) {
		p.version++
		here := changes[space]
		if len(here) > partEntries {
			large = true
			continue
		}
		p.sendControl(opRoster, rosterChange{p.version, space, here})
	}
	if large {
		p.sendSnapshot()
	}
}

func (p *Peers) sendSnapshot() {
	p.due, p.answered = nil, time.Now()
	p.mu.Lock()
	rosters := maps.Clone(p.local) // the entries are shared
	p.mu.Unlock()
	for _, part := range cutSnapshot(p.version, rosters) {
		p.sendControl(opSnapshot, part)
	}
}

func (p *Peers) sendHeartbeat() { p.sendControl(opHeartbeat, heartbeat{p.version}) }

// spendingPerInterval is how often spending is sent in the interval of heartbeats.
const spendingPerInterval = 4

// spendingEntries is the number of participants in a message: at most about 300 kB.
const spendingEntries = 500

// sendSpending sends the tokens spent since the last call. During an outage of NATS
// it stays with the buckets.
func (p *Peers) sendSpending() {
	f := p.spending.Load()
	if f == nil || !p.nc.IsConnected() {
		return
	}
	for part := range slices.Chunk(f.take(), spendingEntries) {
		p.sendControl(opSpent, part)
	}
}

// sendControl sends a message. During an outage of NATS it is lost, which the
// next heartbeat reveals.
func (p *Peers) sendControl(op string, message any) {
	if p.nc.IsConnected() {
		data, _ := json.Marshal(message) // cannot fail for the messages of this package
		_ = p.nc.Publish(p.subjects.control(p.gateway, op), data)
	}
}

// handle processes a message from NATS. It ignores malformed ones.
func (p *Peers) handle(m *nats.Msg) {
	gateway, op, space, ok := p.subjects.parse(m.Subject)
	if !ok {
		return
	}
	if gateway == p.gateway {
		if op == opHeartbeat {
			p.onSelfHeartbeat()
		}
		return
	}
	switch op {
	case opLive:
		if f := p.onMessage.Load(); f != nil {
			(*f)(space, m.Data)
		}
	case opHeartbeat:
		var b heartbeat
		if json.Unmarshal(m.Data, &b) != nil {
			return
		}
		now := p.opts.Now()
		p.mu.Lock()
		other := p.markAlive(gateway, now)
		ask := other != nil && other.shouldRequest(b.Version, now, p.opts.Interval)
		p.mu.Unlock()
		if ask {
			p.sendControl(opHello, hello{To: gateway})
		}
	case opRoster:
		p.handleRoster(gateway, m.Data)
	case opSnapshot:
		p.handleSnapshot(gateway, m.Data)
	case opHello:
		var h hello
		if json.Unmarshal(m.Data, &h) != nil || h.To != "" && h.To != p.gateway {
			return
		}
		// After an outage of NATS many gateways may request a snapshot, so at most one is
		// sent per tenth of a heartbeat interval.
		if p.due == nil {
			p.due = time.After(p.opts.Interval/10 - time.Since(p.answered))
		}
	case opSpent:
		var there []Spending
		if f := p.spending.Load(); f != nil && json.Unmarshal(m.Data, &there) == nil && validSpending(there) {
			f.charge(there)
		}
	case opBye:
		p.mu.Lock()
		_, known := p.table.peers[gateway]
		changed := p.table.remove(gateway)
		p.mu.Unlock()
		if known {
			p.log.Info("another gateway left", "gateway", gateway)
		}
		p.notify(changed)
	}
}

// onSelfHeartbeat advances the clock for the other gateways; see the package
// comment.
func (p *Peers) onSelfHeartbeat() {
	p.mu.Lock()
	first := p.table.lastSelfHeartbeat.IsZero()
	changed, gone, lost := p.table.tick(p.opts.Now())
	p.mu.Unlock()
	for _, gateway := range gone {
		p.log.Warn("another gateway timed out", "gateway", gateway)
	}
	p.notify(changed)
	if lost && !first {
		p.introduce()
	}
}

// markAlive records that a gateway is alive. The caller holds mu.
func (p *Peers) markAlive(gateway string, now time.Time) *peer {
	before := len(p.table.peers)
	other := p.table.markAlive(gateway, now)
	if len(p.table.peers) > before {
		p.log.Info("another gateway joined", "gateway", gateway)
	}
	return other
}

func (p *Peers) handleRoster(gateway string, data []byte) {
	var c rosterChange
	if json.Unmarshal(data, &c) != nil || !validRoster(c.Space, c.Here) {
		return
	}
	now := p.opts.Now()
	p.mu.Lock()
	other := p.markAlive(gateway, now)
	if other == nil {
		p.mu.Unlock()
		return
	}
	changed, ok := p.table.change(other, c)
	ask := !ok && other.shouldRequest(c.Version, now, p.opts.Interval)
	p.mu.Unlock()
	p.notify(changed)
	if ask {
		p.sendControl(opHello, hello{To: gateway})
	}
}

func (p *Peers) handleSnapshot(gateway string, data []byte) {
	var part snapshotPart
	if json.Unmarshal(data, &part) != nil {
		return
	}
	for _, r := range part.Rosters {
		if !validRoster(r.Space, r.Here) {
			return
		}
	}
	p.mu.Lock()
	var changed []string
	if other := p.markAlive(gateway, p.opts.Now()); other != nil {
		changed = p.table.snapshot(other, part)
	}
	p.mu.Unlock()
	p.notify(changed)
}

// notify calls the OnRoster callback for the spaces.
func (p *Peers) notify(changed []string) {
	f := p.onRoster.Load()
	if f == nil {
		return
	}
	for _, space := range changed {
		(*f)(space, p.Remote(space))
	}
}
