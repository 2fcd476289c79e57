package admission

import (
	"context"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// AdmitGuest records a participant that the configuration does not name, so that
// every gateway accepts it as an addressee while it is disconnected. It does not wait
// for the log if the participant is known.
func (s *View) AdmitGuest(ctx context.Context, id protocol.ParticipantID) error {
	if s.State.Load().IsKnown(id) {
		s.NoteGuest(id)
		return nil
	}
	if !s.State.Load().Admits(id) { // the configuration is being changed: no guest
		return protocol.Errorf(protocol.CodeUnavailable, "The configuration of the space is being changed; try again.")
	}
	if err := s.recordGuests(ctx, id); err != nil {
		s.Log.Warn("note a guest", "participant", id, "error", err)
		return protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot take anything now; try again.")
	}
	return nil
}

// NoteGuest notes that a participant is connected or has made a request. RecordGuests
// records it if it is a guest that is due.
func (s *View) NoteGuest(id protocol.ParticipantID) {
	if s.State.Load().IsGuestDue(id, s.Now()) {
		s.dueGuests.Store(id, nil)
	}
}

// RecordGuests records the guests again that were noted and are still due. After an
// error they stay noted.
func (s *View) RecordGuests(ctx context.Context) error {
	var due []protocol.ParticipantID
	for key := range s.dueGuests.Range {
		id := key.(protocol.ParticipantID) //nolint:forcetypeassert // the map holds nothing else
		if s.State.Load().IsGuestDue(id, s.Now()) {
			due = append(due, id)
		} else {
			s.dueGuests.Delete(id) // another gateway has recorded it
		}
	}
	if err := s.recordGuests(ctx, due...); err != nil {
		return err
	}
	for _, id := range due {
		s.dueGuests.Delete(id)
	}
	return nil
}

func (s *View) recordGuests(ctx context.Context, ids ...protocol.ParticipantID) error {
	drafts := make([]journal.Draft, len(ids))
	for i, id := range ids {
		e, err := protocol.FromGateway(s.NewID(), authority.KindSystemMember, s.Now(), map[string]any{"participant_id": id})
		if err != nil {
			return err
		}
		drafts[i] = journal.Draft{Envelope: e, State: true, Hidden: true}
	}
	return s.record(ctx, drafts...)
}
