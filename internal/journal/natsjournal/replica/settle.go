package replica

import (
	"errors"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/block"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/protocol"
)

// spaceID is an id in a space.
type spaceID struct {
	space string
	id    protocol.ID
}

// settle makes an entry name the proposal that it settles. Entries of earlier versions do
// not, and a decision on the same proposal would follow them. The proposal's message is kept
// as long as the entry's, so that all gateways find it.
func (p *pass) settle(m Message, e *journal.Entry) error {
	env := &e.Envelope
	if env.Kind == protocol.KindMCPProposal {
		p.proposals[spaceID{m.Space, env.ID}] = e
	}
	if !proposal.Decides(env.Kind) || e.Settles != "" {
		return nil
	}
	of, err := p.proposalOf(m.Space, env.Correlation.IDs)
	if err != nil || of == nil || proposal.Settles(&of.Envelope, env) == proposal.Pending {
		return err
	}
	earlier, err := p.batch.Settled(m.Space, of.Envelope.ID)
	if err != nil || earlier.Seq > 0 {
		return err
	}
	e.Settles = of.Envelope.ID
	p.guards.record(m.Space, block.Message(of.Envelope.Seq), m.Seq, false)
	return nil
}

// proposalOf returns the proposal among these ids; nil if there is none, or more than one.
func (p *pass) proposalOf(space string, ids []protocol.ID) (found *journal.Entry, err error) {
	for _, id := range ids {
		e := p.proposals[spaceID{space, id}]
		if e == nil {
			if e, err = p.s.r.db.Lookup(space, id); errors.Is(err, journal.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		if e.Envelope.Kind != protocol.KindMCPProposal || found != nil && found.Envelope.ID == id {
			continue
		}
		if found != nil {
			return nil, nil
		}
		found = e
	}
	return found, nil
}
