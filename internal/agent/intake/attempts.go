package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// ReadAttempts reads the log up to its head, for the work of earlier attempts to answer
// a question. Of the options it uses History, You, Space, Now and Result.
func ReadAttempts(ctx context.Context, o BacklogOptions) (*Backlog, error) {
	head, err := headOf(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Mode, o.Observe, o.Space.Seq = CatchUpAuto, nil, head
	return ReadBacklog(ctx, o)
}

// headOf returns the Seq of the newest entry.
func headOf(ctx context.Context, o BacklogOptions) (protocol.Seq, error) {
	newest, err := o.History.Envelopes(ctx, o.Space.Name, api.EnvelopeQuery{Descending: true, Limit: 1, Log: o.Space.Log})
	if err != nil || len(newest.Envelopes) == 0 {
		return o.Space.Seq, err
	}
	return newest.Envelopes[0].Seq, nil
}

// ReadOn reads the entries that were admitted since the last read. It observes none and
// adds no questions.
func (b *Backlog) ReadOn(ctx context.Context) error {
	b.o.Observe = nil
	head, err := headOf(ctx, b.o)
	if err != nil {
		return err
	}
	if head > b.o.Space.Seq {
		err = b.readEntries(ctx, b.o.Space.Seq, head, math.MaxInt)
		b.o.Space.Seq = head
	}
	return err
}

// Settled reports whether a question is answered or withdrawn.
func (b *Backlog) Settled(question protocol.ID) bool { return b.settled[question] }

// Interrupted returns the number of attempts to answer a question that had no end when
// their process ended.
func (b *Backlog) Interrupted(question protocol.ID) (n int) {
	for start, chats := range b.attempts {
		if !b.ended[start] && slices.Contains(chats, question) {
			n++
		}
	}
	return n
}

// BegunAfter reports whether an attempt to answer a question is open that began after a
// position.
func (b *Backlog) BegunAfter(question protocol.ID, position protocol.Seq) bool {
	for path, start := range b.contexts {
		if start.Seq > position && slices.Contains(b.attempts[protocol.ID(path)], question) {
			return true
		}
	}
	return false
}

// InProgress returns the questions with an open attempt, and the open parts that other
// agents gave to this one: another process may be working on them.
func (b *Backlog) InProgress() (ids []protocol.ID) {
	for path := range b.contexts {
		for _, id := range b.workIn(path) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// workIn returns the questions that a context belongs to, or the part.
func (b *Backlog) workIn(context protocol.ContextPath) []protocol.ID {
	if questions, own := b.attempts[protocol.ID(context.Root())]; own {
		return questions
	}
	for path := context; path != ""; path = path.Parent() {
		if start, open := b.contexts[path]; open && start.From != b.o.You {
			return []protocol.ID{start.ID}
		}
	}
	return nil
}

// LeftoversOf returns the Leftovers of a question or part.
func (b *Backlog) LeftoversOf(id protocol.ID) []protocol.Envelope {
	return slices.DeleteFunc(b.Leftovers(), func(env protocol.Envelope) bool { return !slices.Contains(b.workIn(env.Context), id) })
}

// LeftoversBut returns the Leftovers of all but some questions and parts.
func (b *Backlog) LeftoversBut(ids []protocol.ID) []protocol.Envelope {
	return slices.DeleteFunc(b.Leftovers(), func(env protocol.Envelope) bool {
		return slices.ContainsFunc(b.workIn(env.Context), func(id protocol.ID) bool { return slices.Contains(ids, id) })
	})
}

// LateProposals returns the withdrawals of open proposals in contexts of attempts that
// are closed.
func (b *Backlog) LateProposals() []protocol.Envelope {
	return slices.DeleteFunc(b.Leftovers(), func(env protocol.Envelope) bool {
		root := env.Context.Root()
		_, open := b.contexts[root]
		return env.Kind != protocol.KindMCPWithdraw || open || b.attempts[protocol.ID(root)] == nil
	})
}

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

// earlierThought is the thought of the record that holds the calls of earlier
// attempts.
const earlierThought = "I was restarted while I worked on this question. Before that, these calls were made."

// CallRecord returns the calls of earlier attempts as a finished step, so that the
// planner does not repeat a call that may have changed something without
// noticing. name returns the planner's name of a tool.
func CallRecord(calls []AbandonedCall, name func(host protocol.ParticipantID, tool string) string) contextwindow.Record {
	r := contextwindow.Record{Action: contextwindow.UseTools, Thought: earlierThought}
	for _, c := range calls {
		tool := name(c.Host, c.Tool)
		r.Calls = append(r.Calls, contextwindow.Call{Tool: tool, Arguments: c.Arguments})
		res := c.Result
		res.Tool = tool
		r.Results = append(r.Results, res)
	}
	return r
}

// RequestIDs returns the ids of the requests of calls.
func RequestIDs(calls []AbandonedCall) []protocol.ID {
	var ids []protocol.ID
	for _, c := range calls {
		ids = append(ids, c.Request)
	}
	return ids
}
