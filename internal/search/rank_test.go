package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/protocol"
)

// TestSearch_Ranks: more of the words, in a shorter text, comes first; of equals the
// newer one.
func TestSearch_Ranks(t *testing.T) {
	a := newArchive(t, derivedb.Options{})
	a.say(1, "ann", "cat "+strings.Repeat("and much else ", 60))
	a.say(2, "ann", "cat")
	a.say(3, "ann", "cat cat cat cat dog")
	a.say(4, "ann", "cat")
	for seq := 5; seq < 200; seq++ {
		a.say(seq, "ann", "dog and bird")
	}
	a.apply(0)
	r, err := a.index.Search(t.Context(), "lab", a.asker("ann", 0, false), Query{Text: "cat"})
	if err != nil {
		t.Fatal(err)
	}
	var got []protocol.Seq
	for _, h := range r.Hits {
		got = append(got, h.Envelope.Seq)
	}
	if want := []protocol.Seq{3, 4, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSearch_Any: of any of the words, more and rarer ones come first, and a text in
// a script without spaces need not occur as a whole.
func TestSearch_Any(t *testing.T) {
	a := newArchive(t, derivedb.Options{})
	a.say(1, "ann", "the zebra lives in the attic")
	a.say(2, "ann", "a zebra")
	for seq := 3; seq < 50; seq++ {
		a.say(seq, "ann", "the door of the house")
	}
	a.say(50, "ann", "the attic of the house")
	a.say(51, "ann", "会议在下午三点开始")
	a.say(52, "ann", "the secret zebra of bob", "bob")
	a.apply(0)
	for _, c := range []struct {
		name, text string
		match      Match
		used       Match
		want       []protocol.Seq // the first ones
		only       bool
	}{
		{name: "all", text: "where is the zebra", match: MatchAll, used: MatchAll, only: true},
		{name: "all by default", text: "where is the zebra", used: MatchAll, only: true},
		{name: "any", text: "where is the zebra", match: MatchAny, used: MatchAny, want: []protocol.Seq{1, 2}},
		{name: "auto with all", text: "attic zebra", match: MatchAuto, used: MatchAll, want: []protocol.Seq{1}, only: true},
		{name: "auto without all", text: "attic elephant", match: MatchAuto, used: MatchAny, want: []protocol.Seq{50, 1}, only: true},
		{name: "an excluded word", text: "attic elephant -zebra", match: MatchAuto, used: MatchAny, want: []protocol.Seq{50}, only: true},
		{name: "a phrase", text: `"zebra attic" "a zebra" door-knob`, match: MatchAny, used: MatchAny, want: []protocol.Seq{2}},
		{name: "no word at all", text: "elephant giraffe", match: MatchAuto, used: MatchAny, only: true},
		{name: "a sentence without spaces", text: "请问会议几点开始？", match: MatchAuto, used: MatchAny, want: []protocol.Seq{51}, only: true},
		{name: "a whole paragraph", text: "zebra " + strings.Repeat("nothing of this text is in the log ", 60) + "-attic", match: MatchAuto, used: MatchAny, want: []protocol.Seq{2}},
		{name: "more words than count", text: longText(maxAnyTerms) + "zebra", match: MatchAuto, used: MatchAny, only: true},
		{name: "a quotation mark", text: `a 5" pipe in the attic near bob's zebra`, match: MatchAuto, used: MatchAny, want: []protocol.Seq{1, 2}},
		{name: "a long quotation", text: `"` + longText(maxTerms+1) + `zebra"`, match: MatchAuto, used: MatchAny, want: []protocol.Seq{2, 1}, only: true},
		{name: "a prefix of one letter", text: "zebra 5*", match: MatchAuto, used: MatchAny, want: []protocol.Seq{2, 1}, only: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := a.index.Search(t.Context(), "lab", a.asker("ann", 0, false), Query{Text: c.text, Match: c.match})
			if err != nil {
				t.Fatal(err)
			}
			var got []protocol.Seq
			for _, h := range r.Hits {
				got = append(got, h.Envelope.Seq)
			}
			if len(got) < len(c.want) || !slices.Equal(got[:len(c.want)], c.want) || c.only && len(got) != len(c.want) || r.Match != c.used {
				t.Errorf("%s %v, want %s %v", r.Match, got, c.used, c.want)
			}
		})
	}
}

// longText returns n different words.
func longText(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

// TestSearch_PageOfFallback: the next page belongs to the words of the first one, also
// if an envelope has all words by then, and without the bound of the first page.
func TestSearch_PageOfFallback(t *testing.T) {
	a := newArchive(t, derivedb.Options{})
	for seq := 1; seq <= 30; seq++ {
		a.say(seq, "ann", []string{"cat", "dog"}[seq%2])
	}
	a.apply(0)
	who, q := a.asker("ann", 0, false), Query{Text: "cat dog", Match: MatchAuto, Limit: 10, Before: 21}
	first, err := a.index.Search(t.Context(), "lab", who, q)
	if err != nil || len(first.Hits) != 10 || first.Match != MatchAny {
		t.Fatalf("%+v, %v", first, err)
	}
	a.say(31, "ann", "cat and dog")
	a.apply(30)
	q.Cursor, q.Before = first.Next, 0
	second, err := a.index.Search(t.Context(), "lab", who, q)
	if err != nil || len(second.Hits) != 10 || second.Match != MatchAny {
		t.Fatalf("%+v, %v", second, err)
	}
	for _, h := range append(first.Hits, second.Hits...) {
		if h.Envelope.Seq >= 21 {
			t.Errorf("envelope %d", h.Envelope.Seq)
		}
	}
}
