package reasoning

import "github.com/meup-protocol/meup/internal/llm"

// plan is what a context will hold: a cost and a form for everything that may
// be shown in another way or not at all.
type plan struct {
	goal    Goal
	counter *counter
	limit   int // tokens
	fixed   int // tokens of what is never cut
	sum     int // tokens of all that is shown

	history []exchange
	steps   []planStep
	results []planResult // of all steps, oldest first

	historyGone, thoughtsGone, stepsGone int
	note                                 said // counts the steps that are gone; empty: there is none
}

// exchange is a message of somebody and all that followed it, up to the next:
// leaving it out leaves no call without its result.
type exchange struct {
	messages []llm.Message
	tokens   int
	gone     bool
}

// planStep is the assistant's message of a step.
type planStep struct {
	*remembered
	tokens  int
	bare    bool // without its thought
	gone    bool // with its results
	results []planResult
}

// planResult is a result in the form that was chosen for it.
type planResult struct {
	*shown
	form   form
	tokens int
	hidden bool // with its step
}

// A question or a system prompt of up to so many times the limit, or of so many
// tokens, is counted, so that it can be said how much too large it is. Of a
// larger one that is not found out.
const (
	exactly      = 2
	atLeastExact = 10_000
)

// newPlan shows results large as summary or preview, and the rest whole.
func newPlan(b *Builder, in Input, steps []*remembered) *plan {
	p := &plan{goal: in.Goal, counter: b.counter, limit: b.limit}
	most := max(atLeastExact, exactly*b.limit)
	p.fixed = b.cost(0, llm.Message{Text: in.Question}, most)
	if in.System != "" {
		p.fixed += b.cost(1, llm.Message{Text: in.System}, most)
	}
	p.sum = p.fixed
	if p.fixed > p.limit {
		return p
	}
	p.addHistory(b, in.History)
	p.addSteps(steps)
	return p
}

func (p *plan) addHistory(b *Builder, messages []llm.Message) {
	for i, m := range messages {
		if i == 0 || m.Role == llm.User {
			p.history = append(p.history, exchange{messages: messages[i:i]})
		}
		last := &p.history[len(p.history)-1]
		last.messages = last.messages[:len(last.messages)+1]
		n := b.cost(2+i, m, p.limit)
		last.tokens += n
		p.sum += n
	}
}

func (p *plan) addSteps(steps []*remembered) {
	n := 0
	for _, s := range steps {
		n += len(s.results)
	}
	p.steps = make([]planStep, len(steps))
	p.results = make([]planResult, 0, n)
	for i, s := range steps {
		first := len(p.results)
		for _, r := range s.results {
			f := p.first(r)
			tokens := r.in(f, p.counter).tokens
			p.results = append(p.results, planResult{shown: r, form: f, tokens: tokens})
			p.sum += tokens
		}
		p.steps[i] = planStep{remembered: s, tokens: s.tokens, results: p.results[first:]}
		p.sum += s.tokens
	}
}

// first is the form that a result has before there is any need to save.
func (p *plan) first(r *shown) form {
	switch {
	case !r.large():
		return whole
	case r.said[summaryFor(p.goal)].tokens > 0:
		return summaryFor(p.goal)
	default:
		return short
	}
}

// show gives a result another form.
func (p *plan) show(r *planResult, f form, tokens int) {
	p.sum += tokens - r.tokens
	r.form, r.tokens = f, tokens
}

// tooLarge is the error of a plan whose fixed parts have no room.
func (p *plan) tooLarge() error {
	if p.fixed >= beyond {
		return &TooLargeError{Tokens: p.limit, More: true, Budget: p.limit}
	}
	return &TooLargeError{Tokens: p.fixed, Budget: p.limit}
}

// showWhole shows large results whole, the newest first, until one has no
// room. One that would have none if it were the only one is passed over.
func (p *plan) showWhole() {
	alone := p.limit - p.sum
	for i := len(p.results) - 1; i >= 0; i-- {
		r := &p.results[i]
		if r.form != short || r.hidden {
			continue
		}
		said, ok := r.wholeWithin(r.tokens+alone, p.counter)
		switch {
		case !ok:
		case p.sum+said.tokens-r.tokens <= p.limit:
			p.show(r, whole, said.tokens)
		default:
			return
		}
	}
}
