package space

import (
	"encoding/json"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// deliver processes entries that have become durable, in order of Seq, under
// deliverMu: it folds state entries, puts all entries into the ring and wakes the
// members.
func (s *Space) deliver(entries []*journal.Entry) {
	followed := len(s.cursors.All()) > 0
	out := make([]*ring.Entry, len(entries))
	for i, e := range entries {
		out[i] = ring.NewEntry(e)
	}
	if len(s.members()) > 0 {
		ring.EncodeTogether(out)
	}
	head, before := s.Head(), s.state.Load()
	for i, e := range out {
		if entries[i].State {
			s.fold(entries[i])
		}
		if e.Envelope.Seq > head { // else it was read when the space was opened
			s.track(e, false)
			s.count(entries[i])
			s.tools.Apply(e)
		}
		if !followed {
			e.DropParsed() // nothing reads it from the ring
		}
	}
	s.ring.Put(out)
	s.announceInvited(out)
	s.closeRemoved(before, s.state.Load()) // after the entries that they still receive
	s.wakeAll()
}

// wakeAll wakes the members and cursors that exist after the ring was updated:
// one that is added meanwhile reads the ring before it sleeps.
func (s *Space) wakeAll() {
	for _, m := range s.members() {
		m.wake()
	}
	for _, c := range s.cursors.All() {
		c.wake()
	}
}

// track folds an entry into the contexts and the streams, which may be skipped.
func (s *Space) track(e *ring.Entry, skipStreams bool) {
	s.contexts.Apply(e)
	if ring.IsStream(e.Envelope.Kind) && !skipStreams {
		e.Parse()
		s.streams.Apply(e)
		s.texts.Apply(e, s.now())
	}
}

// fold applies a state entry to the state and notifies members whose rights have
// changed.
func (s *Space) fold(e *journal.Entry) {
	before := s.state.Load()
	if e.Envelope.Seq <= before.Seq {
		return
	}
	after, err := before.Apply(e)
	if err != nil {
		s.log.Error("apply a state entry", "envelope", e.Envelope.ID, "seq", e.Envelope.Seq, "error", err)
	}
	s.state.Store(after)
	switch e.Envelope.Kind {
	case protocol.KindCapabilityGrant: // its recipient has a new welcome even if it adds nothing (section 2)
		s.refreshRights(before, after, protocol.ParticipantIn(e.Payload(), "recipient"))
	case protocol.KindCapabilityRevoke, protocol.KindSpaceInvite:
		s.refreshRights(before, after, "")
	}
}

// closeRemoved closes the connections of participants that were kicked, and
// connections by an invitation token that a later invitation replaced.
func (s *Space) closeRemoved(before, after *authority.State) {
	if before == after {
		return
	}
	for _, m := range s.members() {
		switch {
		case after.IsKicked(m.ID) && !before.IsKicked(m.ID):
			m.Close(Closing{Code: protocol.CloseKicked, Reason: "removed from the space", UpTo: after.Seq})
		case m.VisibleAfter != 0 && after.Member(m.ID).At != m.VisibleAfter:
			m.Close(Closing{Code: protocol.CloseTokenExpired, Reason: "the token was replaced by that of a new invitation", UpTo: after.Seq})
		}
	}
}

// refreshRights sends a new welcome to the recipient's members and to members
// whose capabilities have changed.
func (s *Space) refreshRights(before, after *authority.State, recipient protocol.ParticipantID) {
	now := s.now()
	for _, m := range s.members() {
		m.refreshVisibility()
		if m.ID == recipient || !before.SameRights(now, m.ID, after, now) {
			m.welcomeAgain()
		}
	}
}

// publishLive delivers an envelope that is not stored, after everything that is
// in the log already. It returns the head, which is the envelope's position in an
// acknowledgement.
func (s *Space) publishLive(d *journal.Draft) protocol.Seq {
	e := &journal.Entry{Envelope: d.Envelope, Audience: d.Audience, Private: d.Private}
	s.putLive(ring.NewEntry(e))
	head := s.Head()
	if peers := s.hub.services.Peers; peers != nil {
		if err := peers.Publish(s.name, journal.AppendEntry(nil, e)); err != nil {
			s.log.Debug("pass a live envelope on to the other gateways", "envelope", d.Envelope.ID, "error", err)
		}
	}
	return head
}

func (s *Space) putLive(list ...*ring.Entry) {
	s.deliverMu.Lock()
	s.ring.Put(list)
	s.deliverMu.Unlock()
	s.hub.reclaimRings()
	s.wakeAll()
}

// announceInvited notifies MEW's clients of invited participants; they have no
// other way to learn of them. It skips clients that do not read.
func (s *Space) announceInvited(entries []*ring.Entry) {
	for _, e := range entries {
		if e.Envelope.Kind != protocol.KindSpaceInvite || e.Envelope.Seq == 0 {
			continue
		}
		var clients []*Member
		for _, m := range s.members() {
			if m.CurrentDialect() == protocol.DialectMEW04 {
				clients = append(clients, m)
			}
		}
		if len(clients) == 0 {
			return
		}
		_, g, err := authority.ReadInvitation(e.Envelope, e.Payload(), e.Private())
		if err != nil {
			continue // reported by the fold
		}
		payload := map[string]any{
			"event":       "invited",
			"participant": s.describe(Connected{ID: g.Recipient}, protocol.DialectMEW04, s.now()),
			"invited_by":  e.Envelope.From,
		}
		if reason := e.Payload().Get("reason"); reason.Exists() {
			payload["reason"] = json.RawMessage(reason.Raw())
		}
		for _, m := range clients {
			if m.ID != e.Envelope.From && !m.controlFull() && e.VisibleTo(s.VisibilityOf(m.Viewer())) {
				m.enqueueControl(m.newControl(protocol.KindSystemPresence, "", payload))
			}
		}
	}
}
