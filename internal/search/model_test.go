package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/goleak"

	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var people = []protocol.ParticipantID{"ann", "bob", "cat", "dan"}

// archive is a log with an index over it, and the oracle: a scan.
type archive struct {
	t     *testing.T
	index *Index
	docs  []Doc
	now   time.Time
}

func newArchive(t *testing.T, o Options) *archive {
	t.Helper()
	a := &archive{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	a.open(o)
	t.Cleanup(a.close)
	if err := a.index.Begin("lab", "log-1"); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *archive) open(o Options) {
	a.t.Helper()
	var err error
	if a.index, err = Open(o); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) close() {
	if a.index != nil {
		if err := a.index.Close(); err != nil {
			a.t.Error(err)
		}
	}
	a.index = nil
}

// add appends an envelope to the log.
func (a *archive) add(seq int, from protocol.ParticipantID, kind protocol.Kind, path protocol.ContextPath, payload string, audience ...protocol.ParticipantID) {
	a.now = a.now.Add(time.Minute)
	e := &protocol.Envelope{
		Seq: protocol.Seq(seq), ID: protocol.ID(fmt.Sprint("e", seq)), From: from, Kind: kind, Context: path, TS: a.now, Payload: []byte(payload),
	}
	a.docs = append(a.docs, Doc{Envelope: e, Payload: e.ParsePayload(), Audience: audience})
}

func (a *archive) say(seq int, from protocol.ParticipantID, text string, audience ...protocol.ParticipantID) {
	a.add(seq, from, "chat", "", fmt.Sprintf(`{"message":%q}`, text), audience...)
}

// apply indexes the log from a document on.
func (a *archive) apply(from int) {
	a.t.Helper()
	docs := a.docs[from:]
	if len(docs) == 0 {
		return
	}
	if err := a.index.Apply("lab", docs, docs[len(docs)-1].Envelope.Seq, true); err != nil {
		a.t.Fatal(err)
	}
}

func visible(d *Doc, id protocol.ParticipantID, after protocol.Seq, all bool) bool {
	return all || len(d.Audience) == 0 || d.Envelope.Seq > after && slices.Contains(d.Audience, id)
}

func (a *archive) asker(id protocol.ParticipantID, after protocol.Seq, all bool) Asker {
	return Asker{ID: id, VisibleAfter: after, All: all, Read: func(_ context.Context, seq protocol.Seq) (*protocol.Envelope, error) {
		i, ok := slices.BinarySearchFunc(a.docs, seq, func(d Doc, s protocol.Seq) int { return int(d.Envelope.Seq) - int(s) })
		if !ok {
			return nil, nil
		}
		if !visible(&a.docs[i], id, after, all) {
			a.t.Errorf("%s: the index selects envelope %d, which it may not see", id, seq)
		}
		return a.docs[i].Envelope, nil
	}}
}

// scan returns the Seqs of the envelopes that a query selects, by reading all.
func (a *archive) scan(who Asker, q Query) []protocol.Seq {
	a.t.Helper()
	plans, err := q.compile()
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range plans {
		if all := a.scanPlan(who, p); len(all) > 0 {
			return all
		}
	}
	return nil
}

func (a *archive) scanPlan(who Asker, p *plan) (all []protocol.Seq) {
	q := p.Query
	for i := range a.docs {
		d := &a.docs[i]
		e := d.Envelope
		if !visible(d, who.ID, who.VisibleAfter, who.All) || !Searchable(e.Kind) || !p.matcher.Match(e) ||
			!q.Since.IsZero() && e.TS.Before(q.Since) || !q.Until.IsZero() && !e.TS.Before(q.Until) || q.Before > 0 && e.Seq >= q.Before {
			continue
		}
		if _, ok := p.matches(d.Payload, nil); ok {
			all = append(all, e.Seq)
		}
	}
	return all
}

// pages returns the Seqs of all pages, and checks that they are in order.
func (a *archive) pages(who Asker, q Query) []protocol.Seq {
	a.t.Helper()
	var all []protocol.Seq
	last := float32(1e9)
	for {
		r, err := a.index.Search(a.t.Context(), "lab", who, q)
		if err != nil || r.Partial {
			a.t.Fatalf("%q: %v, %+v", q.Text, err, r)
		}
		for _, h := range r.Hits {
			if h.Score > last {
				a.t.Fatalf("%q: score %v after %v", q.Text, h.Score, last)
			}
			last, all = h.Score, append(all, h.Envelope.Seq)
		}
		if q.Cursor = r.Next; q.Cursor == "" {
			slices.Sort(all)
			return all
		}
	}
}

// randomDoc adds an envelope of few different words, so that queries have hits.
func (a *archive) randomDoc(r *rand.Rand, seq int) {
	words := []string{"alpha", "Beta", "gamma", "GÄMMA", "delta-one", "read_file", "日本語", "日", "本", "naïve", "alphabet"}
	text := make([]string, 1+r.Intn(6))
	for i := range text {
		text[i] = words[r.Intn(len(words))]
	}
	line := strings.Join(text, " ")
	payload := []string{
		fmt.Sprintf(`{"message":%q}`, line),
		fmt.Sprintf(`{"method":"tools/call","params":{"name":"read_file","arguments":{"a":%q,"n":[%d,%q]}}}`, line, r.Intn(3), line),
		fmt.Sprintf(`{"result":{"content":[{"type":"text","text":%q}]}}`, line),
	}[r.Intn(3)]
	kind := []protocol.Kind{"chat", "reasoning.thought", "mcp.request", "mcp.response", "system.presence"}[r.Intn(5)]
	path := []protocol.ContextPath{"", "c1", "c1/d", "c10"}[r.Intn(4)]
	from := people[r.Intn(len(people))]
	var audience []protocol.ParticipantID
	if r.Intn(2) == 0 {
		audience = []protocol.ParticipantID{from, people[r.Intn(len(people))]}
	}
	a.add(seq, from, kind, path, payload, audience...)
}

func randomQuery(r *rand.Rand, a *archive) Query {
	items := []string{"alpha", "beta", "gamma", "delta", `"alpha beta"`, `"delta one"`, "alph*", "-alpha", "-gamma", `-"alpha beta"`, "read_file", "日本", "日", "日本語", "naive", `"beta alph"*`, "-al*", "tools"}
	q := Query{Limit: 10 + r.Intn(50), Match: []Match{"", MatchAll, MatchAny, MatchAuto}[r.Intn(4)]}
	for q.Text == "" || q.Check() != nil {
		var text []string
		for range 1 + r.Intn(3) {
			text = append(text, items[r.Intn(len(items))])
		}
		q.Text = strings.Join(text, " ")
	}
	if r.Intn(3) == 0 {
		q.Filter.From = []protocol.ParticipantID{people[r.Intn(len(people))]}
	}
	if r.Intn(3) == 0 {
		q.Filter.Kinds = []string{[]string{"chat", "reasoning/*", "mcp.*", "!chat"}[r.Intn(4)]}
	}
	if r.Intn(3) == 0 {
		q.Filter.Contexts = []string{[]string{"", "c1", "c1/d", "c10"}[r.Intn(4)]}
	}
	if r.Intn(4) == 0 {
		q.Since = a.docs[r.Intn(len(a.docs))].Envelope.TS
	}
	if r.Intn(4) == 0 {
		q.Until = a.docs[r.Intn(len(a.docs))].Envelope.TS
	}
	if r.Intn(4) == 0 {
		q.Before = a.docs[r.Intn(len(a.docs))].Envelope.Seq
	}
	return q
}

// TestSearch_AgreesWithAScan compares the pages of random queries over random logs
// with the hits of a scan, for participants, guests and observers, with retention
// and after reopening the index.
func TestSearch_AgreesWithAScan(t *testing.T) {
	for seed := range int64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewSource(seed))
			dir := t.TempDir()
			a := newArchive(t, Options{Dir: dir})
			seq := 0
			for round := range 4 {
				from := len(a.docs)
				for range 1 + r.Intn(300) {
					seq += 1 + r.Intn(1000)
					a.randomDoc(r, seq)
				}
				a.apply(from)
				if round == 2 {
					a.close()
					a.open(Options{Dir: dir})
					gone := r.Intn(len(a.docs) / 2)
					a.docs = a.docs[gone:]
					if err := a.index.Trim("lab", a.docs[0].Envelope.Seq); err != nil {
						t.Fatal(err)
					}
				}
				for range 40 {
					q := randomQuery(r, a)
					who := a.asker(people[r.Intn(len(people))], 0, r.Intn(4) == 0)
					if r.Intn(4) == 0 {
						who = a.asker(who.ID, a.docs[r.Intn(len(a.docs))].Envelope.Seq, false)
					}
					if got, want := a.pages(who, q), a.scan(who, q); !slices.Equal(got, want) {
						t.Fatalf("%s (all: %v, after %d) %+v\n got %v\nwant %v", who.ID, who.All, who.VisibleAfter, q, got, want)
					}
				}
			}
		})
	}
}

// TestSearch_HiddenChangesNothing: scores, pages and cursors of an asker are the same
// with and without envelopes that it may not see.
func TestSearch_HiddenChangesNothing(t *testing.T) {
	both := [2][]string{}
	for i := range both {
		a := newArchive(t, Options{})
		r := rand.New(rand.NewSource(7))
		for seq := 10; seq < 3000; seq += 10 {
			a.say(seq, people[r.Intn(4)], []string{"alpha beta", "alpha", "beta gamma"}[r.Intn(3)])
			if i == 1 {
				a.say(seq+1, "bob", "alpha secret", "bob", "cat")
			}
		}
		a.say(3000, "bob", "the end")
		a.apply(0)
		for n, text := range []string{"alpha", "alpha beta", "secret", "sec*", "al* -gamma", "alpha secret", "alpha secret beta", "secret delta"} {
			who := a.asker("ann", 0, false)
			for cursor := ""; ; {
				got, err := a.index.Search(t.Context(), "lab", who, Query{Text: text, Match: []Match{MatchAll, MatchAny, MatchAuto}[n%3], Limit: 30, Cursor: cursor})
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range got.Hits {
					both[i] = append(both[i], fmt.Sprint(text, " ", h.Envelope.Seq, " ", h.Score, " ", h.Snippet))
				}
				if cursor = got.Next; cursor == "" {
					break
				}
			}
		}
	}
	if len(both[0]) == 0 || !slices.Equal(both[0], both[1]) {
		t.Errorf("%d hits without and %d with hidden envelopes", len(both[0]), len(both[1]))
	}
}

// TestSearch_PagesAreStable: envelopes that are admitted between two pages do not
// change the second one.
func TestSearch_PagesAreStable(t *testing.T) {
	a := newArchive(t, Options{})
	for seq := 1; seq <= 50; seq++ {
		a.say(seq, "ann", strings.Repeat("word ", 1+seq%5)+"tail")
	}
	a.apply(0)
	who := a.asker("ann", 0, false)
	want := a.pages(who, Query{Text: "word", Limit: 100})
	first, err := a.index.Search(t.Context(), "lab", who, Query{Text: "word", Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	for seq := 51; seq <= 90; seq++ {
		a.say(seq, "ann", "word word word")
	}
	a.apply(50)
	var got []protocol.Seq
	for _, h := range first.Hits {
		got = append(got, h.Envelope.Seq)
	}
	got = append(got, a.pages(who, Query{Text: "word", Limit: 20, Cursor: first.Next})...)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSearch_Ranks: more of the words, in a shorter text, comes first; of equals the
// newer one.
func TestSearch_Ranks(t *testing.T) {
	a := newArchive(t, Options{})
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
	a := newArchive(t, Options{})
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
		{name: "more words than count", text: longText(MaxAnyTerms) + "zebra", match: MatchAuto, used: MatchAny, only: true},
		{name: "a quotation mark", text: `a 5" pipe in the attic near bob's zebra`, match: MatchAuto, used: MatchAny, want: []protocol.Seq{1, 2}},
		{name: "a long quotation", text: `"` + longText(MaxTerms+1) + `zebra"`, match: MatchAuto, used: MatchAny, want: []protocol.Seq{2, 1}, only: true},
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
	a := newArchive(t, Options{})
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

// TestSearch_DensestSnippet: the snippet of a long text is where most words are.
func TestSearch_DensestSnippet(t *testing.T) {
	a := newArchive(t, Options{})
	a.say(1, "ann", "the "+strings.Repeat("filler of the text ", 100)+"the port is 5433 "+strings.Repeat("more of the text ", 100))
	a.apply(0)
	r, err := a.index.Search(t.Context(), "lab", a.asker("ann", 0, false), Query{Text: "which is the port", Match: MatchAuto})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if s := fmt.Sprint(r.Hits[0].Snippet); !strings.Contains(s, "5433") {
		t.Error(s)
	}
}

// TestSearch_Snippet: matches are parts of their own, at most a few hundred bytes
// around the first one.
func TestSearch_Snippet(t *testing.T) {
	a := newArchive(t, Options{})
	a.say(1, "ann", strings.Repeat("é", 300)+" <b>Zoë</b> zoe "+strings.Repeat("日本", 400))
	a.apply(0)
	r, err := a.index.Search(t.Context(), "lab", a.asker("ann", 0, false), Query{Text: "zoe"})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	s := r.Hits[0].Snippet
	var whole, marked []string
	for _, p := range s.Parts {
		if whole = append(whole, p.Text); p.Match {
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

// TestSearch_Masks: what is masked is not found and not shown.
func TestSearch_Masks(t *testing.T) {
	a := newArchive(t, Options{})
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

// TestParse_Refuses: queries that cannot be answered have a reason.
func TestParse_Refuses(t *testing.T) {
	for _, text := range []string{
		"", "   ", "-word", `""`, "...", "a*", strings.Repeat("w ", MaxTerms+1), strings.Repeat("w", MaxQueryBytes+1), "\xff", strings.Repeat(`"a b" `, 9),
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

// TestTokens_Fold: case, width and diacritics do not matter.
func TestTokens_Fold(t *testing.T) {
	for text, want := range map[string]string{
		"Straße ÉCOLE naïve":     "strasse ecole naive",
		"e\u0301cole":            "ecole",
		"ＡＢＣ１２":                  "abc12",
		"read_file.go:42":        "read file go 42",
		"don't":                  "don t",
		"日本語です":                  "日本 本語 語で です す",
		"ﾃｽﾄ":                    "テス スト ト",
		"İstanbul ΣΊΣΥΦΟΣ":       "istanbul σισυφοσ",
		strings.Repeat("x", 100): strings.Repeat("x", 64),
		strings.Repeat("é", 100): strings.Repeat("e", 64),
		"हिन्दी":                 "हिन्दी",
		"abc日本def":               "abc 日本 本 def",
		"\u0301":                 "",
	} {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, tok := range list(text, true) {
				got = append(got, tok.text)
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%q, want %q", s, want)
			}
		})
	}
}

// TestOpen_AfterACrash: without Close, the index continues from an earlier position,
// and the entries after it are applied again.
func TestOpen_AfterACrash(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, Options{Dir: dir})
	r := rand.New(rand.NewSource(1))
	for seq := 1; seq <= 300; seq++ {
		a.randomDoc(r, seq)
	}
	first := a.docs
	a.docs = first[:200]
	a.apply(0)
	if err := a.index.db.Flush(); err != nil {
		t.Fatal(err)
	}
	a.docs = first
	a.apply(200)
	copied := filepath.Join(t.TempDir(), "copy") // what a crash leaves
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b := &archive{t: t, docs: first}
	b.open(Options{Dir: copied})
	defer b.index.Close()
	p, err := b.index.Position("lab")
	if err != nil || p.Read != 200 || p.Log != "log-1" {
		t.Fatalf("%+v, %v", p, err)
	}
	b.apply(0) // the ones up to 200 are known
	for _, id := range people {
		if who, q := b.asker(id, 0, false), (Query{Text: "alpha"}); !slices.Equal(b.pages(who, q), b.scan(who, q)) {
			t.Errorf("%s: %v, want %v", id, b.pages(who, q), b.scan(who, q))
		}
	}
}

// TestOpen_Damaged: an index with a damaged file, or of another version, is begun
// again, or its searches fail with ErrDamaged.
func TestOpen_Damaged(t *testing.T) {
	fill := func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		a := newArchive(t, Options{Dir: dir})
		r := rand.New(rand.NewSource(1))
		for seq := 1; seq <= 2000; seq++ {
			a.randomDoc(r, seq)
		}
		a.apply(0)
		a.close()
		return dir
	}
	t.Run("version", func(t *testing.T) {
		dir := fill(t)
		x, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(x.db.Set([]byte{keyVersion}, []byte("0"), nil)); err == nil {
			t.Fatal("synced without a log")
		}
		if err := errors.Join(x.db.Set([]byte{keyVersion}, []byte("0"), noSync), x.Close()); err != nil {
			t.Fatal(err)
		}
		expectEmpty(t, dir)
	})
	t.Run("manifest", func(t *testing.T) {
		dir := fill(t)
		damage(t, dir, "MANIFEST-*", func(b []byte) []byte { return b[:len(b)/3] })
		expectEmpty(t, dir)
	})
	t.Run("table", func(t *testing.T) {
		dir := fill(t)
		damage(t, dir, "*.sst", func(b []byte) []byte {
			for i := range len(b) / 2 {
				b[i] ^= 0x55
			}
			return b
		})
		x, err := Open(Options{Dir: dir})
		if err == nil {
			defer x.Close()
			_, err = x.Search(t.Context(), "lab", (&archive{t: t}).asker("ann", 0, true), Query{Text: "alpha"})
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("search: %v", err)
			}
			return
		}
		t.Fatalf("open: %v", err)
	})
}

func damage(t *testing.T, dir, pattern string, change func([]byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(f, change(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func expectEmpty(t *testing.T, dir string) {
	t.Helper()
	x, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if p, err := x.Position("lab"); err != nil || p.Log != "" {
		t.Errorf("%+v, %v", p, err)
	}
}

// FuzzPostings: no bytes make a list yield documents outside of its bucket.
func FuzzPostings(f *testing.F) {
	var p postings
	for _, doc := range []uint32{3, 4, 500, bucketSize - 1} {
		p.add(doc, 7)
	}
	f.Add(p.append(nil), p.append(nil))
	f.Add([]byte{5, 3}, []byte{0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, data := range [][]byte{a, b} {
			if p, err := parsePostings(data); err == nil {
				_ = p.each(func(doc uint32, weight uint64) { // damaged lists end with an error
					if doc >= bucketSize || weight >= uint64(len(levels)) {
						t.Fatalf("document %d, weight %d", doc, weight)
					}
				})
			}
		}
		m := new(merging)
		if m.MergeNewer(a) == nil && m.MergeOlder(b) == nil {
			_, _, _ = m.Finish(true) // must not panic
		}
	})
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
			if words == 0 || words > MaxAnyTerms+MaxTerms || !p.any && words > MaxTerms {
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

// TestTrim_NothingToDelete checks that the first Trim of a new space, which only
// sets its floor, deletes no range: with many new spaces these would slow all reads.
func TestTrim_NothingToDelete(t *testing.T) {
	a := newArchive(t, Options{Dir: t.TempDir()})
	a.say(7, "ann", "hello")
	a.apply(0)
	if err := a.index.Trim("lab", 7); err != nil {
		t.Fatal(err)
	}
	if p, err := a.index.Position("lab"); err != nil || p.Floor != 7 {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := a.index.db.Flush(); err != nil {
		t.Fatal(err)
	}
	levels, err := a.index.db.SSTables(pebble.WithProperties())
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range levels {
		for _, table := range tables {
			if n := table.Properties.NumRangeDeletions; n > 0 {
				t.Errorf("%d deleted ranges", n)
			}
		}
	}
}
