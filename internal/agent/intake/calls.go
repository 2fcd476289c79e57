package intake

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the calls of earlier attempts.
const (
	maxSent       = 1024    // calls that are remembered while the log is read; the oldest are dropped
	maxSentResult = 8 << 10 // bytes of one result
	maxReported   = 32      // calls of one question, the newest
)

// AbandonedCall is a tool call of an earlier attempt to answer a question.
type AbandonedCall struct {
	Request   protocol.ID            // the mcp.request
	Host      protocol.ParticipantID // runs the tool
	Tool      string                 // as the host names it
	Arguments json.RawMessage
	// Result has the outcome Unknown if the log has no response: the call may
	// have taken effect or not.
	Result contextwindow.Result
}

// sentCall is an AbandonedCall with its place in the log.
type sentCall struct {
	AbandonedCall
	context protocol.ContextPath
	seq     protocol.Seq
}

// unknown is the error of a call without a response.
const unknown = "outcome unknown: the agent was restarted after this call was sent, and there is no response. It may have taken effect or not"

// noteSent records a tool call that was made for the agent in a context of its
// own: its own request, or the request that fulfills its proposal.
func (b *Backlog) noteSent(request *protocol.Envelope, context protocol.ContextPath) {
	rpc, err := participant.ParseRequest(request)
	if err != nil || rpc.Method != "tools/call" || context == "" {
		return
	}
	c := &sentCall{context: context, seq: request.Seq, AbandonedCall: AbandonedCall{
		Request: request.ID, Host: request.From, Tool: rpc.Params.Get("name").Text(),
		Result: contextwindow.Result{Outcome: contextwindow.Unknown, Error: unknown},
	}}
	if len(request.To) > 0 {
		c.Host = request.To[0]
	}
	if args := rpc.Params.Get("arguments"); args.Exists() {
		c.Arguments = slices.Clone(args.Raw())
	}
	if len(b.sentOrder) >= maxSent {
		delete(b.sent, b.sentOrder[0])
		b.sentOrder = b.sentOrder[1:]
	}
	b.sent[request.ID], b.sentOrder = c, append(b.sentOrder, request.ID)
}

// noteResult records the response to a call, if it is the host's and has the outcome.
// The response to a canceled call has not: the tool had begun. Nor has that of a host
// that was restarted.
func (b *Backlog) noteResult(response *protocol.Envelope) {
	for _, id := range response.Correlation.IDs {
		c := b.sent[id]
		if c == nil || response.From != c.Host || c.Result.Outcome != contextwindow.Unknown {
			continue
		}
		var p struct {
			Error struct {
				Code int64           `json:"code"`
				Data json.RawMessage `json:"data"`
			} `json:"error"`
		}
		var data struct {
			Reason string `json:"reason"`
		}
		if json.Unmarshal(response.Payload, &p) != nil || p.Error.Code == participant.CodeCancelled ||
			json.Unmarshal(p.Error.Data, &data) == nil && data.Reason == "restarted" {
			continue
		}
		c.Result = b.o.Result(response)
		c.Result.Text = textutil.Truncate(c.Result.Text, maxSentResult)
		c.Result.Error = textutil.Truncate(c.Result.Error, maxSentResult)
	}
}

// Calls returns the tool calls of earlier attempts to answer a question, in the
// order of the log.
func (b *Backlog) Calls(question protocol.ID) []AbandonedCall {
	var list []*sentCall
	for _, c := range b.sent {
		if slices.Contains(b.attempts[protocol.ID(c.context.Root())], question) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(x, y *sentCall) int { return cmp.Compare(x.seq, y.seq) })
	var calls []AbandonedCall
	for _, c := range list[max(0, len(list)-maxReported):] {
		calls = append(calls, c.AbandonedCall)
	}
	return calls
}
