package contextwindow

import (
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// layout is a context under construction: its parts, each with its estimate.
type layout struct {
	goal   Goal
	limit  int // tokens
	fixed  int // tokens of the system prompt and the question
	tokens int // of all parts that are shown

	history []exchange
	steps   []step
	notice  string // mentions dropped steps; "": none

	historyDropped, thoughtsDropped, stepsDropped int
}

// exchange is a user's message and all messages up to the next one. It is
// dropped as a whole, so that no call loses its result.
type exchange struct {
	messages []llm.Message
	tokens   int
	dropped  bool
}

// step is one record: the assistant's message and the results of its calls.
type step struct {
	record    *Record
	message   llm.Message
	tokens    int // of message
	noThought bool
	dropped   bool
	results   []result
}

// result is one result in the form that is shown.
type result struct {
	*source
	rendering
	callID string
}

// expand shows large results whole, the newest first, until one does not fit.
// It skips a result that would not fit if it were the only one.
func (l *layout) expand() {
	free := l.limit - l.tokens
	for i := len(l.steps) - 1; i >= 0; i-- {
		for j := len(l.steps[i].results) - 1; j >= 0; j-- {
			r := &l.steps[i].results[j]
			if l.steps[i].dropped || r.form != preview || r.bodyTokens > r.tokens+free {
				continue
			}
			full := r.whole()
			switch grown := full.tokens - r.tokens; {
			case grown > free:
			case l.tokens+grown > l.limit:
				return
			default:
				l.show(r, full)
			}
		}
	}
}

// show changes the form of a result.
func (l *layout) show(r *result, as rendering) {
	l.tokens += as.tokens - r.tokens
	r.rendering = as
}

func (l *layout) fits() bool { return l.tokens <= l.limit }

// dropOversized drops each part that exceeds the limit by itself.
func (l *layout) dropOversized() {
	room := l.limit - l.fixed
	for i := range l.history {
		if l.history[i].tokens > room {
			l.dropExchange(&l.history[i])
		}
	}
	for i := range l.steps {
		s := &l.steps[i]
		for j := range s.results {
			if s.results[j].tokens > room {
				l.dropResult(s, &s.results[j])
			}
		}
		if s.tokens > room {
			l.dropThought(s)
		}
		if s.tokens > room {
			l.dropStep(s)
		}
	}
}

// fit drops parts until the context fits, in the order that Build documents.
func (l *layout) fit() {
	l.dropResults((*source).isLarge)
	l.dropResults(func(s *source) bool { return s.ok })
	l.eachStep(l.dropThought)
	for i := 0; i < len(l.history) && !l.fits(); i++ {
		l.dropExchange(&l.history[i])
	}
	l.dropResults(func(s *source) bool { return !s.ok })
	l.eachStep(l.dropStep)
	if !l.fits() {
		l.setNotice("")
	}
}

// eachStep calls drop for each step, the oldest first, until the context fits.
func (l *layout) eachStep(drop func(*step)) {
	for i := 0; i < len(l.steps) && !l.fits(); i++ {
		drop(&l.steps[i])
	}
}

// dropResults drops the results that match, the oldest first, until the context
// fits.
func (l *layout) dropResults(match func(*source) bool) {
	l.eachStep(func(s *step) {
		for j := 0; j < len(s.results) && !l.fits(); j++ {
			if match(s.results[j].source) {
				l.dropResult(s, &s.results[j])
			}
		}
	})
}

// dropResult replaces a result by a mark if the mark is shorter.
func (l *layout) dropResult(s *step, r *result) {
	if s.dropped || r.missing {
		return
	}
	if mark := r.mark(l.goal); mark.tokens < r.tokens {
		l.show(r, mark)
	}
}

// dropThought drops the text of a step. It keeps the text of a message in the
// provider's own form that has calls: such a message is sent unchanged.
func (l *layout) dropThought(s *step) {
	if s.dropped || s.noThought || s.tokens == 0 {
		return
	}
	tokens := 0
	if len(s.message.Calls) > 0 {
		if s.record.Turn != nil && len(s.record.Turn.Calls) > 0 || s.message.Text == "" {
			return
		}
		bare := s.message
		bare.Text = ""
		tokens = EstimateMessage(&bare)
	}
	l.tokens += tokens - s.tokens
	s.tokens = tokens
	s.noThought = true
	l.thoughtsDropped++
}

func (l *layout) dropExchange(e *exchange) {
	if e.dropped {
		return
	}
	e.dropped = true
	l.tokens -= e.tokens
	l.historyDropped += len(e.messages)
}

// dropStep drops a step with its results and counts it in the notice.
func (l *layout) dropStep(s *step) {
	if s.dropped || s.tokens == 0 {
		return
	}
	s.dropped = true
	l.tokens -= s.tokens
	for i := range s.results {
		l.tokens -= s.results[i].tokens
	}
	if s.noThought {
		s.noThought = false
		l.thoughtsDropped--
	}
	l.stepsDropped++
	l.setNotice("[left out: " + textutil.Count(l.stepsDropped, "earlier step") + "]")
}

func (l *layout) setNotice(text string) {
	if l.notice != "" {
		l.tokens -= EstimateMessage(&llm.Message{Text: l.notice})
	}
	l.notice = text
	if text != "" {
		l.tokens += EstimateMessage(&llm.Message{Text: text})
	}
}

func (l *layout) messages(in Input) []llm.Message {
	var out []llm.Message
	if in.System != "" {
		out = append(out, llm.Message{Role: llm.System, Text: in.System})
	}
	for _, e := range l.history {
		if !e.dropped {
			out = append(out, e.messages...)
		}
	}
	out = append(out, llm.Message{Role: llm.User, Text: in.Question})
	if l.notice != "" {
		out = append(out, llm.Message{Role: llm.User, Text: l.notice})
	}
	for i := range l.steps {
		s := &l.steps[i]
		if s.dropped || s.tokens == 0 {
			continue
		}
		if s.noThought {
			s.message.Text = ""
		}
		out = append(out, s.message)
		for j := range s.results {
			r := &s.results[j]
			out = append(out, llm.Message{Role: llm.ToolResult, Text: r.text, CallID: r.callID, IsError: !r.ok})
		}
	}
	return out
}

// describe counts the parts that are not shown in full.
func (l *layout) describe() Meta {
	meta := Meta{
		Goal: l.goal, Tokens: l.tokens, Budget: l.limit,
		History: l.historyDropped, Thoughts: l.thoughtsDropped, Steps: l.stepsDropped,
	}
	for i := range l.steps {
		for j := range l.steps[i].results {
			switch r := &l.steps[i].results[j]; {
			case r.missing:
			case l.steps[i].dropped || r.form == dropped:
				meta.Dropped++
			case r.form == summary:
				meta.Summaries++
			case r.isCut:
				meta.Previews++
			}
		}
	}
	return meta
}
