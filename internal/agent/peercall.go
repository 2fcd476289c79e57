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

// callPeer waits for the response of the participant that owns the tool.
// The request is already in the log.
func (a *Agent) callPeer(ctx context.Context, x *action) contextwindow.Result {
	env, why := a.await(ctx, x.request.ID, x.request.To)
	if env != nil {
		return resultIn(env)
	}
	if ctx.Err() != nil {
		a.publishFinal(ctx, "cancellation", x.cancellation())
		return failed("cancelled")
	}
	if err := a.publish(ctx, x.cancellation()); err != nil {
		a.log.Debug("cancellation not shared", "err", err)
	}
	return failed(why.Error())
}

// await returns the response to a request from one of the participants in asked
// (from any participant if asked is empty), or the reason why there is no
// response.
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
				gone = a.awayTimer(gone, &env, asked[0])
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

// awayTimer starts or stops the timer for a participant that left: a lost
// connection may be restored.
func (*Agent) awayTimer(gone <-chan time.Time, env *protocol.Envelope, who protocol.ParticipantID) <-chan time.Time {
	var p protocol.Presence
	if json.Unmarshal(env.Payload, &p) != nil || p.Participant.ID != who {
		return gone
	}
	if p.Event == protocol.PresenceJoin {
		return nil
	}
	if gone == nil {
		return time.After(awayTimeout)
	}
	return gone
}

// cancellation builds the notification to the tool's owner that the agent no
// longer waits for the response.
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
