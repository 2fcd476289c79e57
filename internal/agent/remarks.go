package agent

import (
	"slices"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/protocol"
)

const (
	maxAsked = 16 // remarks that wait for a reply
	// maxReconsidered bounds the decisions on one context that are made again
	// because of remarks that came in the meantime.
	maxReconsidered = 4
)

// noteRemark adds an envelope to the remarks on the open context that it is in.
// It reports whether it did.
func (a *Agent) noteRemark(env *protocol.Envelope) bool {
	open, _ := a.contexts.Load(env.Context)
	p, ok := open.(*problem)
	if !ok {
		return false
	}
	if env.From == a.you {
		p.remarks.NoteOwn(env.ID)
		return false
	}
	m, ok := intake.ReadRemark(env)
	if !ok || !p.q.shares(env) {
		return false
	}
	p.remarks.Add(m)
	a.log.Debug("taken as a remark on an open question", "envelope", env.ID, "from", env.From, "question", p.q.chat.ID)
	return true
}

// shares reports whether an envelope may be used for the question: everything
// that the agent writes about a public question goes to all, and about a private
// one to its participants.
func (q *question) shares(env *protocol.Envelope) bool {
	if len(q.private) == 0 {
		return len(env.To) == 0
	}
	return slices.Contains(q.private, env.From) && (len(env.To) == 0 || !slices.ContainsFunc(q.private, func(id protocol.ParticipantID) bool {
		return id != env.From && !env.AddressedTo(id)
	}))
}

// hear gives the unread remarks to the planner, as a step without calls.
func (a *Agent) hear(p *problem, state *planner.State) {
	list, dropped := p.remarks.Take()
	if len(list) == 0 {
		return
	}
	text := intake.RenderRemarks(list, dropped, &p.q.refs)
	p.noteAsked(list)
	state.Steps = append(state.Steps, contextwindow.Record{
		Index: len(state.Steps), Action: contextwindow.Heard, Thought: text, Turn: &llm.Message{Role: llm.User, Text: text},
	})
	state.MaxSteps++ // it uses up none of the steps
}

// noteAsked records the remarks that wait for a reply.
func (p *problem) noteAsked(list []intake.Remark) {
	for i := range list {
		if list[i].Asks && len(p.asked) < maxAsked {
			p.asked = append(p.asked, list[i].ID)
		}
	}
}

// noReply is the acknowledgement of a question that got no reply of its own.
const noReply = "I have read this, and conclude without a separate reply."

// acknowledge returns a thought for each remark that asks and got no reply.
func (p *problem) acknowledge() []protocol.Envelope {
	list, _ := p.remarks.Take()
	p.noteAsked(list)
	var out []protocol.Envelope
	for _, id := range p.asked {
		env := p.inside(protocol.KindReasoningThought, field{"message", noReply})
		env.Correlation = protocol.CorrelateTo(id)
		out = append(out, env)
	}
	p.asked = nil
	return out
}
