// Package redact finds secrets in texts.
//
// A text is read as it is, and once more as a reader or a program takes it:
// decoded (escapes, percent encoding, entities, fullwidth forms), without
// invisible characters, with broken lines joined, and with one layer of
// base64 or hexadecimal removed. Each reading knows where its bytes are in the
// text. One pass looks for the keywords of all rules; a rule runs only near its
// keywords, and a [Budget] bounds the work of all of them. The package does no
// I/O and keeps nothing of a text.
package redact

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// The rules that are no expressions.
const (
	// RuleKnown is the rule of values that are known.
	RuleKnown = "known-secret"
	// RuleLimit names texts that are masked as a whole, because to inspect them
	// takes more work than any text of people and programs does.
	RuleLimit = "inspection-limit"
)

// MinKnown is the length from which on a known value is searched for, in
// bytes. Shorter ones are words of their own. So much of it is a keyword: the
// automaton of many whole ones would be large, and little is gained by it.
const MinKnown = 8

// Finding is a part of a text.
type Finding struct {
	Rule       string
	Start, End int // Start < End
}

// Set is a set of rules and values. It is safe for concurrent use.
type Set struct {
	rules     []*Rule
	literals  []Secret
	automaton *automaton
	byKeyword [][]int // indices of the rules, and ^indices of the literals
	always    []int   // indices of the rules without keywords
	marks     marks
	encoded   bool
	runs      runs
	scratch   sync.Pool
}

// Options of a [Set].
type Options struct {
	Known []Secret // values that are secret
	// Names are the names of rules in marks, which are not inspected. Nil: the
	// names of the set.
	Names map[string]bool
	// Marked excludes the content of [marked:RULE …] from inspection.
	Marked bool
	// Plain: nothing is decoded.
	Plain bool
}

// NewSet returns a set of rules. Where findings overlap, the first rule gives
// its name, and known values go before rules.
func NewSet(rules []*Rule, o Options) *Set {
	s := &Set{
		rules: rules, encoded: !o.Plain, marks: marks{rules: o.Names, marked: o.Marked},
		runs: runs{min: minRun, stretch: minStretch},
	}
	if o.Names == nil {
		s.marks.rules = map[string]bool{RuleKnown: true, RuleLimit: true}
		for _, r := range rules {
			s.marks.rules[r.ID] = true
		}
	}
	number := map[string]int{}
	var keywords []string
	add := func(keyword string, of int) {
		n, ok := number[keyword]
		if !ok {
			n = len(keywords)
			number[keyword] = n
			keywords = append(keywords, keyword)
			s.byKeyword = append(s.byKeyword, nil)
		}
		s.byKeyword[n] = append(s.byKeyword[n], of)
	}
	for i, r := range rules {
		if len(r.keywords) == 0 {
			s.always = append(s.always, i)
		}
		for _, k := range r.keywords {
			add(k, i)
		}
	}
	seen := map[string]bool{}
	for _, k := range o.Known {
		if text := k.reveal(); len(text) >= MinKnown && !seen[text] {
			seen[text] = true
			s.literals = append(s.literals, k)
			s.runs.fit(text)
			add(text[:MinKnown], ^(len(s.literals) - 1))
		}
	}
	s.automaton = newAutomaton(keywords)
	s.scratch.New = func() any { return &scratch{rules: make([]progress, len(rules))} }
	return s
}

// Find appends the findings in a text to dst, in order and without overlap. key is
// the name of the member with this value; it may be nil, and so may the budget. A
// text that exceeds its budget is one finding.
func (s *Set) Find(dst []Finding, key, body []byte, b *Budget) []Finding {
	named := len(key) > 0 && len(key) <= maxKey && s.hasKeyword(key)
	if !named && len(body) < s.runs.min && len(s.always) == 0 && traitsOf(body) == 0 && !s.hasKeyword(body) {
		return dst // most keys and values: too short for base64, and nothing in it
	}
	c := s.scratch.Get().(*scratch) //nolint:forcetypeassert // the pool holds nothing else
	defer s.scratch.Put(c)
	c.budget = b
	if b == nil {
		c.own = NewBudget(len(body))
		c.budget = &c.own
	}
	c.found = c.found[:0]
	text, offset := body, 0
	if named {
		// Written as an assignment, key and value are judged by the same rules
		// as in a line of text.
		c.text = append(append(c.text[:0], key...), `="`...)
		offset = len(c.text)
		c.text = append(append(c.text, body...), '"')
		text = c.text
	}
	s.read(c, text)
	if c.budget.exceeded() {
		return append(dst, Finding{RuleLimit, 0, len(body)})
	}
	return s.resolve(dst, c.found, offset, len(body))
}

// read searches all readings of a text.
func (s *Set) read(c *scratch, text []byte) {
	last, r := s.readings(text, false, func(text []byte, r *reading) { s.search(c, r, text) })
	if !s.encoded {
		return
	}
	s.unwrap(c, r, last)
	if joined := unwrapped(r, last); joined != nil {
		c.settled = append(c.settled[:0], merged(c.found)...)
		known := len(c.found)
		s.search(c, joined, joined.text)
		s.unwrap(c, joined, joined.text)
		whole := slices.DeleteFunc(c.found[known:], func(f candidate) bool { return covered(f, c.settled, text) })
		c.found = c.found[:known+len(whole)]
	}
}

// maxKey bounds the keys that are read together with their values; longer ones
// name nothing.
const maxKey = 64

// firstKeyword returns the state of the automaton at the end of a text without
// keywords, or at the end of the first one.
func (s *Set) firstKeyword(text []byte) (state uint32, found bool) {
	a := s.automaton
	for _, b := range text {
		state = a.next[state+uint32(a.class[b])]
		if state&matchFlag != 0 {
			return state, true
		}
	}
	return state, false
}

func (s *Set) hasKeyword(text []byte) bool {
	_, found := s.firstKeyword(text)
	return found
}

// candidate is a finding before overlaps are resolved. The rule of a literal
// is below 0.
type candidate struct {
	rule, start, end int
}

// merged sorts candidates and merges overlapping ones, under the rule of the first.
func merged(found []candidate) []candidate {
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.start-b.start, a.rule-b.rule) })
	list := found[:0:0]
	for _, f := range found {
		if n := len(list); n > 0 && f.start < list[n-1].end {
			list[n-1].end = max(list[n-1].end, f.end)
			list[n-1].rule = min(list[n-1].rule, f.rule)
			continue
		}
		list = append(list, f)
	}
	return list
}

// covered reports whether settled findings, which are in order, cover a candidate,
// apart from the ends of lines and their indentation.
func covered(f candidate, settled []candidate, text []byte) bool {
	at := f.start
	k, _ := slices.BinarySearchFunc(settled, at+1, func(c candidate, end int) int { return c.end - end })
	for ; k < len(settled) && settled[k].start < f.end && isGap(text[at:max(at, settled[k].start)]); k++ {
		at = settled[k].end
	}
	return at >= f.end || isGap(text[at:f.end])
}

func isGap(text []byte) bool { return len(bytes.Trim(text, " \t\r\n>")) == 0 }

// resolve converts candidates to findings. offset is the beginning of the body in
// the searched text; candidates outside of the body are ignored.
func (s *Set) resolve(dst []Finding, found []candidate, offset, length int) []Finding {
	if len(found) == 0 {
		return dst
	}
	for _, f := range merged(found) {
		start, end := max(f.start-offset, 0), min(f.end-offset, length)
		if start >= end {
			continue
		}
		name := RuleKnown
		if f.rule >= 0 {
			name = s.rules[f.rule].ID
		}
		dst = append(dst, Finding{name, start, end})
	}
	return dst
}

// maxPasses bounds how often a text is inspected again after something in it
// was masked. Once is enough; more only if parts have come together.
const maxPasses = 8

// Mask returns text with each secret that is found in it replaced by
// [redacted:RULE].
func (s *Set) Mask(text string) string {
	body := []byte(text)
	budget := NewBudget(len(body))
	var found []Finding
	for pass := 0; ; pass++ {
		found = s.Find(found[:0], nil, body, &budget)
		switch {
		case len(found) == 0 && pass == 0:
			return text
		case len(found) == 0:
			return string(body)
		case pass == maxPasses:
			return Marker(found[0].Rule)
		}
		out := make([]byte, 0, len(body)+32)
		last := 0
		for _, f := range found {
			out = append(append(out, body[last:f.Start]...), Marker(f.Rule)...)
			last = f.End
		}
		body = append(out, body[last:]...)
	}
}

// Marker returns the text that replaces a secret.
func Marker(rule string) string { return redactedMark + rule + "]" }

// Budget bounds the work of inspecting one text, in bytes that are run over: once
// for each reading, and by each rule near its keywords.
type Budget struct{ left, spent int }

// Bounds of the work. Ordinary texts use a small part of it, lists of placeholders
// for secrets the most; only hostile texts exceed it.
const (
	workPerByte = 128
	workAtLeast = 8 << 10
)

// NewBudget returns the budget of a text of so many bytes.
func NewBudget(bytes int) Budget { return Budget{left: workPerByte*bytes + workAtLeast} }

// Spent returns the work that was done.
func (b *Budget) Spent() int { return b.spent }

func (b *Budget) spend(work int) {
	b.left -= work
	b.spent += work
}

func (b *Budget) exceeded() bool { return b.left < 0 }
