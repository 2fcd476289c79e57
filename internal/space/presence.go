package space

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

const rosterInterval = time.Second // between reports to the other gateways

func (s *Space) isPresentLocked(id protocol.ParticipantID) bool {
	_, remote := s.remote[id]
	return remote || s.hereLocked(id)
}

func (s *Space) hereLocked(id protocol.ParticipantID) bool {
	p := s.participants[id]
	return p != nil && p.connections > 0 || s.presence.Lingers(id)
}

// presenceChangedLocked announces that a participant has connected or
// disconnected, now or with the next announceDue. It is called under mu, so that
// quick changes are announced in order.
func (s *Space) presenceChangedLocked(id protocol.ParticipantID) {
	if e := s.announceLocked(id, s.now()); e != nil {
		s.putLive(e)
	}
}

// announceLocked returns the frame about a participant, if one is due and the
// limits allow it.
func (s *Space) announceLocked(id protocol.ParticipantID, now time.Time) *ring.Entry {
	present := s.isPresentLocked(id)
	if !s.presence.Announces(id, present, now) {
		return nil
	}
	if present {
		s.log.Debug("participant joined", "participant", id)
		return s.presenceEntryLocked(protocol.PresenceJoin, id, now)
	}
	s.log.Debug("participant left", "participant", id)
	return s.presenceEntryLocked(protocol.PresenceLeave, id, now)
}

// announceDue announces delayed changes, and the participants that linger no longer.
// Hub.Run calls it every second.
func (s *Space) announceDue(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lingered := len(s.presence.Lingering())
	var list []*ring.Entry
	st := s.state.Load()
	for _, id := range s.presence.Due(now, st.IsGone) {
		if e := s.announceLocked(id, now); e != nil {
			list = append(list, e)
		}
	}
	if len(list) > 0 {
		s.putLive(list...)
	}
	if len(s.presence.Lingering()) != lingered {
		s.rosterChangedLocked()
	}
	if s.roster.due {
		s.reportRosterLocked(now)
	}
}

func (s *Space) presenceEntryLocked(event string, id protocol.ParticipantID, now time.Time) *ring.Entry {
	var spelled [protocol.DialectCount]json.RawMessage
	var e protocol.Envelope
	for d := range spelled {
		var err error
		p := protocol.Presence{Event: event, Participant: s.describe(s.connectedLocked(id), protocol.Dialect(d), now)}
		e, err = protocol.FromGateway(s.hub.newID(), protocol.KindSystemPresence, now, p)
		if err != nil {
			s.log.Error("encode presence", "participant", id, "error", err)
			return nil
		}
		spelled[d] = e.Payload
	}
	e.Payload = spelled[protocol.DialectMEUP01]
	return ring.NewPresence(&e, id, &spelled)
}

// rosterChangedLocked reports the roster to the other gateways, at most once per
// rosterInterval, since each report is the whole roster.
func (s *Space) rosterChangedLocked() {
	if s.hub.services.Peers == nil {
		return
	}
	s.roster.due = true
	if now := s.now(); now.Sub(s.roster.reported) >= rosterInterval {
		s.reportRosterLocked(now)
	}
}

func (s *Space) reportRosterLocked(now time.Time) {
	s.roster.due, s.roster.reported = false, now
	if s.retired.Load() && s.hub.Lookup(s.name) != nil {
		return // the space that was opened after this one reports
	}
	var here []Connected
	for id, p := range s.participants {
		if p.connections > 0 {
			here = append(here, Connected{id, p.connections, p.toolHosts > 0})
		}
	}
	for _, id := range s.presence.Lingering() {
		if p := s.participants[id]; !s.retired.Load() && (p == nil || p.connections == 0) {
			here = append(here, Connected{ID: id})
		}
	}
	s.hub.services.Peers.SetRoster(s.name, here)
}

// setRemote replaces the set of participants at the other gateways and announces
// the changes.
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
		s.admission.EndStreams(id)
		s.streams.Drop(s.streams.OwnedBy(id))
	}
}
