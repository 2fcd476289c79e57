package search

import (
	"errors"
	"strings"
	"testing"
)

// TestParse_Refuses: queries that cannot be answered have a reason.
func TestParse_Refuses(t *testing.T) {
	for _, text := range []string{
		"", "   ", "-word", `""`, "...", "a*", strings.Repeat("w ", maxTerms+1), strings.Repeat("w", maxQueryBytes+1), "\xff", strings.Repeat(`"a b" `, 9),
	} {
		t.Run(text, func(t *testing.T) {
			var s SyntaxError
			if err := (Query{Text: text}).Check(); !errors.As(err, &s) || !strings.HasSuffix(string(s), ".") {
				t.Errorf("%v", err)
			}
		})
	}
	if err := (Query{Text: "word", Cursor: cursor{upTo: 5, seq: 4, query: 1}.encode()}).Check(); err == nil {
		t.Error("a cursor of another query is accepted")
	}
}

// FuzzParse: every query is refused or has words within the bounds, and every text
// can be compared with it.
func FuzzParse(f *testing.F) {
	f.Add(`one "two three" -four fi* 日本`, "some text 日本")
	f.Add(`-"-"*"`, "")
	f.Fuzz(func(t *testing.T, query, text string) {
		plans, err := Query{Text: query, Match: MatchAuto}.compile()
		if err != nil {
			return
		}
		text = strings.ToValidUTF8(text, "")
		for _, p := range plans {
			words := 0
			for _, c := range p.clauses {
				words += len(c.words)
			}
			if words == 0 || words > maxAnyTerms+maxTerms || !p.any && words > maxTerms {
				t.Errorf("%d words", words)
			}
			found := make([]bool, len(p.clauses))
			spans, _ := p.spans(text, found)
			for _, s := range spans {
				if s.start >= s.end || s.end > len(text) {
					t.Errorf("%+v of %d bytes", s, len(text))
				}
			}
			if len(spans) > 0 {
				snippet(field{"", text}, spans)
			}
		}
	})
}
