package adapter

import (
	"context"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/ask"
	"github.com/meup-protocol/meup/protocol"
)

// Decider reports which proposals wait for a decision that its participant may make.
type Decider struct {
	client *api.Client
	space  string
	you    protocol.ParticipantID
	rights ask.Rights
}

// Decider returns a Decider of the participant. Errors: *protocol.Error.
func (q *Request) Decider(ctx context.Context, space string) (*Decider, error) {
	roster, err := q.Client.Roster(ctx, space)
	if err != nil {
		return nil, protocol.AsError(err)
	}
	return &Decider{q.Client, space, roster.You.ID, ask.RightsOf(roster.You.Capabilities)}, nil
}

// MayDecide reports whether a proposal of a turn waits for a decision of the
// participant. A client that reads a turn again comes across settled ones. If the state
// of the proposal cannot be read, it counts as pending: a decision about a settled
// one changes nothing, but a turn would wait forever for a decision that no client is asked
// for.
func (d *Decider) MayDecide(ctx context.Context, p *protocol.Envelope) bool {
	if !d.Allows(p) {
		return false
	}
	in, err := d.client.TurnOf(ctx, d.space, p.ID)
	if err != nil {
		return true
	}
	for _, r := range in.Turn.AllReasonings() {
		for _, x := range r.ToolDecisions {
			if x.CallID == p.ID {
				return x.Outcome == api.OutcomePending && x.DecidedBy == ""
			}
		}
	}
	return true
}

// Allows reports whether the participant may decide about a proposal of another
// participant, whether it is pending or not.
func (d *Decider) Allows(p *protocol.Envelope) bool { return p.From != d.you && d.rights.MayDecide(p) }
