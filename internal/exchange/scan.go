package exchange

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// DecisionKinds are the kinds of envelopes that make a proposal, or can settle one.
var DecisionKinds = []protocol.Kind{
	protocol.KindMCPProposal, protocol.KindMCPRequest, protocol.KindMCPReject, protocol.KindMCPWithdraw,
	protocol.KindReasoningConclusion, protocol.KindReasoningCancel,
}

// ProposalScan finds the outcomes of proposals in a log that is read backwards, since the
// envelope that settles a proposal follows it.
type ProposalScan struct {
	answers map[protocol.ID][]Settlement // by the id that they correlate to
	closed  map[protocol.ContextPath]Settlement
	size    int // in bytes, about
}

// Bounds of what is kept of an envelope, in bytes.
const (
	scannedBytes = 400     // without its reason
	maxReason    = 1 << 10 // a longer one ends with "…"
)

// Settlement is an envelope that can settle a proposal.
type Settlement struct {
	ID     protocol.ID
	Seq    protocol.Seq
	TS     time.Time
	Kind   protocol.Kind
	From   protocol.ParticipantID
	Reason string // of a rejection, a withdrawal or a cancel

	to   protocol.ParticipantID // the one addressee of a request; "": none, or several
	call Call                   // of a request
}

// NewProposalScan returns a ProposalScan of an empty log.
func NewProposalScan() *ProposalScan {
	return &ProposalScan{answers: make(map[protocol.ID][]Settlement), closed: make(map[protocol.ContextPath]Settlement)}
}

// Size is about the memory of the scan, in bytes.
func (s *ProposalScan) Size() int { return s.size }

// Add adds an envelope that precedes all that were added.
func (s *ProposalScan) Add(e *protocol.Envelope) {
	if e.Kind == protocol.KindMCPProposal || !slices.Contains(DecisionKinds, e.Kind) {
		return
	}
	x := Settlement{ID: e.ID, Seq: e.Seq, TS: e.TS, Kind: e.Kind, From: e.From}
	payload := e.ParsePayload()
	if e.Kind == protocol.KindMCPRequest {
		if len(e.Correlation.IDs) == 0 || len(e.To) != 1 {
			return
		}
		x.to, x.call = e.To[0], ReadCall(payload)
	} else {
		x.Reason = textutil.Shorten(payload.Get("reason").Text(), maxReason)
	}
	if e.Kind.ClosesContext() && e.Context != "" {
		s.closed[e.Context] = x
		s.size += scannedBytes + len(x.Reason)
		return
	}
	for _, id := range e.Correlation.IDs { // a cancel from outside correlates to the starts that it ends
		s.answers[id] = append(s.answers[id], x)
		s.size += scannedBytes + len(x.Reason)
	}
}

// settles is Settles of an envelope that correlates to the proposal, or that closes
// its context.
func (x *Settlement) settles(p *protocol.Envelope, proposed Call) Outcome {
	switch {
	case x.Kind.ClosesContext():
		return Expired
	case x.Kind != protocol.KindMCPRequest:
		return Decision(p.From, x.From, x.Kind, x.Reason)
	case CallMismatch(p, proposed, &protocol.Envelope{From: x.From, To: []protocol.ParticipantID{x.to}}, x.call) == "":
		return Fulfilled
	}
	return Pending
}

// Outcome returns how a proposal that precedes all added envelopes was settled, and
// by which of them; nil if by none: it is pending, or has expired at its time. The first
// decision counts, also a late one; without any, the first end of its context.
func (s *ProposalScan) Outcome(p *protocol.Envelope, now time.Time) (how Outcome, by *Settlement) {
	proposed := CallOf(p)
	consider := func(x Settlement) {
		if by != nil && by.Seq < x.Seq {
			return
		}
		if o := x.settles(p, proposed); o != Pending {
			how, by = o, &x
		}
	}
	for _, x := range s.answers[p.ID] {
		if !x.Kind.ClosesContext() {
			consider(x)
		}
	}
	if by != nil {
		return how, by
	}
	for path := p.Context; path != ""; path = path.Parent() {
		if x, ok := s.closed[path]; ok {
			consider(x)
		}
		for _, x := range s.answers[protocol.ID(path.Last())] {
			if x.Kind == protocol.KindReasoningCancel {
				consider(x)
			}
		}
	}
	if proposed.Expired(now) && (by == nil || proposed.Expired(by.TS)) {
		return Expired, nil
	}
	return how, by
}
