package reasoning

import "github.com/meup-protocol/meup/internal/llm"

// remembered is what a Builder knows of a record.
type remembered struct {
	record  Record // without its results; to compare with
	msg     llm.Message
	answers []answer
	results []*shown // of each answer
	tokens  int      // of msg
	bare    int      // of msg without the thought; 0: not counted yet
}

// plain is what is known of a message of the conversation.
type plain struct {
	text   string
	tokens int
}

// cost counts a message of the conversation, the i-th of all that are not of
// a step. One of text alone is remembered; an unchanged text is compared at
// once.
func (b *Builder) cost(i int, m llm.Message, limit int) int {
	if len(m.Calls) > 0 || len(m.Opaque.Data) > 0 {
		return b.counter.message(m, limit)
	}
	for len(b.talk) <= i {
		b.talk = append(b.talk, plain{})
	}
	known := &b.talk[i]
	if known.tokens == 0 || known.text != m.Text {
		*known = plain{text: m.Text, tokens: b.counter.message(m, limit)}
	}
	return known.tokens
}

// recall returns what is known of the records, and forgets all that is not of
// them. A record that has changed is looked at anew.
func (b *Builder) recall(records []Record) []*remembered {
	clear(b.steps[min(len(records), len(b.steps)):]) // for the garbage collector
	b.steps = b.steps[:min(len(records), len(b.steps))]
	for i := range records {
		if i == len(b.steps) {
			b.steps = append(b.steps, nil)
		}
		if b.steps[i] == nil || !sameTurn(&b.steps[i].record, &records[i]) {
			b.steps[i] = b.remember(&records[i])
			continue
		}
		b.steps[i].update(&records[i])
	}
	return b.steps
}

func (b *Builder) remember(r *Record) *remembered {
	msg, answers := turnOf(r)
	m := &remembered{record: *r, msg: msg, answers: answers, results: make([]*shown, len(answers))}
	m.record.Results = nil
	for i, a := range answers {
		m.results[i] = newShown(a.tool, resultOf(r, a.at))
	}
	if !m.empty() {
		m.tokens = b.counter.message(msg, b.limit)
	}
	return m
}

// update looks at the results alone, which may have come since.
func (m *remembered) update(r *Record) {
	for i, a := range m.answers {
		if result := resultOf(r, a.at); !m.results[i].is(a.tool, result) {
			m.results[i] = newShown(a.tool, result)
		}
	}
}

// empty reports whether the message says nothing: providers refuse such.
func (m *remembered) empty() bool {
	return m.msg.Text == "" && len(m.msg.Calls) == 0 && len(m.msg.Opaque.Data) == 0
}

// hasBare reports whether the thought can be left out and the calls kept. A
// turn in the model's own form is shown as it is, or not at all.
func (m *remembered) hasBare() bool {
	made := m.record.Turn == nil || len(m.record.Turn.Calls) == 0
	return made && len(m.msg.Calls) > 0 && m.msg.Text != ""
}

// bareTokens is the cost of the message without its thought.
func (m *remembered) bareTokens(c *counter, limit int) int {
	if m.bare == 0 {
		msg := m.msg
		msg.Text = ""
		m.bare = c.message(msg, limit)
	}
	return m.bare
}
