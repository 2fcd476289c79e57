package safety

import (
	"bytes"

	"github.com/meup-protocol/meup/protocol"
)

// longNumber is how many digits a number has before its point that is looked at
// whatever its name: as many as the shortest known value has characters.
const longNumber = MinKnown

// number inspects a number. If it is a parameter with the name of a secret, that
// is enough. Others can be a known value, or a number that the policy knows;
// names say nothing about those, since times and counts belong to a token too.
// What was a number and is not to be said becomes a string with a mark, blocked
// or not: an empty one would be taken for a value.
func (w *walk) number(v protocol.Value, key []byte, s secrecy) {
	raw := v.Raw()
	if s == below && leadingDigits(raw) < longSecret {
		s = open
	}
	if s == open {
		if leadingDigits(raw) < longNumber {
			return
		}
		key = []byte{} // not nil: it is not a key
	}
	blank := w.blank
	w.blank = ""
	if text, changed := w.inspect(v, Text{Key: key, Body: raw, Secret: s != open}); changed {
		if text == "" {
			text = marker(w.blocked[len(w.blocked)-1])
		}
		w.replace(v, text)
	}
	w.blank = blank
}

// leadingDigits counts the digits of a number before its point or exponent.
func leadingDigits(raw []byte) int {
	raw = bytes.TrimPrefix(raw, []byte("-"))
	n := 0
	for n < len(raw) && isDigit(raw[n]) {
		n++
	}
	return n
}
