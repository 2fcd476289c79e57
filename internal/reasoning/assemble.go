package reasoning

import "github.com/meup-protocol/meup/internal/llm"

// messages are those of the plan.
func (p *plan) messages(in Input) []llm.Message {
	out := make([]llm.Message, 0, 3+len(in.History)+len(p.steps)+len(p.results))
	if in.System != "" {
		out = append(out, llm.Message{Role: llm.System, Text: in.System})
	}
	for _, e := range p.history {
		if !e.gone {
			out = append(out, e.messages...)
		}
	}
	out = append(out, llm.Message{Role: llm.User, Text: in.Question})
	if p.note.text != "" {
		out = append(out, llm.Message{Role: llm.User, Text: p.note.text})
	}
	for i := range p.steps {
		out = p.steps[i].appendTo(out)
	}
	return out
}

// appendTo adds the messages of a step.
func (s *planStep) appendTo(out []llm.Message) []llm.Message {
	if s.gone || s.silent() {
		return out
	}
	msg := s.msg
	if s.bare {
		msg.Text = ""
	}
	out = append(out, msg)
	for i := range s.results {
		r := &s.results[i]
		out = append(out, llm.Message{Role: llm.ToolResult, Text: r.text(r.form), CallID: s.answers[i].id, IsError: !r.ok})
	}
	return out
}

// meta says what the plan holds.
func (p *plan) meta() Meta {
	m := Meta{
		Goal: p.goal, Encoding: p.counter.codec.GetName(), Tokens: p.sum, Budget: p.limit,
		History: p.historyGone, Thoughts: p.thoughtsGone, Steps: p.stepsGone,
	}
	for i := range p.steps {
		s := &p.steps[i]
		for j := range s.results {
			if cut, ok := s.results[j].cut(s.record.Index, j); ok {
				m.add(cut)
			}
		}
	}
	return m
}

// add counts a result that is not shown whole.
func (m *Meta) add(c Cut) {
	m.Cut = append(m.Cut, c)
	switch {
	case c.Dropped:
		m.Dropped++
	case c.Summary:
		m.Summaries++
	default:
		m.Previews++
	}
}

// cut says how much of a result is shown; ok is false when all of it is.
func (r *planResult) cut(step, call int) (c Cut, ok bool) {
	if r.result == nil {
		return Cut{}, false
	}
	said := &r.said[r.form]
	c = Cut{Step: step, Call: call, Chars: r.chars, Shown: said.shown, Error: !r.ok}
	switch {
	case r.hidden:
		c.Shown, c.Dropped = 0, true
	case r.form == gone || r.form == goneForGood:
		c.Dropped = true
	case r.form == planned || r.form == told:
		c.Summary = true
	case !said.cut:
		return Cut{}, false
	}
	return c, true
}
