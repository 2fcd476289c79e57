package termsafe_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

func TestText(t *testing.T) {
	pile := strings.Repeat("\u0301", 50)
	for name, c := range map[string]struct{ in, want string }{
		"plain":                   {"Hello,\nworld", "Hello,\nworld"},
		"scripts":                 {"ünïcödé 日本語 한국어 עברית العربية हिन्दी", "ünïcödé 日本語 한국어 עברית العربية हिन्दी"},
		"white space":             {"a\tb\r\nc\rd\ve\ff", "a    b\nc\nd e f"},
		"spaces":                  {"a\u00a0b\u2003c", "a b c"},
		"wide space":              {"あ\u3000い", "あ\u3000い"},
		"line separators":         {"a\u2028b\u2029c\u0085d", "a\nb\nc\nd"},
		"colors":                  {"\x1b[31mred\x1b[0m", "red"},
		"title":                   {"\x1b]0;title\atext", "text"},
		"link":                    {"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		"device control":          {"\x1bPdcs\x1b\\text", "text"},
		"short sequences":         {"\x1bcreset\x1b(Bset", "resetset"},
		"CSI in one":              {"a\u009b2Jb", "ab"},
		"title without an end":    {"\x1b]0;not closed\nnext line", "]0;not closed\nnext line"},
		"cut off":                 {"\x1b[31", "[31"},
		"escape alone":            {"\x1b", ""},
		"sequence in sequence":    {"a\x1b\x1b[1mb", "ab"},
		"control characters":      {"over\b\b\b\bwritten\x00\x07\x7f", "overwritten"},
		"overrides, isolates":     {"user\u202e\u2066gnp.exe\u2069\u061c", "usergnp.exe"},
		"nothing to be seen":      {"pay\u200bpal\ufeff\u2060\u00ad\u3164\uffa0\u2800\ufff9", "paypal"},
		"tags":                    {"a\U000e0001\U000e0041\U000e007fb", "ab"},
		"no UTF-8":                {"a\xff\xfeb", "a\ufffd\ufffdb"},
		"private use":             {"a\ue000b", "a\ufffdb"},
		"Arabic number sign":      {"\u06001", "\u06001"},
		"accents":                 {"é e\u0301", "é e\u0301"},
		"a pile of marks":         {"e" + pile, "e" + strings.Repeat("\u0301", termsafe.MaxMarks)},
		"a pile between joiners":  {"ه" + strings.Repeat("\u0651\u200d", 50), "ه" + strings.Repeat("\u0651\u200d", termsafe.MaxMarks)},
		"marks on our line":       {"\u0301x\n\u0301y z \u0301", "x\ny z "},
		"marks behind what went":  {"e" + strings.Repeat("\u0301", 4) + "\u200b" + pile, "e" + strings.Repeat("\u0301", 4)},
		"family":                  {"👨\u200d👩\u200d👧\u200d👦", "👨\u200d👩\u200d👧\u200d👦"},
		"heart, rainbow, keycap":  {"❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e", "❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e"},
		"skin":                    {"👩🏽\u200d🚀", "👩🏽\u200d🚀"},
		"Persian":                 {"می\u200cخواهم", "می\u200cخواهم"},
		"Persian abbreviation":    {"۱۳۹۹ ه\u200d.", "۱۳۹۹ ه\u200d."},
		"Hindi, Sinhala, Bengali": {"क्\u200dष ශ්\u200dරී র\u200d্য", "क्\u200dष ශ්\u200dරී র\u200d্য"},
		"ideograph":               {"神\ufe00", "神\ufe00"},
		"joiners in words":        {"pay\u200cpal a\u200db 1\u200d2 +\u200d+", "paypal ab 12 ++"},
		"selectors in words":      {"pay\ufe0fpal 1\ufe0f2 a\ufe00", "paypal 12 a"},
		"many selectors":          {"❤" + strings.Repeat("\ufe0f", 9) + "神\U000e0100", "❤\ufe0f神"},
		"many joiners":            {"می" + strings.Repeat("\u200c", 9) + "خ", "می\u200cخ"},
		"joiners at the ends":     {"\u200d👩\u200d \u200cx", "👩 x"},
		"letters of two scripts":  {"می\u200cx", "میx"},
		"half a family":           {"👩\u200dx", "👩x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := termsafe.Text(c.in); got != c.want {
				t.Errorf("%+q becomes %+q, want %+q", c.in, got, c.want)
			}
			if again := termsafe.Text(c.want); again != c.want {
				t.Errorf("%+q becomes %+q", c.want, again)
			}
		})
	}
}

func TestLineWordsCut(t *testing.T) {
	if got := termsafe.Line("  a\n\n b\t"); got != "  a   b    " {
		t.Errorf("%q", got)
	}
	if got := termsafe.Words("  a\n\n b\t"); got != "a b" {
		t.Errorf("%q", got)
	}
	family, long := "👨\u200d👩\u200d👧", "👩"+strings.Repeat("\u200d👩", 50)
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"äöüß", 3, "äö…"}, {"äöüß", 4, "äöüß"}, {"äöüß", 1, "…"}, {"äöüß", 0, "…"},
		{"ab" + family + "c", 6, "ab…"}, {"ab" + family + "c", 4, "ab…"}, {"ab" + family + "cd", 8, "ab" + family + "…"},
		{"a👩🏽b", 3, "a…"}, {"ae\u0301b", 3, "a…"}, {"a❤\ufe0fb", 3, "a…"},
		{long, 31, strings.TrimSuffix(string([]rune(long)[:30]), "\u200d") + "…"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := termsafe.Cut(c.in, c.n); got != c.want {
				t.Errorf("%+q at %d: %+q, want %+q", c.in, c.n, got, c.want)
			}
		})
	}
}

func TestExact_HiddenCharacters(t *testing.T) {
	for in, want := range map[string]string{
		`{"path":"a.txt"}`:     `{"path":"a.txt"}`,
		"übung 你好 👩":           "übung 你好 👩",
		"a\u202eb\u2066":       `a\u202eb\u2066`,
		"a\nb\x1b[31m":         `a\u000ab\u001b[31m`,
		"x\u200b\U000e0041":    `x\u200b\udb40\udc41`,
		"👩\u200d🚀 ❤\ufe0f":     `👩\u200d🚀 ❤\ufe0f`,
		"e\u0301\u00a0\u3000":  `e\u0301\u00a0\u3000`,
		"bad\xff, and \ufffd":  "bad\\xff, and \ufffd",
		"\u0378\ue000\u2800":   `\u0378\ue000\u2800`,
		"می\u200cخ":            `می\u200cخ`,
		"\u00adsoft \u3164gap": `\u00adsoft \u3164gap`,
	} {
		t.Run(want, func(t *testing.T) {
			if got := termsafe.Exact(in); got != want {
				t.Errorf("%+q: %s, want %s", in, got, want)
			}
		})
	}
}

func TestSequence(t *testing.T) {
	for s, want := range map[string]int{
		"\x1b[31mred": 5, "\u009b2Jx": 4, "\x1b]0;t\ax": 6, "\x1b]8;;u\x1b\\x": 8, "\x1bcx": 2,
		"\x1b[31": 0, "\x1b": 0, "x\x1b[m": 0, "": 0, "\x1b]0;\n\a": 0,
	} {
		t.Run(fmt.Sprintf("%q", s), func(t *testing.T) {
			if got := termsafe.Sequence(s); got != want {
				t.Errorf("%q: %d, want %d", s, got, want)
			}
		})
	}
}

// mayJoin reports whether Text may keep this character without a shape.
func mayJoin(r rune) bool { return r == '\u200c' || r == '\u200d' || r >= '\ufe00' && r <= '\ufe0f' }

// steers reports whether a character controls a terminal or is invisible.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Co, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r >= 0xe0000 && r <= 0xe0fff
}

// FuzzText checks that the output of Text never controls a terminal and has no
// hidden characters.
func FuzzText(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;x\a\u009b1m\u202e\r\n\x9b\xff")
	f.Add("\x1b\x1b[[mm\x1bP\x1b\\ \x1b]8;;u\x07")
	f.Add("👩\u200d🚀 ❤\ufe0f\ufe0f 1\ufe0f\u20e3 می\u200c\u200dخ क्\u200dष a\u200db \U000e0001")
	f.Add("a\u0301\u0301\u200d\u0301\u0301\u0301\ufe0f\u0301")
	f.Fuzz(func(t *testing.T, s string) {
		text := termsafe.Text(s)
		marks, last := 0, rune(0)
		for _, r := range text {
			switch {
			case r != '\n' && steers(r) && !mayJoin(r):
				t.Fatalf("%U in %+q of %+q", r, text, s)
			case mayJoin(r) && (mayJoin(last) && last != '\ufe0f' && last != '\ufe0e' || last == 0 || last < 0x80 && !strings.ContainsRune("0123456789#*", last)):
				t.Fatalf("%U joins nothing in %+q of %+q", r, text, s)
			}
			last = r
			switch {
			case mayJoin(r):
			case unicode.In(r, unicode.Mn, unicode.Me):
				marks++
			default:
				marks = 0
			}
			if marks > termsafe.MaxMarks {
				t.Fatalf("a pile of marks in %+q", text)
			}
		}
		if !utf8.ValidString(text) || termsafe.Text(text) != text {
			t.Fatalf("%+q becomes %+q, and that %+q", s, text, termsafe.Text(text))
		}
		if line := termsafe.Line(s); strings.Contains(line, "\n") {
			t.Fatalf("%q", line)
		}
		if words := termsafe.Words(s); strings.Contains(words, "\n") || termsafe.Words(words) != words {
			t.Fatalf("%+q, and again %+q", words, termsafe.Words(words))
		}
		if exact := termsafe.Exact(s); strings.ContainsFunc(exact, steers) || strings.ContainsFunc(exact, mayJoin) {
			t.Fatalf("%+q", exact)
		}
	})
}
