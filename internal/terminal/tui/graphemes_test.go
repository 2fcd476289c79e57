package tui

import (
	"slices"
	"strings"
	"testing"
)

// TestWrap_JoinedEmoji checks every width: a break never splits a joined
// emoji, and nothing is lost.
func TestWrap_JoinedEmoji(t *testing.T) {
	const family, pilot = "👨\u200d👩\u200d👧\u200d👦", "👩🏽\u200d🚀"
	for name, text := range map[string]string{
		"words":   "one " + family + " two " + pilot + " three " + family + family + " four",
		"no word": strings.Repeat("x"+family+pilot, 9),
		"painted": "\x1b[31mred " + family + " and\x1b[0m " + pilot + " plain " + family,
		"ordered": "1\ufe0f\u20e3 first, 2\ufe0f\u20e3 second, " + family + " last",
		"indent":  "    " + strings.Repeat(pilot+" and ", 12),
	} {
		all := strings.Count(text, family) + strings.Count(text, pilot)
		for cells := 8; cells < 60; cells++ {
			for how, lines := range map[string][]string{"wrap": wrapPainted(text, cells), "hanging": WrapHanging(text, cells)} {
				n := 0
				for _, l := range lines {
					n += strings.Count(l, family) + strings.Count(l, pilot)
					if cellWidth(l) > cells {
						t.Errorf("%s, %s: %d cells of %d: %q", name, how, cellWidth(l), cells, l)
					}
				}
				if whole := how == "wrap" || cells >= 24; whole && n != all {
					t.Errorf("%s, %s at %d: %d of %d emoji are whole:\n%q", name, how, cells, n, all, lines)
				}
				if got, want := letters(strings.Join(lines, "")), letters(text); got != want {
					t.Errorf("%s, %s at %d: %q, want %q", name, how, cells, got, want)
				}
			}
		}
	}
}

// letters removes the characters that a break may drop, add or style again.
func letters(s string) string {
	s = strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "", strings.TrimSpace(more), "").Replace(s)
	return strings.Join(slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == "" }), "")
}

func TestWrap_JoinedEmojiInWords(t *testing.T) {
	const pilot = "👩\u200d🚀"
	for _, c := range []struct {
		text  string
		cells int
		want  []string
	}{
		{"a pilot " + pilot + " flies", 12, []string{"a pilot " + pilot, "flies"}},
		{"a pilot " + pilot + " flies", 11, []string{"a pilot", pilot + " flies"}},
		{"abcdef" + pilot, 8, []string{"abcdef", pilot}},
	} {
		t.Run(c.text, func(t *testing.T) {
			if got := wrap(c.text, c.cells); !slices.Equal(got, c.want) {
				t.Errorf("%q at %d: %q", c.text, c.cells, got)
			}
		})
	}
}
