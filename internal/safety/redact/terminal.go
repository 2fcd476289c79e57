package redact

import "bytes"

const esc = 0x1b

// c1 reports whether a text goes on with a control character of two bytes.
func c1(text []byte, at int) bool {
	return at+1 < len(text) && text[at] == 0xc2 && text[at+1] < 0xa0
}

// escapeAt returns the length of the sequence that a text begins with, or 0. A
// mark of ours is none.
func escapeAt(text []byte) int {
	if len(text) < 2 || text[0] != esc && !c1(text, 0) {
		return 0
	}
	kind, last := text[1], byte('0') // the first character that can end it
	if text[0] != esc {
		kind -= 0x40 // ESC and the character in one
	}
	switch {
	case bytes.IndexByte([]byte("]PX^_"), kind) >= 0:
		return stringEnd(text)
	case kind == '[':
		if bytes.HasPrefix(text[1:], []byte(redactedMark)) || bytes.HasPrefix(text[1:], []byte(markedMark)) {
			return 0
		}
		last = '@'
	case text[0] != esc || kind < ' ' || kind >= 0x7f:
		return 0
	case kind >= '0':
		return 2
	}
	at := 2
	for at < len(text) && text[at] >= ' ' && text[at] < last {
		at++
	}
	if at < len(text) && text[at] >= last && text[at] < 0x7f {
		return at + 1
	}
	return 0
}

// stringEnd returns the length of a string for the terminal, which ends with
// BEL, ESC \ or ST. One without an end is none.
func stringEnd(text []byte) int {
	for at := 2; at < len(text); at++ {
		switch {
		case text[at] == '\a':
			return at + 1
		case text[at] == esc && at+1 < len(text) && text[at+1] == '\\', c1(text, at) && text[at+1] == 0x9c:
			return at + 2
		case text[at] == esc, c1(text, at):
			return 0
		}
	}
	return 0
}
