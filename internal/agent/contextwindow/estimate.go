package contextwindow

import (
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Tokens that a message and a call cost in addition to their text: role,
// delimiters and ids, as in OpenAI's published chat format, rounded up.
const (
	perMessage = 4
	perCall    = 12
)

// EstimateTokens returns an estimate of the tokens of s: a quarter of a token
// for a lowercase letter or a space, a half for other bytes, three quarters
// for a digit.
//
// Compared with o200k_base and cl100k_base, the estimate is 0 to 20 % above
// the count for source code, Markdown, YAML and JSON, and up to 30 % above it
// for German. It is higher for other scripts (Japanese 1.8 times, Cyrillic 2.7
// times, Devanagari 3.4 times the count of o200k_base) and lower for rare words
// (25 %) and base64 (40 %).
func EstimateTokens[T ~string | ~[]byte](s T) int {
	quarters := 0
	for i := range len(s) {
		quarters += int(quartersOf[s[i]])
	}
	return (quarters + 3) / 4
}

// quartersOf is the estimate for a byte, in quarters of a token.
var quartersOf = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= utf8.RuneSelf:
			t[c] = 2
		case c == ' ', c >= 'a' && c <= 'z':
			t[c] = 1
		case c >= '0' && c <= '9':
			t[c] = 3
		default:
			t[c] = 2
		}
	}
	return t
}()

// EstimateMessage returns an estimate of the tokens of a message: its text,
// its calls and the provider's own form of it.
func EstimateMessage(m *llm.Message) int {
	n := perMessage + EstimateTokens(m.Text) + EstimateTokens(m.Opaque.Data)
	for i := range m.Calls {
		n += perCall + EstimateTokens(m.Calls[i].Name) + EstimateTokens(m.Calls[i].Arguments)
	}
	return n
}
