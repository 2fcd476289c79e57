package redact

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// Opening describes the end of an incomplete text, which more text may turn into a
// secret. The zero Opening is an entirely open text.
type Opening struct {
	// Start is where the first thing begins that is open. A search in the text
	// that goes on has to begin there or before.
	Start int
	// Hold is the offset of the first byte that may become part of a secret. Bytes
	// before it may not: the name of a key, the first characters of a word.
	Hold int
}

// shown is how much may be seen of a known value before it is complete.
const shown = 3

// Open returns the opening of a text. If nothing is open, the offsets are the length
// of the text. A text that exceeds its budget is entirely open.
func (s *Set) Open(text []byte, b *Budget) Opening {
	c := s.scratch.Get().(*scratch) //nolint:forcetypeassert // the pool holds nothing else
	defer s.scratch.Put(c)
	c.budget = b
	text = text[:len(text)-s.partialCode(text)]
	o := Opening{len(text), len(text)}
	last, r := s.readings(text, true, func(text []byte, r *reading) { s.openIn(c, r, text, &o) })
	if s.encoded {
		if joined := joinedEnd(r, last); joined != nil {
			s.openIn(c, joined, joined.text, &o)
		}
	}
	if c.budget.exceeded() {
		return Opening{}
	}
	return o
}

// Quiet returns the opening of a text without possible findings, at low cost. It
// returns false if the text needs Open and Find.
func (s *Set) Quiet(text []byte) (o Opening, ok bool) {
	o = Opening{len(text), len(text)}
	if len(s.always) > 0 || traitsOf(text) != 0 || bytes.IndexByte(text, '\n') >= 0 {
		return o, false
	}
	state, found := s.firstKeyword(text)
	if found {
		return o, false
	}
	if s.encoded {
		if start, end := nextRun(&sextets, s.runs.min, text, 0); start < end {
			return o, false
		}
	}
	s.unfinished(text, state, &o)
	return o, true
}

// note adds a range of a reading that is open from start and may be secret from
// hold.
func (o *Opening) note(r *reading, start, hold int) {
	if r == nil {
		o.Start, o.Hold = min(o.Start, start), min(o.Hold, hold)
		return
	}
	if start < len(r.text) {
		o.Start = min(o.Start, r.source(start))
	}
	if hold < len(r.text) {
		o.Hold = min(o.Hold, r.source(hold))
	}
}

// source returns where a byte of a reading is in the text.
func (r *reading) source(at int) int {
	start, _ := r.span(at, at+1)
	return start
}

// openIn finds open ranges in one reading.
func (s *Set) openIn(c *scratch, r *reading, text []byte, o *Opening) {
	if len(text) == 0 {
		return
	}
	c.budget.spend(len(text))
	if len(s.always) > 0 {
		o.note(r, lineStart(text), lineStart(text))
	}
	first := Opening{len(text), len(text)} // in this reading
	state := s.eachKeyword(c, text, func(rule, at, end int) { s.openNear(c, rule, text, at, end, &first) })
	if c.budget.exceeded() {
		return
	}
	s.unfinished(text, state, &first)
	o.note(r, first.Start, first.Hold)
}

// unfinished adds the keyword and the run at the end of a text. state is the final
// state of the automaton.
func (s *Set) unfinished(text []byte, state uint32, o *Opening) {
	if depth := s.automaton.depths[state/s.automaton.width]; depth > 0 {
		at := len(text) - depth
		o.note(nil, at, at+shown)
	}
	if !s.encoded {
		return
	}
	at := len(text)
	for at > 0 && inRun[text[at-1]] {
		at--
	}
	if at < len(text) {
		o.note(nil, at, at+harmless(text[at:]))
	}
}

// openNear looks whether a rule, or a known value, whose keyword is text[at:end]
// is open.
func (s *Set) openNear(c *scratch, i int, text []byte, at, end int, o *Opening) {
	if i < 0 {
		want := s.literals[^i].reveal()
		if rest := text[at:]; len(rest) < len(want) && want[:len(rest)] == string(rest) {
			o.note(nil, at, at+shown)
		}
		return
	}
	rule := s.rules[i]
	if !rule.planned {
		o.note(nil, lineStart(text), lineStart(text))
		return
	}
	if at+rule.plan.tail+utf8.UTFMax < len(text) {
		return
	}
	for from := max(0, at-rule.plan.lead); from <= at-rule.plan.near; from++ {
		hold := from
		if rule.plan.near == 0 {
			hold = end // the prefix of a match is no secret
		}
		if from >= o.Start && hold >= o.Hold {
			return
		}
		ok, work := rule.matcher().dfa.open(text, from)
		c.budget.spend(work)
		if ok {
			o.note(nil, from, hold)
			return
		}
	}
}

func lineStart(text []byte) int { return bytes.LastIndexByte(text, '\n') + 1 }

// inRun are the characters of tokens and of their encodings.
var inRun = byteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.-~:=")

// Bounds of harmless runs, in characters.
const (
	shortRun = 7  // of an encoded secret that is five bytes
	longWord = 20 // between two separators
)

// harmless returns the number of leading characters of a run that need not be held
// back: the first few, and words, paths and names. Encoded text soon mixes
// capitals and digits into its letters.
func harmless(run []byte) int {
	letters, capitals := 0, 0 // since the last separator
	for i, b := range run {
		switch {
		case b >= 'a' && b <= 'z':
			letters++
			if capitals > 1 { // ABc
				letters = longWord + 1
			}
		case b >= 'A' && b <= 'Z':
			letters++
			capitals++
			if capitals < letters { // aB
				letters = longWord + 1
			}
		case b >= '0' && b <= '9', b == '+', b == '=':
			letters = longWord + 1
		default:
			if letters <= longWord {
				letters, capitals = 0, 0
			}
		}
		if letters > longWord && i >= shortRun {
			return i
		}
	}
	return len(run)
}

// maxCode bounds an incomplete character code or terminal sequence, in bytes.
const maxCode = 64

// partialEncoding matches the beginning of an encoded character at the end of a text.
var partialEncoding = regexp.MustCompile(`(?:%[[:xdigit:]]?|&#?[0-9A-Za-z]*|\\(?:x[[:xdigit:]]?|u[[:xdigit:]]{0,3})?)$`)

// partialCode returns the length of the encoded character, or the sequence for
// a terminal, that a text ends with a part of.
func (s *Set) partialCode(text []byte) int {
	for i := len(text) - 1; i >= max(0, len(text)-maxCode); i-- {
		if text[i] != esc && !c1(text, i) {
			continue
		}
		if escapeAt(text[i:]) == 0 {
			return len(text) - i
		}
		break
	}
	end := text[max(0, len(text)-maxEntity):]
	if !s.encoded || !bytes.ContainsAny(end, `%&\`) {
		return 0
	}
	return len(partialEncoding.Find(end))
}

// joinedEnd returns the lines at the end of a text, joined, that may have been
// one line; nil if there are none. Unlike unwrapped it does not know how the
// last line goes on, and so does not look at widths.
func joinedEnd(of *reading, text []byte) *reading {
	end := len(text)
	var lines []textLine // the last one first
	for end >= 0 && len(lines) < maxJoined {
		from := lineStart(text[:end])
		l, _ := lineAt(text[:end], from)
		if len(lines) > 0 && l.end-l.tail < minWrapped {
			break
		}
		if len(lines) > 0 || l.head == l.end {
			lines = append(lines, l)
		}
		if l.head != l.end || from == 0 { // where it was not broken before
			break
		}
		end = from - 1
	}
	if len(lines) < 2 {
		return nil
	}
	r := &reading{of: of}
	for i := len(lines) - 1; i >= 0; i-- {
		l := lines[i]
		from := l.start
		if i == len(lines)-1 {
			from = max(l.start, l.tail-maxLead)
		}
		r.copied(from)
		r.text = append(r.text, text[from:l.end]...)
	}
	return r
}

// maxJoined bounds the lines that are joined at the end of a text.
const maxJoined = 512
