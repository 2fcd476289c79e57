package space

import (
	"context"
	"errors"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// claimGrace is how long the claims of a participant outlast its last connection at any gateway. One
// that had none since it claimed something keeps its claims until they end.
const claimGrace = 5 * time.Minute

// Claims returns the claims in force.
func (s *Space) Claims() []authority.Claim { return s.state.Load().Claims(s.now()) }

// NeedsClaims returns the absolute paths that a participant has to claim so that its capabilities allow a
// call; nil: they allow it without, or not at all.
func (s *Space) NeedsClaims(id protocol.ParticipantID, e *protocol.Envelope) []string {
	return s.state.Load().NeedsClaims(id, e, s.now())
}

// claimRelease bounds how long a release waits for the log.
const claimRelease = time.Second

// releaseClaims releases the claims of participants that left. Hub.Run calls it every second.
func (s *Space) releaseClaims(ctx context.Context, now time.Time) {
	st := s.state.Load()
	holders := st.Claimants()
	if len(holders) == 0 {
		s.claimants = nil
		return
	}
	seen := make(map[protocol.ParticipantID]time.Time, len(holders))
	var left []protocol.ParticipantID
	s.mu.Lock()
	for _, id := range holders {
		last, known := s.claimants[id]
		switch {
		case s.isPresentLocked(id):
			seen[id] = now
		case known && now.Sub(last) >= claimGrace:
			left = append(left, id)
			seen[id] = last // until the state says so
		case known:
			seen[id] = last
		}
	}
	s.mu.Unlock()
	s.claimants = seen
	for _, id := range left {
		if err := s.releaseAll(ctx, st, id); err != nil {
			s.log.Warn("release the claims of a participant that left", "participant", id, "error", err)
		}
	}
}

// releaseAll records that a participant holds nothing. Another gateway may do so too; the second one
// is stale.
func (s *Space) releaseAll(ctx context.Context, st *authority.State, id protocol.ParticipantID) error {
	e, err := protocol.FromGateway(s.hub.newID(), protocol.KindRelease, s.now(), map[string]any{"participant_id": id, "reason": "the participant left"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, claimRelease)
	defer cancel()
	r := s.journal().Append(ctx, s.name, []journal.Draft{{Envelope: e, State: true, CheckedAtStateSeq: st.Seq}})[0]
	if errors.Is(r.Err, journal.ErrStale) {
		return nil // the next call tries again
	}
	return r.Err
}
