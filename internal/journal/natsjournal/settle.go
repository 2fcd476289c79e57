package natsjournal

import (
	"errors"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
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
func (p *pass) settle(m appliedMessage, e *journal.Entry) error {
	env := &e.Envelope
	if env.Kind == protocol.KindMCPProposal {
		p.proposals[spaceID{m.Space, env.ID}] = e
	}
	if !exchange.IsDecision(env.Kind) || e.Settles != "" {
		return nil
	}
	of, err := exchange.ProposalAmong(env.Correlation.IDs, func(id protocol.ID) (*protocol.Envelope, error) {
		if e := p.proposals[spaceID{m.Space, id}]; e != nil {
			return &e.Envelope, nil
		}
		e, err := p.s.r.db.Lookup(m.Space, id)
		if errors.Is(err, journal.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return &e.Envelope, nil
	})
	if err != nil || of == nil || exchange.Settles(of, env) == exchange.Pending {
		return err
	}
	earlier, err := p.batch.Settled(m.Space, of.ID)
	if err != nil || earlier.Seq > 0 {
		return err
	}
	e.Settles = of.ID
	p.guards.record(m.Space, blockMessage(of.Seq), m.Seq, false)
	return nil
}
