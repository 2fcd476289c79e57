package safety

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

// lengthGuard is the stage that cuts texts of more than so many bytes, and so
// bounds the work of the stages after it.
type lengthGuard struct{ max int }

// MinText is the minimum of the length bound, in bytes; a smaller bound has no room
// for marks.
const MinText = 4 << 10

func (lengthGuard) name() string { return "length" }

const (
	ruleLength = "text-length"
	cutMark    = "… [cut:" + ruleLength + "]"
)

// inspect finds the part of a text that is too much. An eighth of the bound is
// left free, so that the marks of later stages do not make it too long again.
func (g lengthGuard) inspect(dst []finding, t input) []finding {
	if len(t.body) <= g.max {
		return dst
	}
	at := cutAt(t.body, g.max-g.max/8-len(cutMark))
	return append(dst, finding{Finding: redact.Finding{Rule: ruleLength, Start: at, End: len(t.body)}, action: ActionMask, put: cutMark})
}

// maxWord is how far a cut goes back to where a word begins.
const maxWord = 1 << 10

// cutAt returns a position at or before limit where the text can end. It does not
// split words, since no rule matches half of a secret. Without a space in range it
// ends at a character that secrets do not contain; a longer run of characters that
// they do contain is data, and is cut anywhere.
func cutAt(text []byte, limit int) int {
	from := limit - min(maxWord, limit/2)
	at := from
	if i := bytes.LastIndexAny(text[from:limit], " \t\r\n"); i >= 0 {
		at = from + i
	} else if i := bytes.LastIndexFunc(text[from:limit], isBreak); i >= 0 {
		at = from + i
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// isBreak reports whether a character is in no secret that rules describe.
func isBreak(r rune) bool {
	return r >= utf8.RuneSelf || strings.IndexByte(letters+"0123456789_-+/=.~:@%", byte(r)) < 0
}
