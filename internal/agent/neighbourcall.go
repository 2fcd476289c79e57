package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/protocol"
)

// callNeighbour waits for the response of the participant whose tool it is.
// The request is in the log already.
func (a *Agent) callNeighbour(ctx context.Context, x *action) contextwindow.Result {
	env, why := a.await(ctx, x.request.ID, x.request.To)
	if env != nil {
		return resultIn(env)
	}
	if ctx.Err() != nil {
		a.sayStill(ctx, "cancellation", x.cancellation())
		return failed("cancelled")
	}
	if err := a.say(ctx, x.cancellation()); err != nil {
		a.log.Debug("cancellation not shared", "err", err)
	}
	return failed(why.Error())
}

// await returns the response to a request that somebody was asked to answer,
// from one of those (anybody, if there are none), or why there will be none.
func (a *Agent) await(ctx context.Context, request protocol.ID, asked []protocol.ParticipantID) (*protocol.Envelope, error) {
	answer := a.inbox.expect(request)
	timeout := time.NewTimer(a.opts.ToolTimeout)
	defer timeout.Stop()
	var gone <-chan time.Time
	for {
		select {
		case env := <-answer:
			switch {
			case env.Kind == protocol.KindMCPResponse && (len(asked) == 0 || slices.Contains(asked, env.From)):
				return &env, nil
			case env.Kind == protocol.KindSystemPresence && len(asked) == 1:
				gone = a.absence(gone, &env, asked[0])
			}
		case <-gone:
			return nil, fmt.Errorf("%s left the space", asked[0])
		case <-timeout.C:
			return nil, fmt.Errorf("no answer within %s", a.opts.ToolTimeout)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// absence begins or ends the time for which somebody may be away: a lost
// connection is not the end yet.
func (*Agent) absence(gone <-chan time.Time, env *protocol.Envelope, who protocol.ParticipantID) <-chan time.Time {
	var p protocol.Presence
	if json.Unmarshal(env.Payload, &p) != nil || p.Participant.ID != who {
		return gone
	}
	if p.Event == protocol.PresenceJoin {
		return nil
	}
	if gone == nil {
		return time.After(absence)
	}
	return gone
}

// cancellation tells the owner of a tool that nobody waits for it any more.
func (x *action) cancellation() protocol.Envelope {
	return protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: x.request.To, Context: x.p.path,
		Correlation: protocol.CorrelateTo(x.request.ID),
		Payload: object(
			field{"jsonrpc", "2.0"}, field{"method", "notifications/cancelled"},
			field{"params", map[string]any{"requestId": x.request.ID, "reason": "nobody waits for it any more"}},
		),
	}
}
