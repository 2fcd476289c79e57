package reasoning

// dropTooLarge leaves out what would not fit if it were alone: to leave out
// anything else for its sake would be in vain.
func (p *plan) dropTooLarge() {
	room := p.limit - p.fixed
	for i := range p.history {
		if p.history[i].tokens > room {
			p.dropExchange(&p.history[i])
		}
	}
	for i := range p.results {
		if p.results[i].tokens > room {
			p.drop(&p.results[i])
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.tokens > room {
			p.dropThought(s)
		}
		if s.tokens > room {
			p.dropStep(s)
		}
	}
}

// fit leaves things out until the rest has room: what is least missed first,
// and of its kind the oldest.
func (p *plan) fit() {
	p.dropResults(func(r *planResult) bool { return r.large() })
	p.dropResults(func(r *planResult) bool { return r.ok })
	for i := range p.steps {
		if p.fits() {
			return
		}
		p.dropThought(&p.steps[i])
	}
	for i := range p.history {
		if p.fits() {
			return
		}
		p.dropExchange(&p.history[i])
	}
	p.dropResults(func(r *planResult) bool { return !r.ok })
	for i := range p.steps {
		if p.fits() {
			return
		}
		p.dropStep(&p.steps[i])
	}
	if !p.fits() { // not even the line that says so
		p.sum -= p.note.tokens
		p.note = said{}
	}
}

func (p *plan) fits() bool { return p.sum <= p.limit }

// dropResults drops those of a kind, while there is need.
func (p *plan) dropResults(kind func(*planResult) bool) {
	for i := range p.results {
		if p.fits() {
			return
		}
		if kind(&p.results[i]) {
			p.drop(&p.results[i])
		}
	}
}

// drop shows a mark in the place of a result, if that is shorter.
func (p *plan) drop(r *planResult) {
	if r.hidden || r.result == nil {
		return
	}
	f := markFor(p.goal)
	if tokens := r.in(f, p.counter).tokens; tokens < r.tokens {
		p.show(r, f, tokens)
	}
}

// dropThought leaves out what was thought. Where nothing was called, that is
// the whole message.
func (p *plan) dropThought(s *planStep) {
	switch {
	case s.gone || s.bare || s.empty():
		return
	case len(s.msg.Calls) == 0:
		p.sum -= s.tokens
		s.tokens = 0
	case s.hasBare():
		tokens := s.bareTokens(p.counter, p.limit)
		p.sum += tokens - s.tokens
		s.tokens = tokens
	default:
		return
	}
	s.bare = true
	p.thoughtsGone++
}

func (p *plan) dropExchange(e *exchange) {
	if e.gone {
		return
	}
	e.gone = true
	p.sum -= e.tokens
	p.historyGone += len(e.messages)
}

// dropStep leaves out a step with its results, and says that there was one.
func (p *plan) dropStep(s *planStep) {
	if s.gone || s.silent() {
		return
	}
	s.gone = true
	p.sum -= s.tokens
	for i := range s.results {
		s.results[i].hidden = true
		p.sum -= s.results[i].tokens
	}
	p.stepsGone++
	if s.bare {
		s.bare = false
		p.thoughtsGone--
	}
	p.sum -= p.note.tokens
	p.note.text = earlierSteps(p.stepsGone)
	p.note.tokens = perMessage + p.counter.count(p.note.text)
	p.sum += p.note.tokens
}

// silent reports whether a step shows no message at all.
func (s *planStep) silent() bool { return s.tokens == 0 }
