package space

import (
	"context"
	"errors"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// admitLive delivers an envelope that the log does not keep. Its id must be free
// all the same.
func (p *publishBatch) admitLive(ctx context.Context, c *pendingEnvelope) {
	taken, err := parent{}, journal.ErrNotFound
	if c.in.Envelope.ID != "" {
		taken, err = p.space.find(ctx, c.draft.Envelope.ID)
	}
	switch {
	case errors.Is(err, journal.ErrNotFound):
		p.stream(ctx, c)
	case err != nil:
		p.refuse(c, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; send it again."))
	case taken.envelope.From != p.from.ID:
		p.refuse(c, duplicate(c.in.Envelope.ID))
	default:
		p.answerRetry(c, taken.envelope.Seq)
	}
}

// publishLive delivers an envelope that the log does not keep, behind
// everything that is in the log already. It returns the head, which is where
// the envelope stands for an acknowledgement.
func (s *Space) publishLive(d *journal.Draft) protocol.Seq {
	e := &journal.Entry{Envelope: d.Envelope, Audience: d.Audience, Private: d.Private}
	s.putLive(newEntry(e))
	head := s.Head()
	if peers := s.hub.services.Peers; peers != nil {
		if err := peers.Publish(s.name, journal.AppendEntry(nil, e)); err != nil {
			s.log.Debug("pass a live envelope on to the other gateways", "envelope", d.Envelope.ID, "error", err)
		}
	}
	return head
}

func (s *Space) putLive(list ...*Entry) {
	s.deliverMu.Lock()
	s.ring.put(list)
	s.deliverMu.Unlock()
	s.hub.reclaimRings()
	s.wakeAll()
}

// receiveLive takes a live envelope from another gateway. One that would
// overtake the log (its sender had seen more than has arrived here) is put in
// all the same: it is advisory, and waiting would need a queue.
func (s *Space) receiveLive(message []byte) {
	e, err := journal.DecodeEntry(message)
	if err != nil {
		s.log.Warn("read a live envelope of another gateway", "error", err)
		return
	}
	e.Envelope.Seq = 0
	s.putLive(newEntry(e))
}
