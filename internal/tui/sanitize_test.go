package tui

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTextIsHarmless(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                {"Hello,\nworld", "Hello,\nworld"},
		"colours":              {"\x1b[31mred\x1b[0m", "red"},
		"title":                {"\x1b]0;owned\x07x", "]0;ownedx"},
		"hyperlink":            {"\x1b]8;;http://evil\x1b\\good\x1b]8;;\x1b\\", "]8;;http://evil\\good]8;;\\"},
		"8-bit CSI":            {"a\u009b2Jb", "ab"},
		"cut off sequence":     {"a\x1b[12", "a"},
		"sequence in sequence": {"\x1b\x1b[[31mx", "31mx"},
		"cursor":               {"ok\rno\bx\x7f", "ok\nnox"},
		"bell, nul":            {"a\x07\x00b", "ab"},
		"bidi":                 {"user\u202e\u2066gnp.exe", "usergnp.exe"},
		"zero width":           {"pay\u200bpal\ufeff\u2060\u00ad", "paypal"},
		"hangul filler":        {"a\u3164\uffa0b", "ab"},
		"tag characters":       {"a\U000e0041\U000e007fb", "ab"},
		"variation selectors":  {"❤\ufe0f", "❤"},
		"joiner":               {"👩\u200d🚀", "👩🚀"},
		"spaces":               {"a\u00a0b\u2003c", "a b c"},
		"wide space":           {"あ\u3000い", "あ\u3000い"},
		"line separators":      {"a\u2028b\u2029c\r\nd", "a\nb\nc\nd"},
		"tab":                  {"a\tb", "a    b"},
		"mark on our line":     {"\u0301x\n\u0301y", "x\ny"},
		"marks in a pile":      {"a" + strings.Repeat("\u0301", 50), "a" + strings.Repeat("\u0301", maxMarks)},
		"accents stay":         {"é ü ñ e\u0301", "é ü ñ e\u0301"},
		"no UTF-8":             {"a\xff\xfeb", "a\ufffd\ufffdb"},
		"private use":          {"a\ue000b", "a\ufffdb"},
		"scripts":              {"日本語 한국어 עברית العربية हिन्दी", "日本語 한국어 עברית العربية हिन्दी"},
		"interlinear, braille": {"a\ufff9b\u2800c", "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Text(c.in); got != c.want {
				t.Errorf("Text(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestExactShowsWhatIsHidden(t *testing.T) {
	for in, want := range map[string]string{
		`{"path":"a.txt"}`:  `{"path":"a.txt"}`,
		"a\u202eb":          `a\u202eb`,
		"a\nb\x1b[31m":      `a\u000ab\u001b[31m`,
		"x\u200b\U000e0041": `x\u200b\U000e0041`,
		"e\u0301\u00a0":     `e\u0301\u00a0`,
		"bad\xff":           `bad\xff`,
		"übung":             "übung",
	} {
		if got := exact(in); got != want {
			t.Errorf("exact(%q) = %q, want %q", in, got, want)
		}
	}
}

// harmless reports what a text has that must not reach a terminal.
func harmful(s string) (rune, bool) {
	for _, r := range s {
		if r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || r == '\u2028' || r == '\u2029') {
			return r, true
		}
	}
	return 0, !utf8.ValidString(s)
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "x", "\x1b[31mred", "\x1b]8;;u\x07", "\u009b1m", "a\u0301\u0301", "\u202e", "\xff", "\r\n", "\U000e0001", "👩\u200d🚀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Text(s)
		if r, bad := harmful(out); bad {
			t.Fatalf("Text(%q) = %q: has %U", s, out, r)
		}
		if again := Text(out); again != out {
			t.Fatalf("Text(%q) = %q, and again %q", s, out, again)
		}
		if r, bad := harmful(exact(s)); bad || strings.Contains(exact(s), "\n") {
			t.Fatalf("exact(%q) = %q: has %U", s, exact(s), r)
		}
	})
}
