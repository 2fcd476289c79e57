package derived

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/search"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// gateway is a hub over a log with alice, bob, carol, and eve, who observes.
type gateway struct {
	t       testing.TB
	hub     *space.Hub
	journal *countingJournal
	ids     int
	name    string // of the space
	store   *SearchStore
	stop    func()
}

// countingJournal counts the entries that are read from the log.
type countingJournal struct {
	journal.Journal
	read  atomic.Int64
	delay time.Duration // of a read
}

func (j *countingJournal) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		<-time.After(j.delay)
		for e, err := range j.Journal.Range(ctx, space, q) {
			if j.read.Add(1); !yield(e, err) {
				return
			}
		}
	}
}

func newGateway(t testing.TB, log journal.Journal) *gateway {
	t.Helper()
	all, err := capability.ParseJSON([]byte(`"*"`))
	if err != nil {
		t.Fatal(err)
	}
	observe, err := capability.ParseJSON([]byte(`"observe"`))
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, name: "lab", journal: &countingJournal{Journal: log}}
	// A capability that matches every kind does not include observe.
	writes := authority.ParticipantConfig{Capabilities: []*capability.Capability{all}}
	participants := map[protocol.ParticipantID]authority.ParticipantConfig{
		"alice": writes, "bob": writes, "carol": writes, "eve": {Capabilities: []*capability.Capability{observe}},
	}
	g.hub = space.NewHub(space.Services{
		Journal: g.journal, Validate: schemas.Payload, RingEntries: 16, NewToken: func() (string, [32]byte) { return "x", [32]byte{1} },
		NewID: func() protocol.ID { g.ids++; return protocol.ID(fmt.Sprint("made-", g.ids)) },
	}, func(name string) (*authority.Config, bool) {
		return &authority.Config{Name: name, Participants: participants}, true
	})
	return g
}

// run starts a SearchStore; the end of the test, or end, stops it.
func (g *gateway) run(dir string) {
	g.store = NewSearchStore(SearchOptions{Dir: dir, Spaces: g.hub.Open, Bounds: g.journal.Bounds})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.store.Run(ctx)
	}()
	g.stop = func() { cancel(); <-ended }
	g.t.Cleanup(g.stop)
}

func (g *gateway) space() *space.Space {
	g.t.Helper()
	s, err := g.hub.Space(context.Background(), g.name)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// say publishes frames in turn; it ends the test when one is rejected.
func (g *gateway) say(who protocol.ParticipantID, frames ...string) {
	g.t.Helper()
	sender, err := g.space().Sender(context.Background(), ring.Viewer{ID: who})
	if err != nil {
		g.t.Fatal(err)
	}
	var list []admission.Decoded
	for _, f := range frames {
		in, bad := protocol.Decode([]byte(f), protocol.DialectMEUP01, protocol.DefaultContextDepth)
		list = append(list, admission.Decoded{In: in, Err: bad})
	}
	for i, r := range sender.Publish(context.Background(), list) {
		if r.Err != nil {
			g.t.Fatalf("%s: %v", frames[i], r.Err)
		}
	}
}

func (g *gateway) chats(n int, text string) {
	g.t.Helper()
	var frames []string
	for i := range n {
		frames = append(frames, fmt.Sprintf(`{"id":"%s-%d","kind":"chat","payload":{"message":"%s %d"}}`, strings.ReplaceAll(text, " ", "-"), g.ids+i, text, i))
	}
	g.ids += n
	g.say("alice", frames...)
}

// find returns the ids of all hits, once the index has the whole log.
func (g *gateway) find(who ring.Viewer, q search.Query) []protocol.ID {
	g.t.Helper()
	ids := []protocol.ID{}
	for {
		r, err := g.store.Search(context.Background(), g.space(), who, q)
		if errors.Is(err, &protocol.Error{Code: protocol.CodeUnavailable}) || err == nil && r.Position.Read < r.Head {
			continue // it has waited
		}
		if err != nil || r.Partial {
			g.t.Fatalf("%+v: %+v, %v", q, r, err)
		}
		for _, h := range r.Hits {
			ids = append(ids, h.Envelope.ID)
		}
		q.Cursor = r.Next
		if q.Cursor == "" {
			slices.Sort(ids)
			return ids
		}
	}
}

func openPebble(t testing.TB, dir string) *pebblejournal.Journal {
	t.Helper()
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestSearch_FindsOwnWrites: an envelope is found as soon as it is admitted.
func TestSearch_FindsOwnWrites(t *testing.T) {
	g := newGateway(t, journal.NewMemory(journal.MemoryOptions{}))
	g.chats(100, "before")
	g.run("")
	for i := range 20 {
		g.say("alice", fmt.Sprintf(`{"id":"m%d","kind":"chat","payload":{"message":"number%d"}}`, i, i))
		if got := g.find(ring.Viewer{ID: "bob"}, search.Query{Text: fmt.Sprint("number", i)}); len(got) != 1 || got[0] != protocol.ID(fmt.Sprint("m", i)) {
			t.Fatalf("number%d: %v", i, got)
		}
	}
}

// TestSearch_SeesWhatHistoryShows compares the hits of random envelopes, with
// addressees and correlations, with the history of each participant.
func TestSearch_SeesWhatHistoryShows(t *testing.T) {
	g := newGateway(t, journal.NewMemory(journal.MemoryOptions{}))
	g.run("")
	r := rand.New(rand.NewSource(3))
	people := []protocol.ParticipantID{"alice", "bob", "carol"}
	words := []string{"alpha", "beta", "gamma"}
	for i := range 300 {
		extra := ""
		if r.Intn(2) == 0 {
			extra += fmt.Sprintf(`"to":[%q],`, people[r.Intn(3)])
		}
		if i > 0 && r.Intn(2) == 0 {
			extra += fmt.Sprintf(`"correlationId":"m%d",`, r.Intn(i))
		}
		g.say(people[r.Intn(3)], fmt.Sprintf(`{"id":"m%d",%s"kind":"chat","payload":{"message":"%s %s"}}`, i, extra, words[r.Intn(3)], words[r.Intn(3)]))
	}
	head := g.space().Head()
	viewers := []ring.Viewer{{ID: "alice"}, {ID: "bob"}, {ID: "carol"}, {ID: "eve"}, {ID: "bob", VisibleAfter: head / 2}, {ID: "stranger"}}
	for _, who := range viewers {
		for _, word := range words {
			page, err := g.space().History(t.Context(), who, space.HistoryQuery{Limit: space.MaxHistory, Filter: protocol.Filter{Kinds: []string{"chat"}}})
			if err != nil {
				t.Fatal(err)
			}
			want := []protocol.ID{}
			for e, err := range page.Entries(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(e.Envelope.Payload), word) {
					want = append(want, e.Envelope.ID)
				}
			}
			slices.Sort(want)
			if got := g.find(who, search.Query{Text: word, Limit: 50}); !slices.Equal(got, want) {
				t.Errorf("%+v, %s: got %v, want %v", who, word, got, want)
			}
		}
	}
}

// TestRun_AfterRestart: the index continues where it was, without reading the log
// again; also after a stop in the middle of it.
func TestRun_AfterRestart(t *testing.T) {
	logDir, dir := t.TempDir(), t.TempDir()
	j := openPebble(t, logDir)
	g := newGateway(t, j)
	for range 10 {
		g.chats(300, "first")
	}
	g.run(dir)
	for {
		r, err := g.store.Search(t.Context(), g.space(), ring.Viewer{ID: "bob"}, search.Query{Text: "first"})
		if err == nil && r.Position.Read > 0 || errors.Is(err, &protocol.Error{Code: protocol.CodeUnavailable}) {
			break // in the middle, or at the end
		}
	}
	g.stop()
	g.run(dir)
	if got := g.find(ring.Viewer{ID: "bob"}, search.Query{Text: "first", Limit: 100}); len(got) != 3000 {
		t.Fatalf("%d hits", len(got))
	}
	g.stop()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = openPebble(t, logDir)
	defer j.Close()
	g = newGateway(t, j)
	defer func() { g.stop() }() // before the journal is closed
	g.chats(2, "second")
	g.run(dir)
	before := g.journal.read.Load()
	if got := g.find(ring.Viewer{ID: "bob"}, search.Query{Text: "second"}); len(got) != 2 {
		t.Fatalf("%d hits", len(got))
	}
	if n := g.journal.read.Load() - before; n > 100 {
		t.Errorf("the index has read %d entries of the log again", n)
	}
}

// TestRun_Rebuilds: an index that cannot be read, that was removed, or that is of
// another log, is built again.
func TestRun_Rebuilds(t *testing.T) {
	dir := t.TempDir()
	g := newGateway(t, journal.NewMemory(journal.MemoryOptions{}))
	g.chats(500, "word")
	g.run(dir)
	expect := func(text string, want int) {
		t.Helper()
		if got := g.find(ring.Viewer{ID: "bob"}, search.Query{Text: text, Limit: 100}); len(got) != want {
			t.Fatalf("%s: %d hits, want %d", text, len(got), want)
		}
	}
	expect("word", 500)
	g.stop()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%v, %v", tables, err)
	}
	for _, f := range tables {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(b) / 2 {
			b[i] ^= 0x55
		}
		if err := os.WriteFile(f, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.run(dir)
	expect("word", 500)
	g.stop()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	g.run(dir)
	expect("word", 500)
	g.stop()
	g = newGateway(t, journal.NewMemory(journal.MemoryOptions{})) // another log
	g.chats(3, "other")
	g.run(dir)
	expect("other", 3)
	expect("word", 0)
}

// TestRun_Retention: what the log no longer has is not found.
func TestRun_Retention(t *testing.T) {
	g := newGateway(t, journal.NewMemory(journal.MemoryOptions{Retention: journal.Retention{Bytes: 20_000}}))
	g.run("")
	for i := range 50 {
		g.chats(10, fmt.Sprint("word round", i))
		g.find(ring.Viewer{ID: "bob"}, search.Query{Text: "word"})
	}
	oldest, newest, err := g.journal.Bounds(t.Context(), "lab")
	if err != nil || oldest <= 1 {
		t.Fatalf("%d, %v", oldest, err)
	}
	if got := g.find(ring.Viewer{ID: "bob"}, search.Query{Text: "word", Limit: 100}); len(got) != int(newest-oldest+1) {
		t.Errorf("%d hits in the log from %d to %d", len(got), oldest, newest)
	}
}

// TestSearch_WhileBuilding: until the index has had the whole log, searches are
// answered with unavailable, within a second.
func TestSearch_WhileBuilding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, journal.NewMemory(journal.MemoryOptions{}))
		g.chats(1, "word")
		g.store = NewSearchStore(SearchOptions{Spaces: g.hub.Open, Bounds: g.journal.Bounds}) // does not run
		began := time.Now()
		r, err := g.store.Search(t.Context(), g.space(), ring.Viewer{ID: "bob"}, search.Query{Text: "word"})
		refused := protocol.AsError(err)
		if refused == nil || refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS == 0 || !strings.Contains(refused.Message, "being built") {
			t.Errorf("%+v, %v", r, err)
		}
		if waited := time.Since(began); waited != defaultSearchWait {
			t.Errorf("after %v", waited)
		}
	})
}

// TestSearch_Refuses: a query that cannot be answered is refused at once.
func TestSearch_Refuses(t *testing.T) {
	g := newGateway(t, journal.NewMemory(journal.MemoryOptions{}))
	g.store = NewSearchStore(SearchOptions{Spaces: g.hub.Open, Bounds: g.journal.Bounds})
	var syntax search.SyntaxError
	if _, err := g.store.Search(t.Context(), g.space(), ring.Viewer{ID: "bob"}, search.Query{Text: "-x"}); !errors.As(err, &syntax) {
		t.Error(err)
	}
}

// TestUpdate_InTurn: with very many open spaces, each has its turn, also beside spaces
// that always have new entries, and one that a search waits for is first.
func TestUpdate_InTurn(t *testing.T) {
	g := newGateway(t, journal.NewMemory(journal.MemoryOptions{}))
	g.store = NewSearchStore(SearchOptions{Spaces: g.hub.Open, Bounds: g.journal.Bounds}) // does not run
	const spaces = 2*spacesInTurn + 1
	for i := range spaces {
		if _, err := g.hub.Space(t.Context(), fmt.Sprint("s-", i)); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]int)
	for range 3 {
		list, _, _ := g.store.update() // all of them lack entries, and stay so
		if len(list) > spacesInTurn {
			t.Fatalf("%d spaces in a turn", len(list))
		}
		for _, f := range list {
			seen[f.space.Name()]++
			g.store.turn++ // as Run does
			f.turn = g.store.turn
		}
	}
	if len(seen) != spaces {
		t.Errorf("%d of %d spaces had a turn", len(seen), spaces)
	}
	last, err := g.hub.Space(t.Context(), "s-999")
	if err != nil {
		t.Fatal(err)
	}
	g.store.want(last, 1)
	if list, _, more := g.store.update(); list[0].space != last || !more {
		t.Errorf("%s is first, more %v", list[0].space.Name(), more)
	}
	// Trims that are left wait for the next look.
	for _, f := range g.store.followers {
		f.wanted, f.position = false, search.Position{Log: f.space.LogID(), Read: f.space.Head(), Built: true}
	}
	if list, _, more := g.store.update(); len(list) != spacesInTurn || more {
		t.Errorf("%d spaces to trim, more %v", len(list), more)
	}
}

// TestRun_LeavesTime: the index takes one part in busyShare of the time while the
// gateway is busy, also if each space has less than a batch. A search does not wait for
// the other spaces.
func TestRun_LeavesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const spaces, batchTime = 40, 2 * time.Millisecond
		g := newGateway(t, journal.NewMemory(journal.MemoryOptions{}))
		for i := range spaces {
			g.name = fmt.Sprint("s-", i)
			g.chats(1, "first")
		}
		g.run("")
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		g.journal.delay = batchTime
		for i := range spaces {
			g.name = fmt.Sprint("s-", i)
			g.chats(30, "word") // more than the ring has
		}
		time.Sleep(lookEvery + spaces*batchTime*busyShare/2)
		synctest.Wait()
		behind := 0
		for _, sp := range g.hub.Open() {
			if p, _ := g.store.want(sp, 0); p.Read < sp.Head() {
				behind, g.name = behind+1, sp.Name()
			}
		}
		if behind < spaces/4 || behind > 3*spaces/4 {
			t.Errorf("after half of the time %d of %d spaces are not indexed", behind, spaces)
		}
		began := time.Now()
		if ids := g.find(ring.Viewer{ID: "bob"}, search.Query{Text: "word"}); len(ids) != 30 {
			t.Errorf("found %d envelopes", len(ids))
		}
		if took := time.Since(began); took >= (busyShare-1)*batchTime {
			t.Errorf("a search took %v", took)
		}
	})
}
