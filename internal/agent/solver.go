package agent

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Solver answers questions in place of a Planner and its tools: a program that
// reasons and calls tools in a loop of its own.
type Solver interface {
	// Solve works on a question and publishes the steps of the work. The context of
	// the question is open, and the agent closes it. ctx ends with the cause that
	// ends the question. An error with a method Public() string has a text for the
	// space.
	Solve(ctx context.Context, t *Task) (Solution, error)
}

// Solution is the answer to a question.
type Solution struct {
	Answer   string
	Stream   string         // that carried the answer; "": none
	Message  string         // of the conclusion
	Metadata map[string]any // of the conclusion; nil: none
}

// Task is a question for a Solver, with the parts of the agent that it needs. They and the methods
// are safe for concurrent use.
type Task struct {
	Chat     *protocol.Envelope
	Text     string
	Context  protocol.ContextPath
	Audience []protocol.ParticipantID // of a private question, without the agent; none: all
	History  []llm.Message            // chats before the question, for a Solver that does not remember them
	Earlier  []intake.AbandonedCall   // of attempts before a restart
	// Reply is the id of the chat with the answer.
	Reply protocol.ID

	Runtime *participant.Runtime // of the agent
	Out     *Publisher           // of its envelopes
	Inbox   *Inbox               // of what correlates to them
	Place   *participant.Place   // to be lent while a person decides

	agent   *Agent
	problem *problem
}

// Inside returns an envelope within the context, for the participants of the question.
func (t *Task) Inside(kind protocol.Kind, payload json.RawMessage) protocol.Envelope {
	e := t.problem.inside(kind)
	e.ID, e.Payload = newID(), payload
	return e
}

// Streams returns the streams of a text that grows.
func (t *Task) Streams() *DeltaStreams { return t.agent.newStreams(t.problem) }

// Remarks returns the text of the remarks that other participants made in the context
// since the last call; "": none.
func (t *Task) Remarks() string {
	list, dropped := t.problem.remarks.Take()
	if len(list) == 0 {
		return ""
	}
	return intake.RenderRemarks(list, dropped, &t.problem.q.refs)
}

// StreamAnswer streams an answer while it is generated, and returns it with the id of the stream
// that carried it; "": none. After an error of the iterator the stream is withdrawn. The
// conclusion of a part is not streamed.
func (t *Task) StreamAnswer(ctx context.Context, deltas iter.Seq2[string, error]) (string, string, error) {
	var text strings.Builder
	live := t.Streams()
	live.Begin(true, false)
	for delta, err := range deltas {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			live.Withdraw()
			return "", "", err
		}
		text.WriteString(delta)
		if !t.problem.q.part {
			live.Add(llm.Delta{Kind: llm.TextDelta, Text: delta})
		}
	}
	return text.String(), live.End().Answer, nil
}

// Call is a call of a tool by a Solver.
type Call struct {
	Host      protocol.ParticipantID // that runs the tool; "": the agent
	Tool      string
	Arguments json.RawMessage
	Thought   protocol.ID // the envelope in the log that explains it
}

// step returns the call as a step of the agent's own loop.
func (c *Call) step() (*toolbox, contextwindow.Record) {
	box, name := new(toolbox), c.Tool
	if planner.IsBuiltin(name) {
		name = string(c.Host) + "__" + name
	}
	box.Add(name, boxTool{Owner: c.Host, Name: c.Tool}, mcptools.Tool{})
	return box, contextwindow.Record{Calls: []contextwindow.Call{{Tool: name, Arguments: c.Arguments, Thought: string(c.Thought)}}}
}

// Call makes a call as the agent's own loop does: the request, correlated to Thought, and a
// proposal if the capabilities do not allow it. An error ends the question.
func (t *Task) Call(ctx context.Context, c Call) (contextwindow.Result, error) {
	box, step := c.step()
	results, err := t.agent.act(ctx, t.problem, box, step, nil)
	if err != nil {
		return contextwindow.Result{}, err
	}
	return results[0], nil
}

// Propose proposes a call to the other participants and waits for the outcome.
func (t *Task) Propose(ctx context.Context, c Call) (contextwindow.Result, error) {
	box, step := c.step()
	x := &t.agent.prepare(t.problem, box, step)[0]
	x.refusal = protocol.Errorf(protocol.CodeCapabilityViolation, "The call is to be proposed.")
	return t.agent.propose(ctx, x), context.Cause(ctx)
}

// solveBy gives a question to the solver, and publishes the conclusion.
func (a *Agent) solveBy(p *problem) (Solution, error) {
	p.q.replyID = newID()
	task := &Task{
		Chat: &p.q.chat, Text: p.text, Context: p.path, Audience: p.q.private, History: p.q.history, Earlier: p.q.earlier,
		Reply: p.q.replyID, Runtime: a.runtime, Out: &a.out, Inbox: &a.inbox, Place: p.q.place, agent: a, problem: p,
	}
	var s Solution
	err := a.guard(func() (err error) {
		s, err = a.opts.Solver.Solve(p.ctx, task)
		return err
	})
	if err != nil {
		return s, err
	}
	message := textutil.ShortenChars(s.Message, maxThought)
	if p.q.part {
		message = textutil.ShortenChars(s.Answer, maxAnswer)
	}
	fields := []field{{"message", message}}
	if s.Metadata != nil {
		fields = append(fields, field{"metadata", s.Metadata})
	}
	err = a.out.Publish(p.ctx, p.inside(protocol.KindReasoningConclusion, fields...))
	p.open = !MaybeSent(err)
	if !p.open {
		err = nil
	}
	return s, err
}
