package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/agent/planner"
)

// The pattern defines the expected result; it would take quadratic time.
var quotation = regexp.MustCompile("\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`")

func FuzzQuotations(f *testing.F) {
	for _, s := range []string{
		"", `say "a b" and “c” and ` + "`d`", `"" "x`, "\"a\n\"b\"", `“"x"“"y"”`, "“”“a”", "\xff\"\xff\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []string
		for _, m := range quotation.FindAllStringSubmatch(text, maxNamed) {
			want = append(want, m[1]+m[2]+m[3])
		}
		if got := quotations(text); !slices.Equal(got, want) {
			t.Errorf("%q quotes %q, not %q", text, got, want)
		}
	})
}

// Only the first bytes of a long question are read.
func TestRules_LongQuestion(t *testing.T) {
	const text = `{"properties":{"text":{"type":"string"}},"required":["text"]}`
	var tools []planner.Tool
	for _, name := range []string{"search", strings.Repeat("x", 64<<10), "\xff"} { // a pattern of each would be costly, or invalid
		tools = append(tools, planner.Tool{Name: name, InputSchema: json.RawMessage(text)})
	}
	for name, text := range map[string]string{
		"letters":    strings.Repeat("a", 1<<20),
		"marks":      strings.Repeat(`“"x"`, 1<<17),
		"ends":       strings.Repeat("。.", 1<<17) + "x?",
		"files":      strings.Repeat("a.md b.md ", 40<<10),
		"numbers":    strings.Repeat("1,111 2 ", 50<<10),
		"words":      strings.Repeat("qwertz asdfgh yxcvbn gaga", 16<<10),
		"characters": "a" + strings.Repeat("本", 1<<17),
	} {
		q := parse(text)
		if len(q.text) > maxQuestion || !utf8.ValidString(q.text) {
			t.Errorf("%s: %d bytes are read", name, len(q.text))
		}
		if len(q.keywords) > maxKeywords || len(q.files) > maxNamed || len(q.numbers) > maxNamed || len(q.quoted) > maxNamed {
			t.Errorf("%s: %d keywords, %d files, %d numbers, %d quotations", name, len(q.keywords), len(q.files), len(q.numbers), len(q.quoted))
		}
		if _, err := (Rules{}).Next(t.Context(), planner.State{Question: text, MaxDepth: 1, Tools: tools}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var words []string
	for i := range 200 {
		words = append(words, "word"+strings.Repeat("x", i))
	}
	if q := parse(strings.Join(words[:120], " ")); len(q.keywords) != maxKeywords {
		t.Errorf("%d keywords", len(q.keywords))
	}
}
