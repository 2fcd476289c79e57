package space

import (
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

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

// receiveLive delivers a live envelope from another gateway. Its sender may have
// seen log entries that have not arrived here; it is delivered early then,
// because it is advisory and waiting would need a queue.
func (s *Space) receiveLive(message []byte) {
	e, err := journal.DecodeEntry(message)
	if err != nil {
		s.log.Warn("read a live envelope of another gateway", "error", err)
		return
	}
	e.Envelope.Seq = 0
	s.putLive(ring.NewEntry(e))
}

// ReceiveLive passes a live message of another gateway to its space.
func (h *Hub) ReceiveLive(name string, message []byte) {
	if s := h.Lookup(name); s != nil {
		s.receiveLive(message)
	}
}

// SetRemote sets the participants that are connected to a space at the other
// gateways.
func (h *Hub) SetRemote(name string, there []Connected) {
	if s := h.Lookup(name); s != nil {
		s.setRemote(there)
	}
}

// TakeSpent returns the tokens that participants spent from their buckets at this gateway
// since the last call, and ChargeSpent charges what they spent at another one.
func (h *Hub) TakeSpent() []authority.Spending { return h.buckets.TakeSpent() }

// ChargeSpent charges what participants spent at another gateway; see TakeSpent.
func (h *Hub) ChargeSpent(list []authority.Spending) { h.buckets.Charge(h.services.Clock(), list) }
