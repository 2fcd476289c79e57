package search

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var people = []protocol.ParticipantID{"ann", "bob", "cat", "dan"}

// archive is a log with an index over it, and the oracle: a scan.
type archive struct {
	t     *testing.T
	index *Index
	docs  []Doc
	now   time.Time
}

func newArchive(t *testing.T, o derivedb.Options) *archive {
	t.Helper()
	a := &archive{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	a.open(o)
	t.Cleanup(a.close)
	if err := a.index.Begin("lab", "log-1"); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *archive) open(o derivedb.Options) {
	a.t.Helper()
	var err error
	a.index, err = Open(o)
	if err != nil {
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
		q.Cursor = r.Next
		if q.Cursor == "" {
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
	seeds := testkit.Rand(t)
	for i := range 6 {
		seed := seeds.Int64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewSource(seed))
			dir := t.TempDir()
			a := newArchive(t, derivedb.Options{Dir: dir})
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
					a.open(derivedb.Options{Dir: dir})
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
		a := newArchive(t, derivedb.Options{})
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
				cursor = got.Next
				if cursor == "" {
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
	a := newArchive(t, derivedb.Options{})
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
