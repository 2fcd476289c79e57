package textutil

import (
	"bytes"
	"regexp"
	"strconv"
)

// Halves joins surrogate pairs that a sender of JSON has split over two messages, such as
// a model's server: it sends the text of one token each, and the JSON of each has one half.
// The zero value is ready to use.
type Halves struct {
	pending map[string]string // the first half, by the key of its text
}

// half finds a text in JSON, and its key.
var half = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"`)

const escapeLength = len(`\ud83d`)

// Join returns the JSON of a message, without a first half at the end of a text and with
// the one that belongs before a text. A half without the other one is lost.
func (h *Halves) Join(data []byte) []byte {
	if len(h.pending) == 0 && !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	var out []byte
	done := 0
	for _, at := range half.FindAllSubmatchIndex(data, -1) {
		key, text := string(data[at[2]:at[3]]), data[at[4]:at[5]]
		if len(text) == 0 {
			continue
		}
		first, waits := h.pending[key]
		delete(h.pending, key)
		out = append(out, data[done:at[4]]...)
		if waits && isHalf(text[:min(len(text), escapeLength)], 0xdc00) {
			out = append(out, first...)
		} else if waits {
			out = append(out, `\ufffd`...)
		}
		if end := firstHalf(text); end < len(text) {
			if h.pending == nil {
				h.pending = make(map[string]string)
			}
			h.pending[key] = string(text[end:])
			text = text[:end]
		}
		out = append(out, text...)
		done = at[5]
	}
	return append(out, data[done:]...)
}

// firstHalf returns where the first half at the end of a text begins; its end if there
// is none.
func firstHalf(text []byte) int {
	for i := 0; i < len(text); {
		switch {
		case text[i] != '\\':
			i++
		case i+escapeLength == len(text) && isHalf(text[i:], 0xd800):
			return i
		default:
			i += 2 // as half reads it; the digits of \u are no escapes
		}
	}
	return len(text)
}

// isHalf reports whether an escape is a first half of a surrogate pair, from 0xd800, or a
// second one, from 0xdc00.
func isHalf(escape []byte, from uint64) bool {
	if len(escape) != escapeLength || escape[0] != '\\' || escape[1] != 'u' {
		return false
	}
	unit, err := strconv.ParseUint(string(escape[2:]), 16, 16)
	return err == nil && unit&^0x3ff == from
}
