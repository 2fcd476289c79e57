package redact

import "bytes"

const esc = 0x1b

// c1 reports whether a text goes on with a control character of two bytes.
func c1(text []byte, at int) bool {
	return at+1 < len(text) && text[at] == 0xc2 && text[at+1] < 0xa0
}

// steersTerminal reports whether there is an ESC or a C1 control in a text.
func steersTerminal(text []byte) bool {
	return bytes.IndexByte(text, esc) >= 0 ||
		bytes.IndexByte(text, 0xc2) >= 0 && bytes.ContainsFunc(text, func(r rune) bool { return between(r, 0x80, 0x9f) })
}

// escapeAt returns the length of the sequence that a text begins with, or 0.
func escapeAt(text []byte) int {
	var kind byte
	switch {
	case len(text) < 2:
		return 0
	case text[0] == esc:
		kind = text[1]
	case c1(text, 0): // ESC and the character in one
		kind = text[1] - 0x40
	}
	switch {
	case kind == '[':
		return control(text)
	case kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_':
		return stringEnd(text)
	case text[0] == esc && kind >= ' ' && kind < '0':
		return sequenceEnd(text, '0')
	case text[0] == esc && kind >= '0' && kind < 0x7f:
		return 2
	}
	return 0
}

// control returns the length of a control sequence. A mark of ours is none.
func control(text []byte) int {
	if text[0] == esc && (bytes.HasPrefix(text[1:], []byte(redactedMark)) || bytes.HasPrefix(text[1:], []byte(markedMark))) {
		return 0
	}
	return sequenceEnd(text, '@')
}

// sequenceEnd returns the length of a sequence whose last character is the first
// one that is not below last.
func sequenceEnd(text []byte, last byte) int {
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
