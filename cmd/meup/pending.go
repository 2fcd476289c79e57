package main

import (
	"context"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/protocol"
)

// deciding are the kinds that make a proposal, or settle one.
var deciding = []string{
	string(protocol.KindMCPProposal), string(protocol.KindMCPRequest), string(protocol.KindMCPReject),
	string(protocol.KindMCPWithdraw), string(protocol.KindReasoningConclusion), string(protocol.KindReasoningCancel),
}

// maxScan bounds the part of a log that is read, in envelopes.
const maxScan = 100_000

// proposalScan reads a log backwards, since the envelope that settles a
// proposal follows it.
type proposalScan struct {
	answers map[protocol.ID][]protocol.Envelope // by the id that they correlate to
	closed  map[protocol.ContextPath]protocol.Envelope
	pending []protocol.Envelope // newest first
}

// pendingProposals returns the proposals that are not settled, oldest first.
// whole reports that the log was read to its beginning.
func pendingProposals(ctx context.Context, t *target) (list []protocol.Envelope, whole bool, err error) {
	scan := proposalScan{answers: make(map[protocol.ID][]protocol.Envelope), closed: make(map[protocol.ContextPath]protocol.Envelope)}
	q := api.EnvelopeQuery{Kinds: deciding, Limit: 1000, Descending: true}
	for scanned := 0; scanned < maxScan; {
		page, err := t.api.Envelopes(ctx, t.space, q)
		if err != nil {
			return nil, false, err
		}
		for i := range page.Envelopes {
			scan.take(&page.Envelopes[i])
		}
		scanned += max(len(page.Envelopes), 1)
		if whole = !page.HasMore || q.Before != 0 && page.Next >= q.Before; whole {
			break
		}
		q.Before = page.Next
	}
	slices.Reverse(scan.pending)
	return scan.pending, whole, nil
}

func (s *proposalScan) take(e *protocol.Envelope) {
	switch {
	case e.Kind == protocol.KindMCPProposal:
		if !s.settled(e) {
			s.pending = append(s.pending, *e)
		}
	case e.Kind.ClosesContext() && e.Context != "":
		s.closed[e.Context] = slim(e)
	default: // a cancel from outside correlates to the starts that it ends
		for _, id := range e.Correlation.IDs {
			s.answers[id] = append(s.answers[id], slim(e))
		}
	}
}

// slim keeps the parts of an envelope that show which proposals it settles.
func slim(e *protocol.Envelope) protocol.Envelope {
	short := protocol.Envelope{Kind: e.Kind, From: e.From, To: e.To, Context: e.Context, Correlation: e.Correlation}
	if !e.Kind.ClosesContext() {
		short.Payload = e.Payload
	}
	return short
}

// settled reports whether a proposal was decided on or withdrawn, or the
// reasoning that it belongs to has ended: a fulfillment may be visible to the
// agent only.
func (s *proposalScan) settled(p *protocol.Envelope) bool {
	settles := func(e protocol.Envelope) bool { return proposal.Settles(p, &e) != proposal.Pending }
	for path := p.Context; path != ""; path = path.Parent() {
		if e, closed := s.closed[path]; closed && settles(e) || slices.ContainsFunc(s.answers[protocol.ID(path.Last())], settles) {
			return true
		}
	}
	return slices.ContainsFunc(s.answers[p.ID], settles)
}
