package redact

import "unicode/utf8"

// scratch has the reusable buffers of an inspection.
type scratch struct {
	budget  *Budget
	own     Budget // where the caller has none
	epoch   int    // of the search
	rules   []progress
	found   []candidate
	settled []candidate
	text    []byte
	decoded []byte
}

// progress is how far a rule has come in a text.
type progress struct {
	epoch int
	done  int // matches begin here or later
	trail trail
}

func (c *scratch) progress(rule int) *progress {
	p := &c.rules[rule]
	if p.epoch != c.epoch {
		*p = progress{epoch: c.epoch}
	}
	return p
}

// add records a finding of a rule in a reading.
func (c *scratch) add(r *reading, rule, start, end int) {
	start, end = r.span(start, end)
	c.found = append(c.found, candidate{rule, start, end})
}

// search collects the findings in one reading.
func (s *Set) search(c *scratch, r *reading, text []byte) {
	c.epoch++
	c.budget.spend(len(text))
	for _, i := range s.always {
		s.searchAll(c, r, i, text)
	}
	s.eachKeyword(c, text, func(rule, at, _ int) {
		if rule >= 0 {
			s.searchNear(c, r, rule, text, at)
			return
		}
		want := s.literals[^rule].reveal()
		end := at + len(want)
		if end <= len(text) && string(text[at:end]) == want && !s.marks.hold(text, at, end) {
			c.add(r, rule, at, end)
		}
	})
}

// eachKeyword visits the keywords in a text, with their rules, and returns the
// last state of the automaton. It stops when the budget is exceeded.
func (s *Set) eachKeyword(c *scratch, text []byte, visit func(rule, at, end int)) (state uint32) {
	a := s.automaton
	next, class := a.next, &a.class
	for i, b := range text {
		state = next[state+uint32(class[b])]
		if state&matchFlag == 0 {
			continue
		}
		state &^= matchFlag
		for _, k := range a.matches[state/a.width] {
			for _, rule := range s.byKeyword[k] {
				visit(rule, i+1-a.lengths[k], i+1)
			}
		}
		if c.budget.exceeded() {
			break
		}
	}
	return state
}

// searchAll runs a rule without keywords near its matches over the whole text. Only
// operators' rules can have this cost.
func (s *Set) searchAll(c *scratch, r *reading, rule int, text []byte) {
	for _, loc := range s.rules[rule].re.FindAllSubmatchIndex(text, -1) {
		s.judge(c, r, rule, text, loc, 0)
	}
}

// maxWindow is how far an expression runs beyond the least match, in bytes.
const maxWindow = 16 << 10

// expressionCost is how much longer an expression takes over a byte than a dfa.
const expressionCost = 16

// searchNear tries a rule at one of its keywords.
func (s *Set) searchNear(c *scratch, r *reading, i int, text []byte, at int) {
	p := c.progress(i)
	if at < p.done {
		return
	}
	rule := s.rules[i]
	if !rule.planned {
		s.searchAll(c, r, i, text)
		p.done = len(text) + 1
		return
	}
	limit := min(len(text), at+rule.plan.tail+utf8.UTFMax) // and the character after it
	for from := max(p.done, at-rule.plan.lead, 0); from <= at-rule.plan.near; from++ {
		if s.matchAt(c, r, i, text, from, limit) {
			return
		}
	}
}

// matchAt tries a rule at one place, and reports whether it matches there.
func (s *Set) matchAt(c *scratch, r *reading, i int, text []byte, at, limit int) bool {
	rule, p := s.rules[i], c.progress(i)
	m := rule.matcher()
	ok, end, work := m.dfa.match(text, at, limit, &p.trail)
	c.budget.spend(work)
	if !ok || c.budget.exceeded() {
		return false
	}
	limit = min(limit, end+maxWindow)
	from, expression := at, m.at
	if at > 0 {
		from, expression = at-1, m.after
	}
	loc := expression.FindSubmatchIndex(text[from:limit])
	if loc == nil {
		c.budget.spend(expressionCost * (limit - from))
		return false
	}
	loc[0] = at - from
	c.budget.spend(expressionCost * (loc[1] - loc[0]))
	p.done = max(from+loc[1], at+1)
	if p.done == limit && limit < len(text) {
		for p.done < len(text) && inToken[text[p.done]] { // a secret of any length
			p.done++
		}
		extend(loc, p.done-from)
	}
	s.judge(c, r, i, text, loc, from)
	return true
}

// extend moves the end of a match, and of groups that end there.
func extend(loc []int, end int) {
	old := loc[1]
	loc[1] = end
	for g := 3; g < len(loc); g += 2 {
		if loc[g] == old {
			loc[g] = end
		}
	}
}

// judge records a match that passes the rule's conditions; loc is relative to
// offset. Text in marks was handled before.
func (s *Set) judge(c *scratch, r *reading, i int, text []byte, loc []int, offset int) {
	rule := s.rules[i]
	start, end := rule.secret(loc)
	if start < 0 || start == end {
		return
	}
	match, secret := text[offset+loc[0]:offset+loc[1]], text[offset+start:offset+end]
	if rule.entropy > 0 && entropy(secret) <= rule.entropy {
		return
	}
	for k := range rule.allow {
		if rule.allow[k].covers(match, secret) {
			return
		}
	}
	if !s.marks.hold(text, offset+start, offset+end) {
		c.add(r, i, offset+start, offset+end)
	}
}
