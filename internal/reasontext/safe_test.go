package reasontext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ünïcödé 你好 👩‍💻 ❤️": "plain, ünïcödé 你好 👩‍💻 ❤️",
		"a\tb\r\nc\rd\ve":                          "a    b\nc\nd e",
		"\x1b[31mred\x1b[0m":                       "red",
		"\x1b]0;title\atext":                       "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b]0;not closed\nnext line":             "]0;not closed\nnext line",
		"\x1b[31":                                  "[31",
		"\x1b":                                     "",
		"\x1bcreset\x1b(Bset":                      "resetset",
		"\u009b2Jtext\u0085next":                   "text\nnext",
		"\x1bPdcs\x1b\\text":                       "text",
		"a\x1b\x1b[1mb":                            "ab",
		"over\b\b\b\bwritten\x00\x7f":              "overwritten",
		"\u202eabc\u2066d\u200b\ufeff\U000e0041":   "abcd",
		"\xff\xfe":                                 "\ufffd\ufffd",
		"one\u2028two":                             "one\ntwo",
		"e" + strings.Repeat("\u0301", 50):         "e" + strings.Repeat("\u0301", maxMarks),
		"\u0301x":                                  "x",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Line(" a\n\n b\t"); got != "a b" {
		t.Errorf("%q", got)
	}
	if got := Cut("äöüß", 3); got != "äö…" {
		t.Errorf("%q", got)
	}
	if got := Exact("{\"a\": \"x\u202e\u00a0\u200d\U000e0041\n\"}"); got != `{"a": "x\u202e\u00a0\u200d\udb40\udc41\u000a"}` {
		t.Errorf("%s", got)
	}
}

// FuzzText: nothing of what is shown is obeyed by a terminal, however the text
// was made.
func FuzzText(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;x\a\u009b1m\u202e\r\n\x9b\xff")
	f.Add("\x1b\x1b[[mm\x1bP\x1b\\")
	f.Fuzz(func(t *testing.T, s string) {
		text := Text(s)
		marks := 0
		for _, r := range text {
			if r != '\n' && (unicode.IsControl(r) || r == '\u202e' || r >= '\u2066' && r <= '\u2069') {
				t.Fatalf("%q in %q of %q", r, text, s)
			}
			switch {
			case unicode.In(r, unicode.Mn, unicode.Me):
				marks++
			case r != '\u200c' && r != '\u200d':
				marks = 0
			}
			if marks > maxMarks {
				t.Fatalf("a pile of marks in %q", text)
			}
		}
		if !utf8.ValidString(text) || Text(text) != text {
			t.Fatalf("%q becomes %q, and that %q", s, text, Text(text))
		}
		if line := Line(s); strings.Contains(line, "\n") || Line(line) != line {
			t.Fatalf("%q", line)
		}
		if exact := Exact(s); strings.ContainsFunc(exact, func(r rune) bool { return unicode.IsControl(r) || hidden(r) }) {
			t.Fatalf("%q", exact)
		}
	})
}
