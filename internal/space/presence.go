package space

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/space/authority"
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
		was, known := before[c.ID]
		if !known {
			s.presenceChangedLocked(c.ID)
		}
		if was != c {
			s.tools.Forget(c.ID)
		}
	}
	for id := range before {
		_, stays := remote[id]
		if !stays {
			s.tools.Forget(id)
		}
		if !stays && !s.hereLocked(id) {
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

// Bounds of presence frames to the members of a space: in a burst and per second,
// of one participant and of all. Further changes are announced later, if they
// still apply then.
const (
	presenceBurst      = 10
	presenceRate       = 1
	spacePresenceBurst = 1000
	spacePresenceRate  = 500
)

// A participant that lingers is present for Linger after its last connection: those of
// adapters last for one request each. Further participants than maxLingering leave at once.
const (
	PresenceLinger = time.Minute
	maxLingering   = 1024
)

// PresenceTracker decides which changes of the presence of participants in a space are
// announced, and when: rapid ones later, if they still apply then. A participant that
// connects again and again can stay present in between. The caller serializes all calls. The zero value is a space without participants.
type PresenceTracker struct {
	known     map[protocol.ParticipantID]*announced
	due       []protocol.ParticipantID // participants whose last frame is outdated, or may be
	all       authority.Allowance
	lingering map[protocol.ParticipantID]time.Time // the time at which each leaves
}

// announced is the last announced presence of a participant.
type announced struct {
	present bool
	due     bool
	frames  authority.Allowance
}

// Announces reports whether a frame about the presence of a participant is sent now: it
// differs from the announced one, and the limits allow it. A frame that they do not allow
// is due later.
func (t *PresenceTracker) Announces(id protocol.ParticipantID, present bool, now time.Time) bool {
	a := t.known[id]
	if a == nil {
		if !present {
			return false
		}
		if t.known == nil {
			t.known = make(map[protocol.ParticipantID]*announced)
		}
		a = &announced{}
		t.known[id] = a
	}
	if a.present == present {
		return false
	}
	if !a.frames.Allow(now, presenceRate, presenceBurst) || !t.all.Allow(now, spacePresenceRate, spacePresenceBurst) {
		if !a.due {
			a.due, t.due = true, append(t.due, id)
		}
		return false
	}
	a.present = present
	return true
}

// Announced reports whether a participant is present by the last frame about it, if a
// further one is delayed; otherwise it returns present.
func (t *PresenceTracker) Announced(id protocol.ParticipantID, present bool) bool {
	if a := t.known[id]; a != nil && a.due {
		return a.present
	}
	return present
}

// Delayed returns the participants whose next frame is delayed. It is valid until the
// next call.
func (t *PresenceTracker) Delayed() []protocol.ParticipantID { return t.due }

// Due returns the participants whose presence may have to be announced: changes that
// were delayed, and participants that linger no longer or were removed. It drops the
// state of participants that left.
func (t *PresenceTracker) Due(now time.Time, isGone func(protocol.ParticipantID) bool) []protocol.ParticipantID {
	list := t.due
	t.due = nil
	for _, id := range list {
		t.known[id].due = false
	}
	for id, end := range t.lingering {
		if !now.Before(end) || isGone(id) {
			delete(t.lingering, id)
			list = append(list, id)
		}
	}
	for id, a := range t.known {
		if !a.present && !a.due && a.frames.Full(now, presenceRate) {
			delete(t.known, id)
		}
	}
	return list
}

// Linger keeps a participant present that has no connection any more.
func (t *PresenceTracker) Linger(id protocol.ParticipantID, now time.Time) {
	if _, lingers := t.lingering[id]; !lingers && len(t.lingering) >= maxLingering {
		return
	}
	if t.lingering == nil {
		t.lingering = make(map[protocol.ParticipantID]time.Time)
	}
	t.lingering[id] = now.Add(PresenceLinger)
}

// Lingers reports whether a participant is present without a connection.
func (t *PresenceTracker) Lingers(id protocol.ParticipantID) bool {
	_, lingers := t.lingering[id]
	return lingers
}

// Lingering returns the participants that linger.
func (t *PresenceTracker) Lingering() []protocol.ParticipantID {
	list := make([]protocol.ParticipantID, 0, len(t.lingering))
	for id := range t.lingering {
		list = append(list, id)
	}
	return list
}
