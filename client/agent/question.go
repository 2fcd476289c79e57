package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/protocol"
)

// Question is a question that is being answered. Its context is open while OnQuestion runs,
// and closed afterwards. The methods are safe for concurrent use; they wait during a pause.
type Question struct {
	Chat    protocol.Envelope    // the question
	Text    string               // its text as it was sent, with a mention of the agent (@bot)
	Context protocol.ContextPath // of the reasoning about it
	// History are the texts of up to 16 chats before the question that the asker may have
	// received, oldest first.
	History []string

	task     *agent.Task
	space    *client.Client
	proposes bool

	mu         sync.Mutex
	conclusion string
	stream     string      // that carried the answer; "": none
	explains   protocol.ID // the latest thought, which explains the next calls; the start before the first one
}

// Private returns the participants of a question that was not for all, without the agent.
// Envelopes about it are addressed to them. A call of another participant's tool shows that
// participant the arguments.
func (q *Question) Private() []protocol.ParticipantID { return q.task.Audience }

// EarlierCall is a call of an earlier attempt to answer a question.
type EarlierCall struct {
	Host      protocol.ParticipantID
	Tool      string
	Arguments json.RawMessage
	Outcome   Outcome // Unknown: the call may have taken effect or not
	Text      string  // of the result, or of the error
}

// Earlier returns the calls of attempts to answer the question before a restart.
func (q *Question) Earlier() []EarlierCall {
	var list []EarlierCall
	for _, c := range q.task.Earlier {
		list = append(list, EarlierCall{c.Host, c.Tool, c.Arguments, Outcome(c.Result.Outcome), cmp.Or(c.Result.Text, c.Result.Error)})
	}
	return list
}

// Think shares a thought. It also explains the calls that follow.
func (q *Question) Think(ctx context.Context, message string) error {
	id, err := q.share(ctx, protocol.KindReasoningThought, map[string]string{"message": message})
	if err == nil {
		q.mu.Lock()
		q.explains = id
		q.mu.Unlock()
	}
	return err
}

// Share shares a step in the context, such as a reasoning.observation: the payload is any
// value that marshals to a JSON object.
func (q *Question) Share(ctx context.Context, kind protocol.Kind, payload any) error {
	_, err := q.share(ctx, kind, payload)
	return err
}

func (q *Question) share(ctx context.Context, kind protocol.Kind, payload any) (protocol.ID, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("share %s: %w", kind, err)
	}
	step := q.task.Inside(kind, raw)
	step.Correlation = protocol.CorrelateTo(protocol.ID(q.Context.Last())) // the asker sees the calls that it explains
	if err := q.task.Out.Publish(ctx, step); err != nil {
		return "", fmt.Errorf("share %s: %w", kind, err)
	}
	return step.ID, nil
}

// Post sends an envelope as it is, such as a chat at top level, and waits until it is in the log.
func (q *Question) Post(ctx context.Context, draft protocol.Envelope) error {
	return q.task.Out.Publish(ctx, draft)
}

// Remarks returns the steps and chats that others wrote into the context since the last
// call, as text for a model; "": none.
func (q *Question) Remarks() string { return q.task.Remarks() }

// Conclude sets the message of the conclusion, which is sent when OnQuestion returns.
func (q *Question) Conclude(message string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.conclusion = message
}

// StreamAnswer sends an answer while it is generated, and returns it, for OnQuestion to return.
// Its pieces are a stream: about ten chunks a second, of at most 64 KiB of the text. After an error
// of the iterator, or if ctx has ended, the stream is withdrawn. Without the capability stream/*,
// the answer alone is sent. The conclusion of a part is not streamed.
func (q *Question) StreamAnswer(ctx context.Context, deltas iter.Seq2[string, error]) (string, error) {
	answer, stream, err := q.task.StreamAnswer(ctx, deltas)
	if err != nil {
		return "", fmt.Errorf("stream the answer: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stream = stream
	return answer, nil
}

// Result is the result of a tool.
type Result struct {
	Text string          // the text parts of the content
	JSON json.RawMessage // the result as the tool returned it
}

// Outcome is the outcome of a call.
type Outcome string

// The outcomes. A CallError has any but Success and Unknown.
const (
	Success   Outcome = Outcome(contextwindow.Success)
	Unknown   Outcome = Outcome(contextwindow.Unknown)   // of an EarlierCall
	Failed    Outcome = Outcome(contextwindow.Failure)   // the tool failed, or did not respond
	Refused   Outcome = Outcome(contextwindow.Refused)   // neither the call nor the proposal is allowed
	Fulfilled Outcome = Outcome(contextwindow.Fulfilled) // another participant made the proposed call, which failed
	Rejected  Outcome = Outcome(contextwindow.Rejected)  // another participant rejected the proposal
	Withdrawn Outcome = Outcome(contextwindow.Withdrawn) // the proposal was withdrawn
	Expired   Outcome = Outcome(contextwindow.Expired)   // no participant decided in time
)

// CallError is the error of a call without a result.
type CallError struct {
	Host    protocol.ParticipantID // that has the tool; "": the agent
	Tool    string
	Outcome Outcome
	Reason  string // of Rejected, as the other participant gave it; of Fulfilled, the message of the tool
	Message string
}

// Error has the tool and the message.
func (e *CallError) Error() string { return fmt.Sprintf("call %s: %s", e.Tool, e.Message) }

// Public returns the sentence for the asker: which tool failed, and its message.
func (e *CallError) Public() string {
	name := "the tool " + e.Tool
	if e.Host != "" {
		name += " of " + string(e.Host)
	}
	switch e.Outcome {
	case Refused:
		if strings.Contains(e.Message, string(protocol.CodeUnknownParticipant)) {
			return name + " was not called: the space has no such participant"
		}
		return name + " was not called: it is not allowed"
	case Rejected:
		return name + " was not called: " + short(e.Message)
	case Expired:
		return name + " was not called: no participant decided in time"
	case Withdrawn:
		return name + " was not called: the proposal was withdrawn"
	case Fulfilled:
		return name + " failed: " + short(e.Reason)
	}
	return name + " failed: " + short(e.Message)
}

// short returns at most 300 bytes of a message, without the stop.
func short(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimRight(strings.ToValidUTF8(s[:min(len(s), 300)], ""), ". ")
}

// CallTool calls a tool of a participant, "" for Agent.Tools, and waits for the result.
// The latest thought explains the call. If the capabilities do not allow the call, it is proposed to the other
// participants, except with Agent.NoProposals. A call without a result is a *CallError.
// When ctx ends, the participant is notified that the result is no longer needed.
func (q *Question) CallTool(ctx context.Context, host protocol.ParticipantID, tool string, arguments any) (*Result, error) {
	return q.call(ctx, q.task.Call, host, tool, arguments)
}

// Propose proposes a call to the other participants, one of which decides, and waits for
// the result. When ctx ends, the proposal is withdrawn.
func (q *Question) Propose(ctx context.Context, host protocol.ParticipantID, tool string, arguments any) (*Result, error) {
	if !q.proposes {
		return nil, &CallError{Host: host, Tool: tool, Outcome: Refused, Message: "the agent proposes no calls (NoProposals)"}
	}
	return q.call(ctx, q.task.Propose, host, tool, arguments)
}

func (q *Question) call(ctx context.Context, do func(context.Context, agent.Call) (contextwindow.Result, error), host protocol.ParticipantID, tool string, arguments any) (*Result, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", tool, err)
	}
	if host == q.task.Runtime.You {
		host = ""
	}
	q.mu.Lock()
	explains := q.explains
	q.mu.Unlock()
	absent := q.isAbsent(host)
	out, err := do(ctx, agent.Call{Host: host, Tool: tool, Arguments: raw, Thought: explains})
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", tool, err)
	}
	if !out.Success {
		if absent && out.Outcome == contextwindow.Failure && q.isAbsent(host) {
			out.Error += fmt.Sprintf(" (%s is not connected)", host)
		}
		return nil, &CallError{Host: host, Tool: tool, Outcome: Outcome(out.Outcome), Reason: out.Reason, Message: out.Error}
	}
	return &Result{Text: out.Text, JSON: json.RawMessage(out.JSON)}, nil
}

// isAbsent reports whether a participant is not connected. It returns false for the agent
// itself ("").
func (q *Question) isAbsent(host protocol.ParticipantID) bool {
	return host != "" && !slices.ContainsFunc(q.space.Welcome().Participants, func(p protocol.Participant) bool { return p.ID == host })
}

// AskOptions configures Question.Ask.
type AskOptions struct {
	Timeout time.Duration // for the answer; 0: 2 min
	// OnThought gets the texts of the other's steps: thoughts, observations, hypotheses and
	// questions. It is called by the goroutine of Ask.
	OnThought func(text string)
}

// Answer is the outcome of Question.Ask.
type Answer struct {
	Text     string // the answer, or why there is none
	Outcome  AskOutcome
	Envelope *protocol.Envelope // that ended the part: a reasoning.conclusion or a reasoning.cancel; nil: none
}

// AskOutcome is the outcome of a question to another agent.
type AskOutcome string

// The outcomes of Question.Ask.
const (
	AskAnswered  AskOutcome = AskOutcome(agent.AskAnswered)
	AskGaveUp    AskOutcome = AskOutcome(agent.AskGaveUp)    // the other agent declined or failed, or is not connected
	AskRejected  AskOutcome = AskOutcome(agent.AskRejected)  // it was not asked: by the gateway, at the greatest depth, or it is the agent itself
	AskCancelled AskOutcome = AskOutcome(agent.AskCancelled) // another participant canceled it
	AskTimeout   AskOutcome = AskOutcome(agent.AskTimeout)   // no answer in time
)

// Ask asks another agent, and waits for its answer. The other one reasons in a nested context, as
// a part of this question, which everybody sees who sees this question; the latest thought
// explains it. Its answer is no chat, and no question to this agent. When ctx ends, as with this
// question, the other one stops. An agent that is asked may ask a further one, as deep as contexts
// may be nested; one that is in this chain already declines.
// An error is returned only if ctx ends.
func (q *Question) Ask(ctx context.Context, who protocol.ParticipantID, text string, o AskOptions) (*Answer, error) {
	q.mu.Lock()
	explains := q.explains
	q.mu.Unlock()
	out, err := q.task.Ask(ctx, who, text, explains, cmp.Or(o.Timeout, agent.DefaultAskTime), o.OnThought)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", who, err)
	}
	return &Answer{out.Text, AskOutcome(out.Outcome), out.End}, nil
}
