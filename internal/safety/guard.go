package safety

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// LengthGuard is the stage that cuts texts that are longer than any reader
// wants, and so bounds the work of the stages behind it.
type LengthGuard struct{ max int }

// MinText is the least bound of a text, in bytes; smaller ones leave no room
// for what is said about a text.
const MinText = 4 << 10

// NewLengthGuard returns a guard of texts of more than so many bytes.
func NewLengthGuard(bytes int) LengthGuard { return LengthGuard{max(bytes, MinText)} }

// Name returns "length".
func (g LengthGuard) Name() string { return "length" }

const (
	ruleLength = "text-length"
	cutMark    = "… [cut:" + ruleLength + "]"
)

// Inspect finds the part of a text that is too much. An eighth of the bound is
// left free, so that what later stages write into the text does not make it
// too long again.
func (g LengthGuard) Inspect(dst []Finding, t Text) []Finding {
	if len(t.Body) <= g.max {
		return dst
	}
	at := cutAt(t.Body, g.max-g.max/8-len(cutMark))
	return append(dst, Finding{Rule: ruleLength, Start: at, End: len(t.Body), Action: ActionMask, Put: cutMark})
}

// maxWord is how far a cut goes back to where a word begins.
const maxWord = 1 << 10

// cutAt returns a place at or before limit where the text can end. Words stay
// whole: half of a secret is one that no rule knows any more. Where there is no
// space within reach it ends at a character that secrets do not have; a run of
// more than that of characters that they do have is data, and is cut anywhere.
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
	return r >= utf8.RuneSelf || !isAlnum(byte(r)) && strings.IndexByte("_-+/=.~:@%", byte(r)) < 0
}
