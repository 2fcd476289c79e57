package planner

import (
	"strings"
	"unicode/utf8"
)

// quotations are the texts in one of three kinds of quotation marks, on one
// line, in their order; an apostrophe is none of them. Every text takes time in
// proportion to its length, however many marks have no counterpart.
func quotations(text string) []string {
	var out []string
	ends := map[rune]int{} // of each closing mark: the next one, or the end of a line before it
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
			continue // empty, or without its other half
		}
		out = append(out, text[i:end])
		i = end + utf8.RuneLen(shut)
	}
	return out
}

// closing is the counterpart of an opening mark; 0: it is none.
func closing(open rune) rune {
	switch open {
	case '"', '`':
		return open
	case '“':
		return '”'
	}
	return 0
}

// nextEnd finds where a quotation that begins at i ends, or could not go on.
func nextEnd(text string, i int, shut rune) int {
	n := strings.IndexFunc(text[i:], func(r rune) bool { return r == shut || r == '\n' })
	if n < 0 {
		return len(text)
	}
	return i + n
}

// interval is what stands between two sentences.
type interval struct {
	from, to int
	asks     bool // the first of the two is a question
}

// intervals finds the ends of the sentences of a text: its marks, where a space
// or the end follows; marks of Chinese and Japanese, which need no space; and
// the ends of lines.
func intervals(text string) []interval {
	var out []interval
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n':
			end := i + span(text[i:], func(r rune) bool { return r == '\n' })
			out = append(out, interval{from: i, to: end})
			i = end
		case endsSentence(r):
			end := i + span(text[i:], endsSentence)
			after := end + span(text[end:], isSpace)
			if after > end || end == len(text) {
				out = append(out, newInterval(text, i, after))
			} else {
				out = append(out, wideIntervals(text, i, end)...)
			}
			i = after
		default:
			i += size
		}
	}
	return out
}

// wideIntervals are those of a run of marks behind which no space comes.
func wideIntervals(text string, i, end int) []interval {
	var out []interval
	for i < end {
		n := span(text[i:end], endsWide)
		if n == 0 {
			i++ // one of ASCII
			continue
		}
		out = append(out, newInterval(text, i, i+n))
		i += n
	}
	return out
}

func newInterval(text string, from, to int) interval {
	return interval{from: from, to: to, asks: strings.ContainsAny(text[from:to], "?？")}
}

func endsSentence(r rune) bool { return r == '.' || r == '!' || r == '?' || endsWide(r) }

func endsWide(r rune) bool { return r == '？' || r == '。' || r == '！' }

func isSpace(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' && r != '\v' }

// span is how many bytes at the beginning of a text are of a kind.
func span(text string, of func(rune) bool) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !of(r) }); n >= 0 {
		return n
	}
	return len(text)
}

// head is as much of a text as a bound in bytes allows, in whole characters.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
