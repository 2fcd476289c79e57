package safety

import (
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"
)

// matcher finds what rules describe. One pass over the text looks for the
// keywords of all rules; only rules of which a keyword was seen run their
// regular expression, and only where a match can be.
type matcher struct {
	rules     []*rule
	literals  []literal
	automaton *automaton
	byKeyword [][]int // indices of the rules, and ^indices of the literals
	always    []int   // indices of the rules without keywords
	marks     marks
	scratch   sync.Pool
}

// literal is a text that is found for what it is.
type literal struct {
	secret Secret
	action Action
}

// scratch is what an inspection needs, kept from one to the next.
type scratch struct {
	seen  []occurrence
	done  []int // by rule: how far the text has been matched
	spent []int // by rule: how many bytes its expressions were given to run over
	found []candidate
	text  []byte
}

// candidate is a finding before overlaps are resolved. The rule of a literal
// is below 0.
type candidate struct {
	rule, start, end int
}

// newMatcher returns a matcher of rules, the stricter ones first; among those
// that are as strict the order is kept.
func newMatcher(rules []*rule, literals []literal, marks marks) *matcher {
	m := &matcher{rules: slices.Clone(rules), literals: literals, marks: marks}
	slices.SortStableFunc(m.rules, func(a, b *rule) int { return a.action.strictness() - b.action.strictness() })
	number := map[string]int{}
	var keywords []string
	add := func(keyword string, of int) {
		n, ok := number[keyword]
		if !ok {
			n = len(keywords)
			number[keyword] = n
			keywords = append(keywords, keyword)
			m.byKeyword = append(m.byKeyword, nil)
		}
		m.byKeyword[n] = append(m.byKeyword[n], of)
	}
	for i, r := range m.rules {
		if len(r.keywords) == 0 {
			m.always = append(m.always, i)
		}
		for _, k := range r.keywords {
			add(k, i)
		}
	}
	for i, l := range literals {
		add(literalKeyword(l.secret.reveal()), ^i)
	}
	m.automaton = newAutomaton(keywords)
	m.scratch.New = func() any { return &scratch{done: make([]int, len(rules)), spent: make([]int, len(rules))} }
	return m
}

// literalKeyword is how a literal begins, in lower case: the automaton of many
// whole ones would be large, and little is gained by it.
func literalKeyword(text string) string {
	k := []byte(text[:min(len(text), 8)])
	for i, c := range k {
		if c >= 'A' && c <= 'Z' {
			k[i] = c + 'a' - 'A'
		}
	}
	return string(k)
}

// search collects what the rules find in text.
func (m *matcher) search(s *scratch, text []byte) {
	s.found = s.found[:0]
	s.seen = m.automaton.scan(s.seen[:0], text)
	if len(s.seen) == 0 && len(m.always) == 0 {
		return
	}
	clear(s.done)
	clear(s.spent)
	for _, i := range m.always {
		m.everywhere(s, i, text)
	}
	for _, o := range s.seen {
		for _, i := range m.byKeyword[o.keyword] {
			if i < 0 {
				m.literally(s, ^i, text, o.start)
				continue
			}
			switch r := m.rules[i]; {
			case r.begins != nil && !r.begins(text, o.start):
			case !r.planned:
				m.everywhere(s, i, text)
			case r.at != nil:
				m.here(s, i, text, o.start)
			default:
				m.around(s, i, text, o.start)
			}
		}
	}
}

// literally compares a literal with what stands at its keyword.
func (m *matcher) literally(s *scratch, i int, text []byte, at int) {
	want := m.literals[i].secret.reveal()
	end := at + len(want)
	if end <= len(text) && string(text[at:end]) == want && !m.marks.hold(text, at, end) {
		s.found = append(s.found, candidate{^i, at, end})
	}
}

// everywhere runs a rule over the whole text, once.
func (m *matcher) everywhere(s *scratch, i int, text []byte) {
	if s.done[i] > 0 {
		return
	}
	m.rest(s, i, text)
}

// rest runs a rule over what it has not matched yet, and is done with it then.
func (m *matcher) rest(s *scratch, i int, text []byte) {
	from := min(max(s.done[i]-1, 0), len(text))
	s.done[i] = len(text) + 1
	s.spent[i] += len(text) - from
	for _, loc := range m.rules[i].re.FindAllSubmatchIndex(text[from:], -1) {
		m.judge(s, i, text, loc, from)
	}
}

// here tries a rule at the keyword, from which its matches begin.
func (m *matcher) here(s *scratch, i int, text []byte, at int) {
	if at < s.done[i] {
		return
	}
	r := m.rules[i]
	from, whole, head := at, r.at, r.headAt
	if at > 0 {
		from, whole, head = at-1, r.after, r.headAfter
	}
	if head != nil {
		part, ok := m.spend(s, i, text, from, within(text, at, r.plan.headTail))
		if !ok || !head.Match(part) {
			return
		}
	}
	part, ok := m.spend(s, i, text, from, within(text, at, r.plan.tail))
	if !ok {
		return
	}
	loc := whole.FindSubmatchIndex(part)
	if loc == nil {
		return
	}
	loc[0] = at - from
	s.done[i] = from + loc[1]
	m.judge(s, i, text, loc, from)
}

// around tries a rule whose matches have the keyword in their middle.
func (m *matcher) around(s *scratch, i int, text []byte, at int) {
	r := m.rules[i]
	if at < s.done[i] {
		return
	}
	from := max(s.done[i], at-r.plan.lead-utf8.UTFMax, 0)
	if r.head != nil {
		part, ok := m.spend(s, i, text, from, within(text, at, r.plan.headTail))
		if !ok || !r.head.Match(part) {
			return
		}
	}
	end := within(text, at, r.plan.tail)
	for from < end {
		part, ok := m.spend(s, i, text, from, end)
		if !ok {
			return
		}
		loc := r.re.FindSubmatchIndex(part)
		if len(loc) == 0 || from+loc[0] > at {
			return
		}
		if from+loc[1] > at {
			s.done[i] = from + loc[1]
			m.judge(s, i, text, loc, from)
			return
		}
		from += max(loc[1], 1) // it belongs to another keyword
	}
}

// spend returns the part of the text that a rule is about to run over, and
// counts its bytes: those that it may run over, whether it does or not. A match
// without a bound may run to the end of the text, and a text that is little more
// than one keyword has the expression run over each byte of it once for each
// keyword that is near. So a rule has a budget that grows with the text. Beyond
// it (!ok) the rule goes once through all that it has not matched yet, as it is
// written, and is done: that takes longer than a look at one keyword and much
// less than one at each, and what is behind is found all the same.
func (m *matcher) spend(s *scratch, i int, text []byte, from, to int) (part []byte, ok bool) {
	if s.spent[i]+to-from > 2*len(text)+minBudget {
		m.rest(s, i, text)
		return nil, false
	}
	s.spent[i] += to - from
	return text[from:to], true
}

// minBudget is how many bytes each rule may run over in any text.
const minBudget = 16 << 10

// within returns where a match that has the keyword at this place must have
// ended, and one character more for the assertion behind it.
func within(text []byte, at, tail int) int {
	if tail == unbounded {
		return len(text)
	}
	return min(len(text), at+tail+utf8.UTFMax)
}

// judge keeps a match that convinces; loc counts from offset. What stands in
// a mark of ours has been dealt with.
func (m *matcher) judge(s *scratch, i int, text []byte, loc []int, offset int) {
	r := m.rules[i]
	start, end := r.secret(loc)
	if start < 0 || !r.convinced(text[offset+loc[0]:offset+loc[1]], text[offset+start:offset+end]) {
		return
	}
	if m.marks.hold(text, offset+start, offset+end) {
		return
	}
	s.found = append(s.found, candidate{i, offset + start, offset + end})
}

// resolve makes findings of candidates: those that overlap become one, under
// the name of the rule that comes first. Offset is where the body begins in
// the text that was searched; what lies outside of it is not its matter.
func (m *matcher) resolve(dst []Finding, found []candidate, offset, length int) []Finding {
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.start-b.start, a.rule-b.rule) })
	for i := 0; i < len(found); {
		c := found[i]
		for i++; i < len(found) && found[i].start < c.end; i++ {
			c.end = max(c.end, found[i].end)
			c.rule = min(c.rule, found[i].rule)
		}
		start, end := max(c.start-offset, 0), min(c.end-offset, length)
		if start < end {
			dst = append(dst, m.finding(c.rule, start, end))
		}
	}
	return dst
}

func (m *matcher) finding(rule, start, end int) Finding {
	if rule < 0 {
		return Finding{Rule: ruleKnown, Start: start, End: end, Action: m.literals[^rule].action}
	}
	r := m.rules[rule]
	return Finding{Rule: r.id, Start: start, End: end, Action: r.action}
}
