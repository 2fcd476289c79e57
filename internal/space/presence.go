package space

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// What presence may cost the members of a space: frames in a burst and frames
// per second, of one participant and of all. What exceeds it is announced
// later, and only if it is still news then.
const (
	presenceBurst      = 10
	presenceRate       = 1
	spacePresenceBurst = 1000
	spacePresenceRate  = 500
	rosterInterval     = time.Second // between reports to the other gateways
)

// presence is the part of a space that announces who comes and goes. It is
// guarded by Space.mu.
type presence struct {
	known map[protocol.ParticipantID]*announced
	due   []protocol.ParticipantID // whose last frame is not true any more, or was not
	all   allowance

	reported  time.Time // when the roster was last given to the other gateways
	reportDue bool
}

// announced is what the members of a space were told about a participant.
type announced struct {
	present bool
	due     bool
	frames  allowance
}

// allowance is a token bucket.
type allowance struct {
	spent float64
	at    time.Time
}

// allow takes one token, if there is one.
func (a *allowance) allow(now time.Time, rate, burst float64) bool {
	if passed := now.Sub(a.at).Seconds(); passed > 0 {
		a.spent, a.at = max(0, a.spent-passed*rate), now
	}
	if a.spent+1 > burst {
		return false
	}
	a.spent++
	return true
}

// full reports whether nothing of the bucket is missing.
func (a *allowance) full(now time.Time, rate float64) bool {
	return a.spent <= now.Sub(a.at).Seconds()*rate
}

func (s *Space) isPresentLocked(id protocol.ParticipantID) bool {
	_, remote := s.remote[id]
	return remote || s.hereLocked(id)
}

func (s *Space) hereLocked(id protocol.ParticipantID) bool {
	p := s.participants[id]
	return p != nil && p.connections > 0
}

// presenceChangedLocked announces that a participant has come or gone, now or
// with the next announceDue. It is called under mu, so that who comes and goes
// quickly is announced in that order.
func (s *Space) presenceChangedLocked(id protocol.ParticipantID) {
	if e := s.announceLocked(id, s.now()); e != nil {
		s.putLive(e)
	}
}

// announceLocked returns the frame that is due about a participant, if it may
// go out now.
func (s *Space) announceLocked(id protocol.ParticipantID, now time.Time) *Entry {
	p, present := &s.presence, s.isPresentLocked(id)
	a := p.known[id]
	if a == nil {
		if !present {
			return nil
		}
		if p.known == nil {
			p.known = make(map[protocol.ParticipantID]*announced)
		}
		a = &announced{}
		p.known[id] = a
	}
	if a.present == present {
		return nil
	}
	if !a.frames.allow(now, presenceRate, presenceBurst) || !p.all.allow(now, spacePresenceRate, spacePresenceBurst) {
		if !a.due {
			a.due, p.due = true, append(p.due, id)
		}
		return nil
	}
	a.present = present
	if present {
		s.log.Debug("participant joined", "participant", id)
		return s.presenceEntryLocked(protocol.PresenceJoin, id, now)
	}
	s.log.Debug("participant left", "participant", id)
	return s.presenceEntryLocked(protocol.PresenceLeave, id, now)
}

// announceDue announces what had to wait, and forgets participants that are
// gone. Hub.Run calls it every second.
func (s *Space) announceDue(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.presence
	waiting := p.due
	p.due = nil
	var list []*Entry
	for _, id := range waiting {
		p.known[id].due = false
		if e := s.announceLocked(id, now); e != nil {
			list = append(list, e)
		}
	}
	if len(list) > 0 {
		s.putLive(list...)
	}
	for id, a := range p.known {
		if !a.present && !a.due && a.frames.full(now, presenceRate) {
			delete(p.known, id)
		}
	}
	if p.reportDue {
		s.reportRosterLocked(now)
	}
}

func (s *Space) presenceEntryLocked(event string, id protocol.ParticipantID, now time.Time) *Entry {
	var spelled [protocol.DialectCount]json.RawMessage
	var e protocol.Envelope
	for d := range spelled {
		var err error
		p := protocol.Presence{Event: event, Participant: s.describe(s.connectedLocked(id), protocol.Dialect(d), now)}
		if e, err = protocol.FromGateway(s.hub.newID(), protocol.KindSystemPresence, now, p); err != nil {
			s.log.Error("encode presence", "participant", id, "error", err)
			return nil
		}
		spelled[d] = e.Payload
	}
	e.Payload = spelled[protocol.DialectMEUP01]
	return &Entry{Envelope: &e, except: id, spelled: &spelled}
}

// rosterChangedLocked has the other gateways told who is here, at most once
// each rosterInterval: the roster is given as a whole.
func (s *Space) rosterChangedLocked() {
	if s.hub.services.Peers == nil {
		return
	}
	s.presence.reportDue = true
	if now := s.now(); now.Sub(s.presence.reported) >= rosterInterval {
		s.reportRosterLocked(now)
	}
}

func (s *Space) reportRosterLocked(now time.Time) {
	s.presence.reportDue, s.presence.reported = false, now
	if s.retired.Load() && s.hub.lookupOpen(s.name) != nil {
		return // a space that was opened after this one reports
	}
	var here []Connected
	for id, p := range s.participants {
		if p.connections > 0 {
			here = append(here, Connected{id, p.toolHosts > 0})
		}
	}
	s.hub.services.Peers.SetRoster(s.name, here)
}

// setRemote takes who is connected to the other gateways, and announces those
// who came or went there.
func (s *Space) setRemote(there []Connected) {
	remote := make(map[protocol.ParticipantID]Connected, len(there))
	for _, c := range there {
		remote[c.ID] = c
	}
	s.mu.Lock()
	before := s.remote
	s.remote = remote
	var went []protocol.ParticipantID
	for _, c := range there {
		if _, known := before[c.ID]; !known {
			s.presenceChangedLocked(c.ID)
		}
	}
	for id := range before {
		if _, stays := remote[id]; !stays && !s.hereLocked(id) {
			went = append(went, id)
		}
	}
	slices.Sort(went)
	for _, id := range went {
		s.presenceChangedLocked(id)
	}
	s.mu.Unlock()
	for _, id := range went {
		s.endStreamsOf(id)
		s.streams.drop(s.streams.ownedBy(id))
	}
}
