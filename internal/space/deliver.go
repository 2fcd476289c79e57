package space

import (
	"context"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// maxPending and maxPendingBytes, of payloads, bound the entries that are
// buffered while a space is being opened.
const (
	maxPending      = 1024
	maxPendingBytes = 4 << 20
)

// keepPending buffers entries until the space is open. Beyond the bounds it drops
// all of them; they are read from the log later.
func (s *Space) keepPending(entries []*journal.Entry) {
	for _, e := range entries {
		s.pendingBytes += len(e.Envelope.Payload)
	}
	if len(s.pending)+len(entries) > maxPending || s.pendingBytes > maxPendingBytes {
		s.pending, s.pendingBytes = nil, 0
		s.dropped = entries[len(entries)-1].Envelope.Seq
		return
	}
	s.pending = append(s.pending, entries...)
}

// startDelivery ends the opening: it puts the pending entries after the ones that
// were read. If pending entries were dropped, it returns false and the caller
// must read more of the log.
func (s *Space) startDelivery() bool {
	s.deliverMu.Lock()
	defer s.deliverMu.Unlock()
	if s.Head() < s.dropped && !s.retired.Load() {
		// Some of the pending entries may have been read too; the ring skips them.
		return false
	}
	s.loading = false
	s.deliver(s.pending)
	s.pending = nil
	return true
}

// readBatch is how many entries readOn puts at once.
const readBatch = 256

// readOn puts the entries of the log after the head.
func (s *Space) readOn(ctx context.Context) error {
	batch := make([]*journal.Entry, 0, readBatch)
	put := func() {
		s.deliverMu.Lock()
		s.deliver(batch)
		s.deliverMu.Unlock()
		batch = batch[:0]
	}
	for e, err := range s.journal().Range(ctx, s.name, journal.Query{After: s.Head()}) {
		if err != nil {
			return err
		}
		batch = append(batch, e)
		if len(batch) == readBatch {
			put()
		}
	}
	put()
	return nil
}

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
	case protocol.KindCapabilityGrant, protocol.KindCapabilityRevoke, protocol.KindSpaceInvite:
		s.refreshRights(before, after, recipientOf(e))
	}
}

// recipientOf returns the recipient of a grant, which receives a new welcome even
// if the grant adds nothing (section 2); "" for any other kind.
func recipientOf(e *journal.Entry) protocol.ParticipantID {
	if e.Envelope.Kind != protocol.KindCapabilityGrant {
		return ""
	}
	return protocol.ParticipantIn(e.Payload(), "recipient")
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

// refreshVisibility stores the member's current visibility. Concurrent changes of
// the state may call it at the same time; the last one to store has read the
// latest state.
func (m *Member) refreshVisibility() {
	for {
		st := m.space.state.Load()
		visible := st.Visibility(m.Viewer(), m.space.now())
		m.visibility.Store(&visible)
		if m.space.state.Load() == st {
			return
		}
	}
}

func (m *Member) welcomeAgain() {
	m.mu.Lock()
	m.welcomeDue = true
	m.mu.Unlock()
	m.wake()
}
