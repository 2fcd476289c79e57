package agent

import (
	"fmt"

	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

var noteKinds = map[planner.NoteKind]protocol.Kind{
	planner.Observation: protocol.KindReasoningObservation, planner.Hypothesis: protocol.KindReasoningHypothesis,
	planner.Question: protocol.KindReasoningQuestion, planner.Reply: protocol.KindReasoningThought,
}

// note builds the envelope of a note. It contains what the planner gave and
// nothing else; ids that the planner was not shown are left out. It marks a
// remark that the note replies to as answered.
func (p *problem) note(n planner.Note) (protocol.Envelope, error) {
	kind, known := noteKinds[n.Kind]
	text := textutil.ShortenChars(n.Text, maxThought)
	switch {
	case !known:
		return protocol.Envelope{}, fmt.Errorf("there is no kind %.40q", n.Kind)
	case text == "":
		return protocol.Envelope{}, fmt.Errorf("a note needs a text")
	}
	name := "message"
	if n.Kind == planner.Hypothesis {
		name = "hypothesis"
	}
	fields := []field{{name, text}}
	if n.Severity != "" {
		fields = append(fields, field{"severity", n.Severity})
	}
	if n.Confidence != nil {
		fields = append(fields, field{"confidence", inUnit(*n.Confidence)})
	}
	if len(n.For) > 0 {
		fields = append(fields, field{"evidence", p.q.refs.Evidence(n.For)})
	}
	if len(n.Against) > 0 {
		fields = append(fields, field{"evidence_against", p.q.refs.Evidence(n.Against)})
	}
	if ids := p.q.refs.ResolveAll(n.References); len(ids) > 0 {
		fields = append(fields, field{"references", ids})
	}
	env := p.inside(kind, fields...)
	env.ID = newID()
	if n.Kind != planner.Reply {
		return env, nil
	}
	to, ok := p.q.refs.Resolve(n.ReplyTo)
	if !ok {
		return protocol.Envelope{}, fmt.Errorf("there is no remark %.40q to reply to", n.ReplyTo)
	}
	env.Correlation = protocol.CorrelateTo(to)
	p.answered(to)
	return env, nil
}

// answered records that a remark got a reply.
func (p *problem) answered(id protocol.ID) {
	for i, asked := range p.asked {
		if asked == id {
			p.asked = append(p.asked[:i], p.asked[i+1:]...)
			return
		}
	}
}

// inUnit limits a confidence to the range that the protocol allows.
func inUnit(sure float64) float64 { return min(max(sure, 0), 1) }
