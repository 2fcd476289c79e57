package planner

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The patterns define the expected results; they would take quadratic time.
var (
	quotation = regexp.MustCompile("\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`")
	ending    = regexp.MustCompile(`[.!?？。！]+(?:\s+|$)|\n+|[？。！]+`)
)

func FuzzScan(f *testing.F) {
	for _, s := range []string{
		"", `say "a b" and “c” and ` + "`d`", `"" "x`, "\"a\n\"b\"", `“"x"“"y"”`, "“”“a”", "One. Two? Three", "一。二？三！？a", "a.。. b\n\nc...", "e.g. x\u00a0y!\vz", "\xff.\xff\"\xff\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []string
		for _, m := range quotation.FindAllStringSubmatch(text, -1) {
			want = append(want, m[1]+m[2]+m[3])
		}
		if got := quotations(text); !slices.Equal(got, want) {
			t.Errorf("%q quotes %q, not %q", text, got, want)
		}
		var ends []sentenceEnd
		for _, at := range ending.FindAllStringIndex(text, -1) {
			ends = append(ends, newSentenceEnd(text, at[0], at[1]))
		}
		if got := sentenceEnds(text); !slices.Equal(got, ends) {
			t.Errorf("%q ends at %v, not %v", text, got, ends)
		}
	})
}

// An unmatched mark is searched for once; a search per mark would take hours.
func TestScan_LinearTime(t *testing.T) {
	const n = 400_000
	for _, text := range []string{strings.Repeat(`“"x"`, n), strings.Repeat("“`x`", n)} {
		if got := len(quotations(text)); got != n {
			t.Errorf("%d quotations", got)
		}
	}
	if got := len(sentenceEnds(strings.Repeat("。.", n) + "x")); got != n {
		t.Errorf("%d sentences", got)
	}
	if got := len(quotations(strings.Repeat("“", n) + strings.Repeat("`", 3))); got != 0 {
		t.Errorf("%d quotations", got)
	}
}

// Only the first bytes of a long question are read.
func TestRules_LongQuestion(t *testing.T) {
	for name, text := range map[string]string{
		"letters":    strings.Repeat("a", 1<<20),
		"marks":      strings.Repeat(`“"x"`, 1<<17),
		"ends":       strings.Repeat("。.", 1<<17) + "x?",
		"files":      strings.Repeat("a.md b.md ", 40<<10),
		"numbers":    strings.Repeat("1,111 2 ", 50<<10),
		"words":      strings.Repeat("qwertz asdfgh yxcvbn gaga", 16<<10),
		"characters": "a" + strings.Repeat("本", 1<<17),
	} {
		q := parseQuestion(text)
		if len(q.text) > maxQuestion || !utf8.ValidString(q.text) {
			t.Errorf("%s: %d bytes are read", name, len(q.text))
		}
		if len(q.keywords) > maxKeywords || len(q.files) > maxNamed || len(q.numbers) > maxNamed || len(q.quoted) > maxNamed {
			t.Errorf("%s: %d keywords, %d files, %d numbers, %d quotations", name, len(q.keywords), len(q.files), len(q.numbers), len(q.quoted))
		}
		if _, err := (Rules{}).Next(t.Context(), State{Question: text, MaxDepth: 1, Tools: []Tool{{Name: "search"}}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{strings.Repeat("x", 4<<20), "\xff"} {
		if rest, there := matchAfterName("x: y", "", name, "(.*)"); there {
			t.Errorf("%q is behind a name of %d bytes", rest, len(name))
		}
	}
	var words []string
	for i := range 200 {
		words = append(words, "word"+strings.Repeat("x", i))
	}
	if q := parseQuestion(strings.Join(words[:120], " ")); len(q.keywords) != maxKeywords {
		t.Errorf("%d keywords", len(q.keywords))
	}
}
