package planner

import (
	"strings"
	"unicode/utf8"
)

// quotations returns the texts in one of three kinds of quotation marks, each
// on one line, in their order. An apostrophe is not a quotation mark. The time
// is proportional to the length of the text, regardless of the number of
// unmatched marks.
func quotations(text string) []string {
	var out []string
	ends := map[rune]int{} // by closing mark: the position of the next one, or of an earlier end of line
	for i := 0; i < len(text); {
		open, size := utf8.DecodeRuneInString(text[i:])
		i += size
		shut := closing(open)
		if shut == 0 {
			continue
		}
		if end, known := ends[shut]; !known || end < i {
			ends[shut] = nextEnd(text, i, shut)
		}
		end := ends[shut]
		if end == i || !strings.HasPrefix(text[end:], string(shut)) {
			continue // empty or unmatched
		}
		out = append(out, text[i:end])
		i = end + utf8.RuneLen(shut)
	}
	return out
}

// closing returns the counterpart of an opening mark, or 0.
func closing(open rune) rune {
	switch open {
	case '"', '`':
		return open
	case '“':
		return '”'
	}
	return 0
}

// nextEnd returns the position of the closing mark or the end of the line after
// i.
func nextEnd(text string, i int, shut rune) int {
	n := strings.IndexFunc(text[i:], func(r rune) bool { return r == shut || r == '\n' })
	if n < 0 {
		return len(text)
	}
	return i + n
}

// sentenceEnd is the text that separates two sentences.
type sentenceEnd struct {
	from, to int
	asks     bool // the preceding sentence is a question
}

// sentenceEnds finds the ends of the sentences of a text: ASCII marks before a
// space or the end, Chinese and Japanese marks, which need no space, and the
// ends of lines.
func sentenceEnds(text string) []sentenceEnd {
	var out []sentenceEnd
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n':
			end := i + span(text[i:], func(r rune) bool { return r == '\n' })
			out = append(out, sentenceEnd{from: i, to: end})
			i = end
		case endsSentence(r):
			end := i + span(text[i:], endsSentence)
			after := end + span(text[end:], isSpace)
			if after > end || end == len(text) {
				out = append(out, newSentenceEnd(text, i, after))
			} else {
				out = append(out, wideSentenceEnds(text, i, end)...)
			}
			i = after
		default:
			i += size
		}
	}
	return out
}

// wideSentenceEnds returns the intervals in a run of marks without a following
// space.
func wideSentenceEnds(text string, i, end int) []sentenceEnd {
	var out []sentenceEnd
	for i < end {
		n := span(text[i:end], endsWide)
		if n == 0 {
			i++ // an ASCII mark
			continue
		}
		out = append(out, newSentenceEnd(text, i, i+n))
		i += n
	}
	return out
}

func newSentenceEnd(text string, from, to int) sentenceEnd {
	return sentenceEnd{from: from, to: to, asks: strings.ContainsAny(text[from:to], "?？")}
}

func endsSentence(r rune) bool { return r == '.' || r == '!' || r == '?' || endsWide(r) }

func endsWide(r rune) bool { return r == '？' || r == '。' || r == '！' }

func isSpace(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' && r != '\v' }

// span returns the length in bytes of the prefix whose runes satisfy of.
func span(text string, of func(rune) bool) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !of(r) }); n >= 0 {
		return n
	}
	return len(text)
}

// head returns the longest prefix of whole characters within a bound in bytes.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
