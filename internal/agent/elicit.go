package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/elicit"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/protocol"
)

// maxElicitations bounds the questions of a host about one call.
const maxElicitations = 20

// isElicitation reports whether an envelope is a question of one of the hosts to the agent:
// MCP's elicitation/create.
func (a *Agent) isElicitation(env *protocol.Envelope, hosts []protocol.ParticipantID) bool {
	return env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) && slices.Contains(hosts, env.From) &&
		env.ParsePayload().Get("method").EqualText(elicit.Method)
}

// elicit answers a question of a host about a call. It returns when the answer is on its way,
// when ctx ends, or when the host no longer needs the answer.
func (a *Agent) elicit(ctx context.Context, question *protocol.Envelope) {
	request, err := participant.ParseRequest(question)
	if err != nil || request.IsNotification {
		return
	}
	if a.opts.OnElicitation == nil {
		fault := &client.RPCError{Code: participant.CodeNoSuchMethod, Message: "this participant answers no questions of tool servers"}
		a.reply(participant.RespondTo(question, participant.Response(request.ID, nil, fault)))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	box := a.inbox.Expect(question.ID)
	defer a.inbox.Release(question.ID)
	a.runtime.Group.Go(func() {
		for {
			select {
			case env := <-box:
				if elicit.Over(question, &env) {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	result, err := a.onElicitation(ctx, question.From, request.Params.Raw())
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		a.log.Warn("question of a tool server canceled", "question", question.ID, "from", question.From, "err", err)
		result = object(field{"action", elicit.Cancel})
	}
	a.reply(participant.RespondTo(question, participant.Response(request.ID, result, nil)))
}

// onElicitation calls OnElicitation. A panic fails only this question.
func (a *Agent) onElicitation(ctx context.Context, host protocol.ParticipantID, params json.RawMessage) (result json.RawMessage, err error) {
	defer a.recoverPanic(&err)
	return a.opts.OnElicitation(ctx, host, params)
}
