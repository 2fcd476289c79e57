package space

import (
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// deliver takes what has become durable: it folds what changes the state, puts
// the rest into the ring and wakes the members. The journal calls it, in order
// of Seq.
func (s *Space) deliver(entries []*journal.Entry) {
	s.deliverMu.Lock()
	defer s.deliverMu.Unlock()
	if s.loading {
		s.pending = append(s.pending, entries...)
		return
	}
	s.put(entries)
}

func (s *Space) put(entries []*journal.Entry) {
	out := make([]*Entry, len(entries))
	for i, e := range entries {
		out[i] = newEntry(e)
	}
	if len(s.members()) > 0 {
		encodeTogether(out)
	}
	head, before := s.Head(), s.state.Load()
	for _, e := range entries {
		if e.State {
			s.fold(e)
		}
		if e.Envelope.Seq <= head {
			continue // read when the space was opened
		}
		s.contexts.note(e)
		s.streams.note(&e.Envelope)
	}
	s.ring.put(out)
	s.announceInvited(out)
	s.closeRemoved(before, s.state.Load()) // behind what they still get
	s.rouse()
}

func (s *Space) rouse() {
	for _, m := range s.members() {
		m.rouse()
	}
	for _, c := range s.following() {
		c.rouse()
	}
}

// fold brings the state up to a state entry, and tells those whose rights have
// changed.
func (s *Space) fold(e *journal.Entry) {
	before := s.state.Load()
	if e.Envelope.Seq <= before.seq {
		return
	}
	after, err := before.apply(e)
	if err != nil {
		s.log.Error("apply a state entry", "envelope", e.Envelope.ID, "seq", e.Envelope.Seq, "error", err)
	}
	s.state.Store(after)
	switch e.Envelope.Kind {
	case protocol.KindCapabilityGrant, protocol.KindCapabilityRevoke, protocol.KindSpaceInvite:
		s.refreshRights(before, after, recipientOf(&e.Envelope))
	}
}

// recipientOf returns whom a grant is for, who gets a fresh welcome even when
// it gives nothing new (section 2); "" for anything else.
func recipientOf(e *protocol.Envelope) protocol.ParticipantID {
	if e.Kind != protocol.KindCapabilityGrant {
		return ""
	}
	doc, err := protocol.ParseJSON(e.Payload, protocol.MaxDepth)
	if err != nil {
		return "" // the fold has said so
	}
	return participantIn(doc.Root(), "recipient")
}

// closeRemoved ends the connections of participants that were kicked, and those
// by the token of an invitation that a later one has replaced.
func (s *Space) closeRemoved(before, after *State) {
	if before == after {
		return
	}
	for _, m := range s.members() {
		switch {
		case after.kicked(m.ID) && !before.kicked(m.ID):
			m.Close(Closing{Code: protocol.CloseKicked, Reason: "removed from the space", UpTo: after.seq})
		case m.VisibleAfter != 0 && after.member(m.ID).at != m.VisibleAfter:
			m.Close(Closing{Code: protocol.CloseTokenExpired, Reason: "the token was replaced by that of a new invitation", UpTo: after.seq})
		}
	}
}

// refreshRights sends a fresh welcome to the members whose capabilities have
// changed, and to those of the recipient.
func (s *Space) refreshRights(before, after *State, recipient protocol.ParticipantID) {
	now := s.now()
	for _, m := range s.members() {
		m.refreshObserves()
		if m.ID == recipient || !before.sameRights(after, m.ID, now) {
			m.welcomeAgain()
		}
	}
}

// refreshObserves notes whether the member may see what is addressed to others
// now. Several that change the state may call it at the same time: whoever is
// last has looked at what the last one has made.
func (m *Member) refreshObserves() {
	for {
		st := m.space.state.Load()
		m.observes.Store(st.observes(m.ID, m.space.now()))
		if m.space.state.Load() == st {
			return
		}
	}
}

func (m *Member) welcomeAgain() {
	m.mu.Lock()
	m.welcomeDue = true
	m.mu.Unlock()
	m.rouse()
}
