package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
)

// TestSearch_DensestSnippet: the snippet of a long text is where most words are.
func TestSearch_DensestSnippet(t *testing.T) {
	a := newArchive(t, derivedb.Options{})
	a.say(1, "ann", "the "+strings.Repeat("filler of the text ", 100)+"the port is 5433 "+strings.Repeat("more of the text ", 100))
	a.apply(0)
	r, err := a.index.Search(t.Context(), "lab", a.asker("ann", 0, false), Query{Text: "which is the port", Match: MatchAuto})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	text := ""
	for _, p := range r.Hits[0].Snippet.Parts {
		text += p.Text
	}
	if !strings.Contains(text, "5433") {
		t.Error(text)
	}
	for _, word := range strings.Fields(text) { // none is cut
		if !slices.Contains(strings.Fields("filler of the text port is 5433 more"), word) {
			t.Errorf("%q in %q", word, text)
		}
	}
}

// TestSearch_Snippet: matches are parts of their own, at most a few hundred bytes
// around the first one.
func TestSearch_Snippet(t *testing.T) {
	a := newArchive(t, derivedb.Options{})
	a.say(1, "ann", strings.Repeat("é", 300)+" <b>Zoë</b> zoe "+strings.Repeat("日本", 400))
	a.apply(0)
	r, err := a.index.Search(t.Context(), "lab", a.asker("ann", 0, false), Query{Text: "zoe"})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	s := r.Hits[0].Snippet
	var whole, marked []string
	for _, p := range s.Parts {
		whole = append(whole, p.Text)
		if p.Match {
			marked = append(marked, p.Text)
		}
		if strings.ToValidUTF8(p.Text, "") != p.Text {
			t.Errorf("a part is cut within a character: %q", p.Text)
		}
	}
	text := strings.Join(whole, "")
	if s.Path != "/message" || !s.Cut || !slices.Equal(marked, []string{"Zoë", "zoe"}) || !strings.Contains(text, "<b>Zoë</b>") || len(text) > 2*snippetBytes {
		t.Errorf("%+v", s)
	}
}

// TestSearch_Masks checks that masked text is neither found nor shown.
func TestSearch_Masks(t *testing.T) {
	a := newArchive(t, derivedb.Options{})
	a.say(1, "ann", "the key is hunter2 indeed")
	a.apply(0)
	who := a.asker("ann", 0, false)
	who.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted:test]") }
	for text, hits := range map[string]int{"hunter2": 0, "hunt*": 0, "key": 1, "hunter2 nothing": 0, "hunter2 key nothing": 1} {
		r, err := a.index.Search(t.Context(), "lab", who, Query{Text: text, Match: MatchAuto})
		if err != nil || len(r.Hits) != hits || hits == 1 && strings.Contains(fmt.Sprint(r.Hits[0].Snippet), "hunter2") {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}
