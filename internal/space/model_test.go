package space_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// TestSpace_DeliveryMatchesLog publishes at random from several participants
// while others join, drop out and resume, with filters of all kinds and a ring
// that is far too small. In the end each member must have received exactly what a
// naive reading of the log yields for it: in order, each entry once.
func TestSpace_DeliveryMatchesLog(t *testing.T) {
	t.Parallel()
	seeds := testkit.Rand(t)
	for i := range 16 {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 1))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			runModel(t, random)
		})
	}
}

const (
	modelPublishers = 3
	modelReaders    = 10
	modelRounds     = 150
)

func runModel(t *testing.T, random *rand.Rand) {
	everyone := random.IntN(4) == 0
	cfg := rights{"p0": {"*"}, "p1": {"*"}, "p2": {"*"}, "p3": {"*"}, "seer": {"*", "observe"}}.config(t)
	cfg.Everyone = everyone
	r := openWith(t, cfg, func(s *space.Services) {
		s.RingEntries, s.RingBytes = 4<<random.IntN(5), 1<<20
	})
	var publishing, reading sync.WaitGroup
	var known admitted
	for i := range modelPublishers {
		publisher := modelPublisher{room: r, name: fmt.Sprint("p", i), random: rand.New(rand.NewPCG(random.Uint64(), 2)), known: &known}
		publishing.Go(publisher.run)
	}
	over := make(chan struct{})
	readers := make([]*modelReader, modelReaders)
	for i := range readers {
		readers[i] = newModelReader(r, rand.New(rand.NewPCG(random.Uint64(), 3)), over)
		reading.Go(readers[i].run)
	}
	publishing.Wait()
	close(over)
	reading.Wait()
	// A drained member has received everything.
	ctx := testkit.Deadline(t)
	if err := r.hub.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	model := readModel(t, r.log, everyone)
	for i, x := range readers {
		x.finish()
		want, got := model.expected(x), x.got
		if !slices.Equal(got, want) {
			t.Errorf("reader %d (%s, %+v, from %d)\ngot  %v\nwant %v", i, x.options.ID, x.options, x.start, got, want)
		}
		x.checkLive(t)
		x.checkOrder(t, model)
	}
}

// admitted holds the ids that publishers may refer to: a publisher that knows an
// id has seen the envelope.
type admitted struct {
	mu  sync.Mutex
	ids []string
}

func (a *admitted) add(ids []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = append(a.ids, ids...)
}

func (a *admitted) pick(random *rand.Rand) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ids) == 0 {
		return "nothing"
	}
	return a.ids[random.IntN(len(a.ids))]
}

// modelPublisher publishes envelopes at random.
type modelPublisher struct {
	room   *room
	name   string
	random *rand.Rand
	known  *admitted
	said   []string
}

func (p *modelPublisher) run() {
	for range modelRounds {
		var frames []string
		before := len(p.said)
		for range 1 + p.random.IntN(6) {
			frames = append(frames, p.frame())
		}
		for i, o := range p.room.say(protocol.ParticipantID(p.name), frames...) {
			if o.Err != nil {
				p.room.t.Errorf("%s: %v", frames[i], o.Err)
			}
		}
		p.known.add(p.said[before:])
	}
}

var modelKinds = []string{"chat", "chat", "x.app", "reasoning.thought", "reasoning.observation",
	"reasoning.conclusion", "reasoning.start", "mcp.request", "mcp.response", "mcp.proposal", "stream.data"}

var modelContexts = []string{"", "", "a", "a/b", "a/b/c", "ab", "a/c"}

func (p *modelPublisher) frame() string {
	id := fmt.Sprintf("%s-%d", p.name, len(p.said))
	kind := modelKinds[p.random.IntN(len(modelKinds))]
	correlation := "nothing"
	if n := len(p.said); n > 0 && p.random.IntN(2) == 0 {
		correlation = p.said[p.random.IntN(n)]
		if p.random.IntN(2) == 0 {
			correlation = p.known.pick(p.random)
		}
	}
	switch {
	case kind == "mcp.proposal":
		id += ".proposal"
	case kind == "mcp.request" && strings.HasSuffix(correlation, ".proposal"):
		correlation = "nothing" // decisions have rules of their own
	}
	p.said = append(p.said, id)
	f := fmt.Sprintf(`{"id": %q, "kind": %q, "correlationId": %q, "payload": {"message": "x", "method": "m", "stream_id": "s-%s", "data": "x"`,
		id, kind, correlation, p.name)
	if kind == "mcp.response" {
		f += `, "result": 1`
	}
	f += "}"
	if p.random.IntN(3) == 0 {
		f += fmt.Sprintf(`, "to": ["p%d"]`, p.random.IntN(4))
	}
	if c := modelContexts[p.random.IntN(len(modelContexts))]; c != "" {
		f += fmt.Sprintf(`, "context": %q`, c)
	}
	return f + "}"
}

// modelReader is a member that reads, drops out and resumes.
type modelReader struct {
	room    *room
	random  *rand.Rand
	options space.JoinOptions
	start   protocol.Seq // entries up to here are not expected
	over    <-chan struct{}

	now  *member
	got  []protocol.Seq
	ids  []protocol.ID // of got
	live []string      // by publisher and number: "p1-17"
}

func newModelReader(r *room, random *rand.Rand, over <-chan struct{}) *modelReader {
	who := []protocol.ParticipantID{"p0", "p1", "p3", "seer"}[random.IntN(4)]
	o := space.JoinOptions{ID: who, Filter: randomFilter(random), NoEcho: random.IntN(2) == 0, Observe: random.IntN(3) == 0}
	if random.IntN(2) == 0 {
		var beginning protocol.Seq
		o.Since = &beginning
	}
	return &modelReader{room: r, random: random, options: o, over: over}
}

func randomFilter(random *rand.Rand) protocol.Filter {
	var f protocol.Filter
	some := func(list ...string) []string {
		var out []string
		for _, s := range list {
			if random.IntN(3) == 0 {
				out = append(out, s)
			}
		}
		return out
	}
	if random.IntN(2) == 0 {
		f.Contexts = some("", "a", "a/b", "nowhere")
	}
	if random.IntN(3) == 0 {
		f.ExcludeContexts = some("", "a/b", "ab")
	}
	if random.IntN(3) == 0 {
		f.Kinds = some("chat", "reasoning/*", "reasoning/step", "x.*", "mcp.request")
	}
	if random.IntN(4) == 0 {
		f.From = []protocol.ParticipantID{"p1", "p2"}
	}
	if random.IntN(4) == 0 {
		depth := random.IntN(3)
		f.Depth = &depth
	}
	f.ConclusionsOnly = random.IntN(5) == 0
	return f
}

func (x *modelReader) run() {
	x.connect()
	for range x.random.IntN(6) {
		enough := len(x.got) + 1 + x.random.IntN(40)
		x.await(enough)
		x.now.leave()
		x.collect()
		x.connect()
	}
}

// await waits until enough entries have arrived, or until no more arrive.
func (x *modelReader) await(enough int) {
	for {
		x.now.mu.Lock()
		ok, changed := x.durable() >= enough, x.now.changed
		x.now.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-x.over:
			return
		}
	}
}

// connect joins again after the last received entry; a reader that has received
// none joins at its first position.
func (x *modelReader) connect() {
	o := x.options
	if x.now != nil {
		last := x.start
		if n := len(x.got); n > 0 {
			last = x.got[n-1]
		}
		o.Since = &last
	}
	first := x.now == nil
	x.now = x.room.join(o)
	if first && o.Since == nil {
		if err := x.now.await(func() bool { return len(x.now.own) > 0 }); err != nil {
			x.room.t.Error(err)
			return
		}
		x.start = welcomeSeq(x.room.t, x.now.frames("system.welcome")[0])
	}
}

// durable counts the received durable entries. Called with the member's mu held.
func (x *modelReader) durable() int {
	n := len(x.got)
	for _, e := range x.now.got {
		if e.Seq > 0 {
			n++
		}
	}
	return n
}

func (x *modelReader) collect() {
	for _, e := range x.now.got {
		switch {
		case e.Seq > 0:
			x.got, x.ids = append(x.got, e.Seq), append(x.ids, e.ID)
		case e.Kind == protocol.KindStreamData:
			x.live = append(x.live, string(e.ID))
		}
	}
}

// finish collects the entries of the drained connection.
func (x *modelReader) finish() {
	<-x.now.done
	x.collect()
	if c := x.now.closing; c == nil || c.Code != protocol.CloseGoingAway {
		x.room.t.Errorf("closed with %+v", c)
	}
}

// checkOrder: all readers have received the entries in the order of the log. It
// compares the envelopes, not only their numbers.
func (x *modelReader) checkOrder(t *testing.T, model *naiveLog) {
	last := protocol.Seq(0)
	for i, id := range x.ids {
		e := model.byID[id]
		if e == nil {
			t.Errorf("%s is not in the log", id)
			continue
		}
		if e.Envelope.Seq != x.got[i] {
			t.Errorf("%s came as %d and is %d in the log", id, x.got[i], e.Envelope.Seq)
		}
		if e.Envelope.Seq <= last {
			t.Errorf("%s (%d) came behind %d", id, e.Envelope.Seq, last)
		}
		last = e.Envelope.Seq
	}
}

// checkLive: a reader may miss live entries while it is disconnected; it receives
// the others once, in each publisher's order.
func (x *modelReader) checkLive(t *testing.T) {
	last := map[string]int{}
	for _, id := range x.live {
		var n int
		publisher, number, _ := strings.Cut(id, "-")
		if _, err := fmt.Sscan(number, &n); err != nil {
			t.Fatal(err)
		}
		if before, ok := last[publisher]; ok && n <= before {
			t.Errorf("%s came behind %s-%d", id, publisher, before)
		}
		last[publisher] = n
	}
}

// naiveLog computes deliveries directly from the specification.
type naiveLog struct {
	entries  []*journal.Entry
	everyone bool
	byID     map[protocol.ID]*journal.Entry
}

func readModel(t *testing.T, j journal.Journal, everyone bool) *naiveLog {
	t.Helper()
	l := &naiveLog{everyone: everyone, byID: make(map[protocol.ID]*journal.Entry)}
	for e, err := range j.Range(t.Context(), "lab", journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		l.entries = append(l.entries, e)
		l.byID[e.Envelope.ID] = e
	}
	return l
}

func (l *naiveLog) expected(x *modelReader) []protocol.Seq {
	var list []protocol.Seq
	for _, e := range l.entries {
		if e.Envelope.Seq > x.start && l.sees(x.options, e) {
			list = append(list, e.Envelope.Seq)
		}
	}
	return list
}

// sees implements sections 1 and 6.
func (l *naiveLog) sees(o space.JoinOptions, e *journal.Entry) bool {
	env := &e.Envelope
	if o.NoEcho && env.From == o.ID {
		return false
	}
	named := slices.Contains(env.To, o.ID)
	if !l.everyone && len(env.To) > 0 && !named && env.From != o.ID && o.ID != "seer" && !l.thread(env)[o.ID] && !l.ownCall(env) {
		return false
	}
	if !o.Observe && (named || strings.HasPrefix(string(env.Kind), "mcp.")) {
		return true
	}
	return passes(&o.Filter, env)
}

// ownCall reports whether a request is addressed to its sender alone and
// explained by a public thought of the sender.
func (l *naiveLog) ownCall(env *protocol.Envelope) bool {
	if env.Kind != protocol.KindMCPRequest || len(env.To) != 1 || env.To[0] != env.From {
		return false
	}
	for _, id := range env.Correlation.IDs {
		thought := l.byID[id]
		if thought != nil && thought.Envelope.Seq < env.Seq && thought.Envelope.Kind == protocol.KindReasoningThought &&
			thought.Envelope.From == env.From && len(thought.Envelope.To) == 0 {
			return true
		}
	}
	return false
}

// thread returns the senders of the envelopes that an envelope correlates to.
// Only earlier entries of the log count.
func (l *naiveLog) thread(env *protocol.Envelope) map[protocol.ParticipantID]bool {
	senders := make(map[protocol.ParticipantID]bool)
	for _, id := range env.Correlation.IDs {
		if parent := l.byID[id]; parent != nil && parent.Envelope.Seq < env.Seq {
			senders[parent.Envelope.From] = true
			for who := range l.thread(&parent.Envelope) {
				senders[who] = true
			}
		}
	}
	return senders
}

// passes implements the table of section 6.
func passes(f *protocol.Filter, env *protocol.Envelope) bool {
	var here []string
	if env.Context != "" {
		here = strings.Split(string(env.Context), "/")
	}
	below := func(prefix string) (depth int, within bool) {
		if prefix == "" {
			return len(here), true
		}
		segments := strings.Split(prefix, "/")
		within = len(here) >= len(segments) && slices.Equal(here[:len(segments)], segments)
		return len(here) - len(segments), within
	}
	for _, p := range f.ExcludeContexts {
		if _, within := below(p); within && (p != "" || len(here) == 0) {
			return false
		}
	}
	included := len(f.Contexts) == 0 && (f.Depth == nil || len(here) <= *f.Depth)
	for _, p := range f.Contexts {
		depth, within := below(p)
		switch {
		case !within:
		case f.Depth != nil:
			included = included || depth <= *f.Depth
		case p == "":
			included = included || len(here) == 0
		default:
			included = true
		}
	}
	kind := len(f.Kinds) == 0
	for _, p := range f.Kinds {
		switch p {
		case "reasoning/*":
			kind = kind || strings.HasPrefix(string(env.Kind), "reasoning.")
		case "reasoning/step":
			kind = kind || env.Kind == "reasoning.thought" || env.Kind == "reasoning.observation"
		case "x.*":
			kind = kind || env.Kind == "x.app"
		default:
			kind = kind || string(env.Kind) == p
		}
	}
	if f.ConclusionsOnly && len(here) > 0 && env.Kind != "reasoning.start" && env.Kind != "reasoning.conclusion" {
		return false
	}
	return included && kind && (len(f.From) == 0 || slices.Contains(f.From, env.From))
}
