package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the questions of a host.
const (
	maxElicitations    = 20             // about one call
	maxElicitationTime = 24 * time.Hour // for the answer, also if the host names a later end
)

// isElicitation reports whether an envelope is a question of one of the hosts to the agent:
// MCP's elicitation/create.
func (a *Agent) isElicitation(env *protocol.Envelope, hosts []protocol.ParticipantID) bool {
	return env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) && slices.Contains(hosts, env.From) &&
		env.ParsePayload().Get("method").EqualText(elicit.Method)
}

// elicit answers a question of a host about a call. It returns when the answer is on its way,
// when ctx ends, or when the host no longer needs the answer. Without an answer in time, the
// question is canceled.
func (a *Agent) elicit(ctx context.Context, question *protocol.Envelope) {
	request, err := participant.ParseRequest(question)
	if err != nil || request.IsNotification {
		return
	}
	if a.opts.OnElicitation == nil {
		a.declineElicitation(question, participant.CodeNoSuchMethod, "this participant answers no questions of tool servers")
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	box := a.inbox.Expect(question.ID)
	defer a.inbox.Release(question.ID)
	type answer struct {
		result json.RawMessage
		err    error
	}
	answered := make(chan answer, 1)
	a.runtime.Group.Go(func() {
		var got answer
		got.err = a.guard(func() (err error) {
			got.result, err = a.opts.OnElicitation(ctx, question.From, request.Params.Raw())
			return err
		})
		answered <- got
	})
	patience := a.opts.MaxToolTimeout
	end, err := time.Parse(time.RFC3339, request.Params.Get("_meta").Get(elicit.MetaExpires).Text())
	if err == nil { // the time at which the host stops waiting
		patience = min(time.Until(end)-a.opts.Space.Welcome().Clock, maxElicitationTime)
	}
	late := a.opts.After(patience)
	var got answer
	for waits := true; waits; {
		select {
		case env := <-box:
			if elicit.Over(question, &env) {
				return
			}
		case got = <-answered:
			waits = false
		case <-late:
			got, waits = answer{err: errors.New("no answer in time")}, false
		case <-ctx.Done():
			return
		}
	}
	if ctx.Err() != nil {
		return
	}
	if got.err != nil {
		a.log.Warn("question of a tool server canceled", "question", question.ID, "from", question.From, "err", got.err)
		got.result = object(field{"action", elicit.Cancel})
	}
	a.reply(participant.RespondTo(question, participant.Response(request.ID, got.result, nil)))
}

// declineElicitation answers a question of a host with an error, so that the host waits no longer.
func (a *Agent) declineElicitation(question *protocol.Envelope, code int64, message string) {
	a.reply(participant.RespondTo(question, participant.Response(participant.RequestID(question), nil, &client.RPCError{Code: code, Message: message})))
}
