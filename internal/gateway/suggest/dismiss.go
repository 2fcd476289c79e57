package suggest

import (
	"context"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// dismissal says that a rule is not wanted, until as many further decisions support it.
type dismissal struct {
	by      protocol.ParticipantID
	seq     protocol.Seq
	rule    *capability.Set
	denies  bool
	further int64
}

// maxDismissals bounds the dismissals for one participant that count: the newest.
const maxDismissals = 200

// readState folds the state of the space, and reads which decisions of reviewers were undone, and
// the dismissals without those by the participant whose calls they are about.
func (r *run) readState(ctx context.Context) error {
	r.state = authority.NewState(r.effective)
	for e, err := range r.Log.Range(ctx, r.Space, journal.Query{StateOnly: true}) {
		if err != nil {
			return err
		}
		_ = r.state.Fold(e) // as at a gateway: an entry that cannot be applied changes nothing
		if e.Envelope.Kind == protocol.KindReviewerDemote {
			for _, id := range e.Envelope.Correlation.IDs {
				r.undone[id] = e.Envelope.From
			}
		}
		if e.Envelope.Kind != protocol.KindPolicyDismiss {
			continue
		}
		payload := e.Payload()
		id := protocol.ParticipantIn(payload, "recipient")
		rule, err := capability.ReadList(payload, "capabilities")
		if err != nil || id == e.Envelope.From {
			continue
		}
		further, _ := payload.Get("decisions").Int()
		r.dismissals[id] = append(r.dismissals[id], dismissal{
			by: e.Envelope.From, seq: e.Envelope.Seq, rule: capability.NewSet(rule...), denies: slices.ContainsFunc(rule, (*capability.Capability).Deny), further: further,
		})
		if n := len(r.dismissals[id]) - maxDismissals; n > 0 {
			r.dismissals[id] = r.dismissals[id][n:]
		}
	}
	return nil
}

// granted is how long from now rights have to be in force to make a suggestion unnecessary.
const granted = 365 * 24 * time.Hour

// wanted returns the calls without those that a grant or a rule of the deciders decides by now, those
// that no rule of the deciders may deny, and those for which a rule that does the same was dismissed.
func (g *group) wanted(ctx context.Context, calls []*call, denies bool) []*call {
	var held capability.Rights
	if !denies {
		held = g.run.state.Ledger.Effective(g.participant, g.run.Now.Add(granted))
	}
	calls = slices.DeleteFunc(slices.Clone(calls), func(c *call) bool {
		rule := g.run.effective.Deciders.Rule(&c.request)
		switch {
		case rule != nil && rule.Capability.Deny() == denies:
			return true
		case denies:
			return g.run.effective.Deciders.HumanOnlyBy(&c.request) != nil
		}
		return held.Decide(&c.request).Allowed
	})
	dismissals := g.run.dismissals[g.participant]
	if g.participant == "" { // a rule for everybody: those about any of them
		var proposers []protocol.ParticipantID
		for _, c := range calls {
			id := c.proposal.From
			if !slices.Contains(proposers, id) {
				proposers = append(proposers, id)
				dismissals = append(dismissals, g.run.dismissals[id]...)
			}
		}
	}
	for _, d := range dismissals {
		if d.denies != denies || ctx.Err() != nil {
			continue
		}
		var about []*call
		further := int64(0)
		for _, c := range calls {
			request := c.request
			if request.To == nil {
				request.To = []protocol.ParticipantID{g.host}
			}
			if d.by == c.proposal.From || d.rule.Decide(&request).By == nil {
				continue
			}
			about = append(about, c)
			if c.seq > d.seq {
				further++
			}
		}
		if len(about) > 0 && further < d.further {
			calls = except(calls, about)
			g.run.report.Dismissed++
		}
	}
	return calls
}
