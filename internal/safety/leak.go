package safety

import (
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"
)

// LeakDetector is the stage that finds secrets. One pass over the text looks
// for the keywords of all rules; only rules of which a keyword was seen run
// their regular expression, and only where a match can be.
type LeakDetector struct {
	rules     []*rule
	automaton *automaton
	byKeyword [][]int // indices of the rules
	always    []int   // indices of the rules without keywords
	scratch   sync.Pool
}

// scratch is what an inspection needs, kept from one to the next.
type scratch struct {
	seen  []occurrence
	done  []int // by rule: how far the text has been matched
	found []candidate
	text  []byte
}

// candidate is a finding before overlaps are resolved.
type candidate struct {
	rule, start, end int
}

// NewLeakDetector returns a detector with the built-in rules.
func NewLeakDetector() (*LeakDetector, error) {
	rules, err := parseRules(builtInRules)
	if err != nil {
		return nil, err
	}
	return newLeakDetector(rules), nil
}

func newLeakDetector(rules []*rule) *LeakDetector {
	d := &LeakDetector{rules: rules}
	number := map[string]int{}
	var keywords []string
	for i, r := range rules {
		if len(r.keywords) == 0 {
			d.always = append(d.always, i)
		}
		for _, k := range r.keywords {
			n, ok := number[k]
			if !ok {
				n = len(keywords)
				number[k] = n
				keywords = append(keywords, k)
				d.byKeyword = append(d.byKeyword, nil)
			}
			d.byKeyword[n] = append(d.byKeyword[n], i)
		}
	}
	d.automaton = newAutomaton(keywords)
	d.scratch.New = func() any { return &scratch{done: make([]int, len(rules))} }
	return d
}

// Name returns "leaks".
func (d *LeakDetector) Name() string { return "leaks" }

// maxKey bounds the keys that are read together with their values; longer ones
// name nothing.
const maxKey = 64

// Inspect appends the secrets in a text.
func (d *LeakDetector) Inspect(dst []Finding, t Text) []Finding {
	s := d.scratch.Get().(*scratch) //nolint:forcetypeassert // the pool holds nothing else
	defer d.scratch.Put(s)
	body, offset := t.Body, 0
	if d.telling(s, t.Key) {
		// Written as an assignment, key and value are judged by the same rules
		// as in a line of text.
		s.text = append(append(s.text[:0], t.Key...), `="`...)
		offset = len(s.text)
		s.text = append(append(s.text, t.Body...), '"')
		body = s.text
	}
	d.search(s, body)
	return d.resolve(dst, s.found, offset, len(t.Body))
}

// telling reports whether a key has a keyword in it.
func (d *LeakDetector) telling(s *scratch, key []byte) bool {
	if len(key) == 0 || len(key) > maxKey {
		return false
	}
	s.seen = d.automaton.scan(s.seen[:0], key)
	return len(s.seen) > 0
}

// search collects what the rules find in text.
func (d *LeakDetector) search(s *scratch, text []byte) {
	s.found = s.found[:0]
	s.seen = d.automaton.scan(s.seen[:0], text)
	if len(s.seen) == 0 && len(d.always) == 0 {
		return
	}
	clear(s.done)
	for _, i := range d.always {
		d.everywhere(s, i, text)
	}
	for _, o := range s.seen {
		for _, i := range d.byKeyword[o.keyword] {
			switch r := d.rules[i]; {
			case !r.planned:
				d.everywhere(s, i, text)
			case r.at != nil:
				d.here(s, i, text, o.start)
			default:
				d.around(s, i, text, o.start)
			}
		}
	}
}

// everywhere runs a rule over the whole text, once.
func (d *LeakDetector) everywhere(s *scratch, i int, text []byte) {
	if s.done[i] > 0 {
		return
	}
	s.done[i] = 1
	for _, loc := range d.rules[i].re.FindAllSubmatchIndex(text, -1) {
		d.judge(s, i, text, loc, 0)
	}
}

// here tries a rule at the keyword, from which its matches begin.
func (d *LeakDetector) here(s *scratch, i int, text []byte, at int) {
	if at < s.done[i] {
		return
	}
	r := d.rules[i]
	from, whole, head := at, r.at, r.headAt
	if at > 0 {
		from, whole, head = at-1, r.after, r.headAfter
	}
	if head != nil && !head.Match(text[from:within(text, at, r.plan.headTail)]) {
		return
	}
	loc := whole.FindSubmatchIndex(text[from:within(text, at, r.plan.tail)])
	if loc == nil {
		return
	}
	loc[0] = at - from
	s.done[i] = from + loc[1]
	d.judge(s, i, text, loc, from)
}

// around tries a rule whose matches have the keyword in their middle.
func (d *LeakDetector) around(s *scratch, i int, text []byte, at int) {
	r := d.rules[i]
	from := max(s.done[i], at-r.plan.lead-utf8.UTFMax, 0)
	end := within(text, at, r.plan.tail)
	for from < end {
		loc := r.re.FindSubmatchIndex(text[from:end])
		if len(loc) == 0 || from+loc[0] > at {
			return
		}
		if from+loc[1] > at {
			s.done[i] = from + loc[1]
			d.judge(s, i, text, loc, from)
			return
		}
		from += max(loc[1], 1) // it belongs to another keyword
	}
}

// within returns where a match that has the keyword at this place must have
// ended, and one character more for the assertion behind it.
func within(text []byte, at, tail int) int {
	if tail == unbounded {
		return len(text)
	}
	return min(len(text), at+tail+utf8.UTFMax)
}

// judge keeps a match that convinces; loc counts from offset.
func (d *LeakDetector) judge(s *scratch, i int, text []byte, loc []int, offset int) {
	r := d.rules[i]
	start, end := r.secret(loc)
	if start < 0 || !r.convinced(text[offset+loc[0]:offset+loc[1]], text[offset+start:offset+end]) {
		return
	}
	s.found = append(s.found, candidate{i, offset + start, offset + end})
}

// resolve makes findings of candidates: those that overlap become one, under
// the name of the rule that comes first. Offset is where the body begins in
// the text that was searched; what lies outside of it is not its matter.
func (d *LeakDetector) resolve(dst []Finding, found []candidate, offset, length int) []Finding {
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.start-b.start, a.rule-b.rule) })
	for i := 0; i < len(found); {
		c := found[i]
		for i++; i < len(found) && found[i].start < c.end; i++ {
			c.end = max(c.end, found[i].end)
			c.rule = min(c.rule, found[i].rule)
		}
		start, end := max(c.start-offset, 0), min(c.end-offset, length)
		if start < end {
			dst = append(dst, Finding{Rule: d.rules[c.rule].id, Start: start, End: end})
		}
	}
	return dst
}
