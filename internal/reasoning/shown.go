package reasoning

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxSmall is the longest result that planning shows whole, in characters.
	maxSmall = 1_000
	// maxError is the longest error that is shown whole, in characters.
	maxError = 20_000
)

// form is a way to show a result.
type form int

const (
	whole       form = iota
	short            // the preview
	planned          // the summary for planning
	told             // the summary for synthesis
	gone             // a mark in its place, and how to have it again
	goneForGood      // a mark
	forms            // how many there are
)

// said is a result in one form: the text of its message.
type said struct {
	text   string
	tokens int // with the message around them; 0: not made yet
	shown  int // characters of the original
	cut    bool
}

// shown is what is remembered of one result: every form is made when it is
// first wanted. What is compared with the result of the next step is the
// record's own, so that only the forms take memory.
type shown struct {
	tool   string
	result *Result // nil: there is none
	of     Result  // the same, to compare with

	ok    bool
	body  string
	chars int
	said  [forms]said
	// over is a limit that the whole is known to exceed.
	over int
	// tried says for which goals a summary was asked for, well or not.
	tried map[Goal]bool
}

// newShown prepares a result for showing; result may be nil.
func newShown(tool string, result *Result) *shown {
	s := &shown{tool: tool, over: -1}
	if result == nil {
		s.body = "no result"
		s.chars = len(s.body)
		return s
	}
	s.of = *result
	s.result = &s.of
	s.ok = result.OK()
	s.body = strings.ToValidUTF8(content(result, s.ok), "\uFFFD")
	s.chars = utf8.RuneCountInString(s.body)
	return s
}

// is reports whether this is still what is known of a call. Unchanged strings
// are the same ones, which makes this fast.
func (s *shown) is(tool string, result *Result) bool {
	if s.tool != tool || (result == nil) != (s.result == nil) {
		return false
	}
	return result == nil || s.of == *result
}

// content is what a result says, or why there is none.
func content(r *Result, ok bool) string {
	switch {
	case ok:
		return r.Text
	case r.Error == "" || strings.Contains(r.Text, r.Error):
		return r.Text
	case r.Text == "":
		return r.Error
	default:
		return r.Error + "\n" + r.Text
	}
}

// large reports whether planning shows it in part.
func (s *shown) large() bool { return s.ok && s.chars > maxSmall }

// head is the first line of the message.
func (s *shown) head(how string) string {
	word := "FAILED"
	if s.result != nil {
		word = s.of.word()
	}
	if how != "" {
		word += " (" + how + ")"
	}
	return "Tool " + s.tool + ": " + word
}

// word is the outcome as the model reads it.
func (r *Result) word() string {
	switch r.Outcome {
	case Fulfilled, Rejected, Withdrawn, Expired, Refused:
		return strings.ToUpper(string(r.Outcome))
	}
	if r.OK() {
		return "SUCCESS"
	}
	return "FAILED"
}

// in returns the result in a form, with its tokens. The whole of a large one
// is made by wholeWithin alone, the summaries by summarised.
func (s *shown) in(f form, c *counter) *said {
	m := &s.said[f]
	if m.tokens > 0 {
		return m
	}
	switch f {
	case whole:
		s.sayWhole(m)
	case short:
		s.sayShort(m)
	case gone, goneForGood:
		m.text = s.head("") + "\n" + leftOut(s.chars, s.ok && f == gone)
		m.cut = true
	}
	m.tokens = perMessage + c.count(m.text)
	return m
}

// sayWhole says all of it; of an error beyond all bounds, what is bounded.
func (s *shown) sayWhole(m *said) {
	body, rest := s.body, 0
	if !s.ok {
		body, rest = cutText(body, maxError)
	}
	m.shown = s.chars - rest
	if rest > 0 {
		body += moreCharacters(rest)
		m.cut = true
	}
	if body == "" {
		body = "(nothing)"
	}
	m.text = s.head("") + "\n" + body
}

func (s *shown) sayShort(m *said) {
	p := previewOf(s.body)
	m.shown, m.cut = p.shown, p.cut
	if !p.cut {
		m.shown = s.chars // only spaces are missing
		m.text = s.head("") + "\n" + p.text
		return
	}
	m.text = s.head("preview") + "\n" + p.text
}

// wholeWithin returns the whole of a large result, if it has no more tokens
// than the limit. It counts no further than that, and not twice.
func (s *shown) wholeWithin(limit int, c *counter) (*said, bool) {
	m := &s.said[whole]
	if m.tokens > 0 {
		return m, m.tokens <= limit
	}
	if limit <= s.over {
		return nil, false
	}
	n, ok := c.within(s.text(whole), limit-perMessage)
	if !ok {
		s.over = limit
		return nil, false
	}
	*m = said{tokens: n + perMessage, shown: s.chars} // the text is joined again when it is shown
	return m, true
}

// text is what the message of a form says; the form has been made.
func (s *shown) text(f form) string {
	if f == whole && s.said[whole].text == "" {
		return s.head("") + "\n" + s.body
	}
	return s.said[f].text
}

// markFor is the form that a dropped result has.
func markFor(g Goal) form {
	if g == Planning {
		return gone
	}
	return goneForGood
}

// summaryFor is the form of a summary for a goal.
func summaryFor(g Goal) form {
	if g == Planning {
		return planned
	}
	return told
}
