package termsafe

import "strings"

const (
	escape = '\x1b'
	csi    = '\u009b' // ESC [ in one character
)

// Sequence returns the length in bytes of the complete escape sequence at the
// start of a text; 0: there is no complete one.
func Sequence(s string) int {
	for _, begin := range []rune{escape, csi} {
		if rest, ok := strings.CutPrefix(s, string(begin)); ok {
			if n := sequence(rest, begin); n > 0 {
				return len(string(begin)) + n
			}
		}
	}
	return 0
}

// sequence returns the number of bytes after an escape character that belong to
// it; 0 if the sequence is incomplete.
func sequence(s string, r rune) int {
	if r == csi {
		return parameters(s)
	}
	if s == "" {
		return 0
	}
	switch c := s[0]; {
	case c == '[':
		if n := parameters(s[1:]); n > 0 {
			return 1 + n
		}
		return 0
	case strings.IndexByte("]PX^_", c) >= 0: // commands with a text: OSC, DCS, SOS, PM, APC
		return command(s)
	case c >= 0x20 && c <= 0x2f: // intermediates, then a final character
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			return i + 1
		}
		return 0
	case c >= 0x30 && c <= 0x7e:
		return 1
	}
	return 0
}

// parameters measures the rest of a CSI sequence: parameters, intermediates,
// and a final character.
func parameters(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 0
		}
	}
	return 0
}

// command measures a command with a text, which BEL or ESC \ ends. A text does
// not extend over a line.
func command(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\a':
			return i + 1
		case escape:
			if strings.HasPrefix(s[i:], "\x1b\\") {
				return i + 2
			}
			return 0
		case '\n', '\r':
			return 0
		}
	}
	return 0
}
