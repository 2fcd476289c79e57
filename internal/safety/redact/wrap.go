package redact

import "bytes"

// No rule finds a secret that was broken into lines; of one that was broken after
// its first line, a rule finds only a part. unwrapped joins such lines again. Lists
// and settings have short lines too, so lines are joined only if they have the
// same width, or a width at which programs break lines.

// wrapWidths are the usual ones, and the length from which on the end of a line
// can be the only sign that it was broken.
var wrapWidths = map[int]bool{32: true, 40: true, 48: true, 60: true, 64: true, 70: true, 72: true, 76: true, 78: true, 79: true, 80: true}

const (
	minWrapped = 4  // characters of a line that goes on
	minBroken  = 16 // the same, where there are two lines only
	maxLead    = 96 // bytes of the first line before the broken text
)

// inToken are the characters of base64, tokens and keys.
var inToken = byteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.-")

// textLine is a line without its indentation.
type textLine struct {
	start, end int
	head       int // where the characters of a token end that it begins with
	tail       int // where those begin that it ends with
}

// lineAt returns the line that begins at from, and where the next one does.
func lineAt(text []byte, from int) (l textLine, next int) {
	l.end, next = len(text), len(text)+1
	if n := bytes.IndexByte(text[from:], '\n'); n >= 0 {
		l.end, next = from+n, from+n+1
	}
	l.start = l.end - len(bytes.TrimLeft(text[from:l.end], " \t>"))
	if l.end > l.start && text[l.end-1] == '\r' {
		l.end--
	}
	for l.head = l.start; l.head < l.end && inToken[text[l.head]]; {
		l.head++
	}
	for l.tail = l.end; l.tail > l.start && inToken[text[l.tail-1]]; {
		l.tail--
	}
	return l, next
}

// continues reports whether l continues the broken text of the line before, and
// whether a third line may follow. several: the line before did so too.
func (l textLine) continues(text []byte, before textLine, several bool) (ok, whole bool) {
	head, tail := l.head-l.start, before.end-before.tail
	if head == 0 || tail < minWrapped {
		return false, false
	}
	whole = l.head == l.end
	if whole && (head == before.end-before.start || head == tail) {
		return true, true
	}
	width := before.end - before.start
	if !several && (tail < minBroken || !wrapWidths[width] && !wrapWidths[tail]) {
		return false, false
	}
	if head > width || several && head > tail {
		return false, false
	}
	after := bytes.TrimLeft(text[l.head:l.end], "=") // padding
	return len(after) == 0 || bytes.IndexByte([]byte(" \t\"'`,;)]}<\\"), after[0]) >= 0, false
}

// unwrapped returns the broken lines of a text, joined, and nothing else; nil if
// there are none.
func unwrapped(of *reading, text []byte) *reading {
	if bytes.IndexByte(text, '\n') < 0 {
		return nil
	}
	var r *reading
	before, next := lineAt(text, 0)
	several := false
	for next <= len(text) {
		var l textLine
		l, next = lineAt(text, next)
		ok, whole := l.continues(text, before, several)
		if ok {
			if r == nil {
				r = &reading{of: of}
			}
			if !several {
				r.text = append(r.text, "\n\x00\n"...)
				start := max(before.start, before.tail-maxLead)
				r.copied(start)
				r.text = append(r.text, text[start:before.end]...)
			}
			r.copied(l.start)
			r.text = append(r.text, text[l.start:l.head]...)
			for i := l.head; i < l.end && text[i] == '='; i++ { // padding
				r.text = append(r.text, '=')
			}
		}
		several = ok && whole
		before = l
	}
	return r
}
