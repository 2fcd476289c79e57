package space_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// failing is a log that counts appends and can reject them.
type failing struct {
	journal.Journal
	fails   atomic.Bool
	appends atomic.Int64
}

func (j *failing) Append(ctx context.Context, name string, drafts []journal.Draft) []journal.Result {
	j.appends.Add(1)
	if !j.fails.Load() {
		return j.Journal.Append(ctx, name, drafts)
	}
	results := make([]journal.Result, len(drafts))
	for i := range results {
		results[i].Err = journal.ErrUnavailable
	}
	return results
}

func TestStreams_EndWithTheirOwner(t *testing.T) {
	const streams = 1000
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("log fails ", fails), func(t *testing.T) {
			log := &failing{Journal: journal.NewMemory(journal.MemoryOptions{})}
			r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, func(s *space.Services) { s.Journal = log })
			bob := r.join(space.JoinOptions{ID: "bob"})
			var frames []string
			for i := range streams {
				frames = append(frames, fmt.Sprintf(`{"kind": "stream.open", "payload": {"stream_id": "s%d"}}`, i))
			}
			for _, o := range r.say("bob", frames...) {
				if o.Err != nil {
					t.Fatal(o.Err)
				}
			}
			write := func(i int) *protocol.Error {
				return r.say("alice", fmt.Sprintf(`{"kind": "stream.data", "payload": {"stream_id": "s%d", "data": "x"}}`, i))[0].Err
			}
			if code(write(0)) != protocol.CodeIdentityMismatch {
				t.Fatal("the stream is not bob's")
			}
			log.fails.Store(fails)
			before, head := log.appends.Load(), r.Head()
			bob.leave()
			if n := log.appends.Load() - before; n > 10 {
				t.Errorf("%d appends for %d streams", n, streams)
			}
			if closed := int(r.Head() - head); !fails && closed != streams {
				t.Errorf("%d streams were closed in the log", closed)
			}
			log.fails.Store(false)
			for i := range streams {
				if err := write(i); err != nil {
					t.Fatalf("stream %d is still owned: %v", i, err)
				}
			}
		})
	}
}

func TestReservedNames_InAnyCase(t *testing.T) {
	r := open(t, rights{"alice": {"*"}}, nil)
	for _, kind := range []string{"system.presence", "SYSTEM.x", "System.welcome", "sYstem", "system/x", "SYSTEM/x", "space.Invite-ACK", "stream/Write-granted"} {
		if o := r.say("alice", fmt.Sprintf(`{"kind": %q}`, kind))[0]; code(o.Err) != protocol.CodeReservedKind {
			t.Errorf("kind %s: %v", kind, o.Err)
		}
	}
	for _, kind := range []string{"systems.x", "x.system", "sys"} {
		if o := r.say("alice", fmt.Sprintf(`{"kind": %q}`, kind))[0]; o.Err != nil {
			t.Errorf("kind %s: %v", kind, o.Err)
		}
	}
	for _, id := range []string{"system:gateway", "System:gateway", "SYSTEM:x"} {
		f := fmt.Sprintf(`{"kind": "space.invite", "payload": {"participant_id": %q}}`, id)
		if o := r.say("alice", f)[0]; code(o.Err) != protocol.CodeInvalidPayload {
			t.Errorf("invite %s: %v", id, o.Err)
		}
	}
}

func TestStreams_Bounds(t *testing.T) {
	testkit.OneGoroutine(t)
	const each, all = 1024, 4096
	who := rights{}
	for _, id := range []protocol.ParticipantID{"a", "b", "c", "d", "e"} {
		who[id] = []string{"*"}
	}
	r := open(t, who, nil)
	opening := func(id protocol.ParticipantID, n int, more string) (refused int, last *protocol.Error) {
		var frames []string
		for i := range n {
			frames = append(frames, fmt.Sprintf(`{"kind": "stream.open", "payload": {"stream_id": "%s%s%d"}}`, id, more, i))
		}
		for _, o := range r.say(id, frames...) {
			if o.Err != nil {
				refused, last = refused+1, o.Err
			}
		}
		return refused, last
	}
	for _, id := range []protocol.ParticipantID{"a", "b", "c", "d"} {
		if refused, err := opening(id, each+1, ""); refused != 1 || code(err) != protocol.CodeRateLimited || err.Limit != "open_streams" {
			t.Fatalf("%d streams of %s were refused: %v", refused, id, err)
		}
	}
	if refused, _ := opening("e", 3, ""); refused != 3 {
		t.Errorf("%d of 3 streams beyond %d were refused", refused, all)
	}
	r.must("a", `{"kind": "stream.close", "payload": {"stream_id": "a0"}}`)
	if refused, _ := opening("e", 3, ""); refused != 2 {
		t.Errorf("%d of 3 streams were refused when one was closed", refused)
	}
	long := fmt.Sprintf(`{"kind": "stream.open", "payload": {"stream_id": %q}}`, strings.Repeat("x", 257))
	if o := r.say("e", long)[0]; code(o.Err) != protocol.CodeInvalidPayload {
		t.Errorf("a long id: %v", o.Err)
	}
}

// TestStreams_DetailsAreBounded: the details that a welcome repeats stay below a
// megabyte and a half.
func TestStreams_DetailsAreBounded(t *testing.T) {
	r := open(t, rights{"mew": {"*"}, "bob": {"*"}}, nil)
	mew := r.join(space.JoinOptions{ID: "mew", Dialect: protocol.DialectMEW04})
	defer mew.leave()
	large := strings.Repeat("x", 100_000)
	refused := 0
	for range 4 {
		if err := mew.say(`{"kind": "stream/request", "payload": {"direction": "upload", "description": "` + large + `"}}`)[0].Err; err != nil {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of 4 requests of 100 kB were refused", refused)
	}
	for i := range 20 { // opened all the same, and listed without the description
		r.must("bob", fmt.Sprintf(`{"kind": "stream.open", "payload": {"stream_id": "b%d", "description": "%s"}}`, i, large))
	}
	late := r.join(space.JoinOptions{ID: "bob", Dialect: protocol.DialectMEW04})
	defer late.leave()
	streams, size := late.activeStreams()
	if len(streams) != 22 || size > 1<<20+1<<19 {
		t.Errorf("a welcome with %d streams in %d bytes", len(streams), size)
	}
}

func TestStreams_OrderWithinBurst(t *testing.T) {
	r := open(t, rights{"mew": {"*"}, "bob": {"*"}}, nil)
	mew := r.join(space.JoinOptions{ID: "mew", Dialect: protocol.DialectMEW04})
	defer mew.leave()
	bob := r.join(space.JoinOptions{ID: "bob"})
	defer bob.leave()
	for _, o := range mew.say(
		`{"id": "1", "kind": "stream/open", "payload": {"stream_id": "s"}}`, `#s#one`,
		`{"id": "2", "kind": "stream/transfer-ownership", "payload": {"stream_id": "s", "new_owner": "bob"}}`,
	) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	if err := mew.say(`#s#two`)[0].Err; code(err) != protocol.CodeUnauthorizedStreamWrite {
		t.Error("the owner before:", err)
	}
	outcomes := mew.say(
		`{"id": "3", "kind": "stream/open", "payload": {"stream_id": "t"}}`,
		`{"id": "4", "kind": "stream/transfer-ownership", "payload": {"stream_id": "t", "new_owner": "bob"}}`, `#t#one`,
		`{"id": "5", "kind": "stream/grant-write", "payload": {"stream_id": "t", "participant_id": "mew"}}`,
		`{"id": "6", "kind": "stream/open", "payload": {"stream_id": "u"}}`,
		`{"id": "7", "kind": "stream/close", "payload": {"stream_id": "u"}}`, `#u#one`,
	)
	want := []protocol.Code{"", "", protocol.CodeUnauthorizedStreamWrite, protocol.CodeUnauthorized, "", "", protocol.CodeUnauthorizedStreamWrite}
	for i, o := range outcomes {
		if code(o.Err) != want[i] {
			t.Errorf("frame %d: %v, not %q", i, o.Err, want[i])
		}
	}
}

// TestStreams_RetriedRequest: a request that is sent again opens no second
// stream.
func TestStreams_RetriedRequest(t *testing.T) {
	r := open(t, rights{"mew": {"*"}}, nil)
	mew := r.join(space.JoinOptions{ID: "mew", Dialect: protocol.DialectMEW04})
	defer mew.leave()
	request := `{"id": "r-1", "ts": "2026-11-22T10:00:00Z", "kind": "stream/request", "payload": {"direction": "upload"}}`
	mew.say(request)
	head := r.Head()
	if o := mew.say(request)[0]; o.Err != nil || r.Head() != head {
		t.Errorf("the retry: %v, and the log grew by %d", o.Err, r.Head()-head)
	}
	again := strings.Replace(request, "10:00", "11:00", 1) // by a restarted client: another request
	if o := mew.say(again)[0]; o.Err != nil || r.Head() != head+2 {
		t.Errorf("the second request: %v, and the log grew by %d", o.Err, r.Head()-head)
	}
}

// TestStreams_UnansweredRequest: a request whose answer the log rejects is
// answered by an error.
func TestStreams_UnansweredRequest(t *testing.T) {
	log := &failing{Journal: journal.NewMemory(journal.MemoryOptions{})}
	r := open(t, rights{"mew": {"*"}}, func(s *space.Services) { s.Journal = &failsAfterOne{failing: log} })
	mew := r.join(space.JoinOptions{ID: "mew", Dialect: protocol.DialectMEW04})
	defer mew.leave()
	if o := mew.say(`{"kind": "stream/request", "payload": {"direction": "upload"}}`)[0]; code(o.Err) != protocol.CodeUnavailable {
		t.Error("the request:", o.Err)
	}
	log.fails.Store(false)
}

// failsAfterOne is a log that rejects all appends after the first.
type failsAfterOne struct{ *failing }

func (j *failsAfterOne) Append(ctx context.Context, name string, drafts []journal.Draft) []journal.Result {
	defer j.fails.Store(true)
	return j.failing.Append(ctx, name, drafts)
}

// gateways is a log that several hubs follow, with the live messages between
// them.
type gateways struct {
	journal.Journal
	mu    sync.Mutex
	sinks []journal.Sink
	hubs  []*space.Hub
}

func (g *gateways) Follow(sink journal.Sink, _ journal.Replaced) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sinks = append(g.sinks, sink)
	if len(g.sinks) > 1 {
		return
	}
	g.Journal.Follow(func(name string, entries []*journal.Entry) {
		g.mu.Lock()
		sinks := slices.Clone(g.sinks)
		g.mu.Unlock()
		for _, s := range sinks {
			s(name, entries)
		}
	}, nil)
}

// gatewayPeers are the other gateways from the view of one of two. It has no
// rosters.
type gatewayPeers struct {
	all   *gateways
	index int
}

func (p *gatewayPeers) other() *space.Hub {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	if len(p.all.hubs) < 2 {
		return nil
	}
	return p.all.hubs[1-p.index]
}

func (p *gatewayPeers) Publish(name string, message []byte) error {
	if h := p.other(); h != nil {
		h.ReceiveLive(name, message)
	}
	return nil
}

func (p *gatewayPeers) SetRoster(string, []space.Connected) {}
func (p *gatewayPeers) Remote(string) []space.Connected     { return nil }

// TestStreams_BetweenGateways: a space that another gateway opens later has the
// streams of the log, and data for a target is delivered there to the target
// alone.
func TestStreams_BetweenGateways(t *testing.T) {
	shared := &gateways{Journal: journal.NewMemory(journal.MemoryOptions{})}
	who := rights{"own": {"*"}, "agg": {"*"}, "bob": {"*"}}
	cfg := who.config(t)
	cfg.Everyone = true
	gateway := func(i int) *room {
		r := openWith(t, cfg, func(s *space.Services) {
			s.Journal, s.Peers = shared, &gatewayPeers{all: shared, index: i}
		})
		shared.mu.Lock()
		shared.hubs = append(shared.hubs, r.hub)
		shared.mu.Unlock()
		return r
	}
	first := gateway(0)
	own := first.join(space.JoinOptions{ID: "own", Dialect: protocol.DialectMEW04})
	defer own.leave()
	request := own.say(`{"kind": "stream/request", "payload": {"direction": "upload", "target": ["agg"]}}`,
		`{"kind": "chat", "payload": {"text": "x"}}`)
	if request[0].Err != nil {
		t.Fatal(request[0].Err)
	}
	second := gateway(1)
	second.hub.SetRemote("lab", []space.Connected{{ID: "own"}})
	agg := second.join(space.JoinOptions{ID: "agg", Dialect: protocol.DialectMEW04})
	bob := second.join(space.JoinOptions{ID: "bob", Dialect: protocol.DialectMEW04})
	defer agg.leave()
	defer bob.leave()
	streams, _ := agg.activeStreams()
	if len(streams) != 1 || streams[0].Owner != "own" || !slices.Equal(streams[0].Target, []string{"agg"}) {
		t.Fatalf("active_streams at the other gateway: %+v", streams)
	}
	id := streams[0].ID
	data := own.say("#" + id + "#for agg")[0]
	if data.Err != nil {
		t.Fatal(data.Err)
	}
	agg.gets(data.ID)
	if err := agg.say("#" + id + "#no")[0].Err; code(err) != protocol.CodeUnauthorizedStreamWrite {
		t.Error("a write without a grant at the other gateway:", err)
	}
	if err := own.say(`{"kind": "stream/grant-write", "payload": {"stream_id": "` + id + `", "participant_id": "agg"}}`)[0].Err; err != nil {
		t.Fatal(err)
	}
	if err := agg.say("#" + id + "#yes")[0].Err; err != nil {
		t.Error("a write with a grant at the other gateway:", err)
	}
	mark := second.must("bob", chat("mark"))
	bob.gets("mark")
	bob.mu.Lock()
	leaked := bob.find(data.ID)
	bob.mu.Unlock()
	if leaked {
		t.Error("data for agg has reached bob, before", mark)
	}
	// The other gateway is lost, and with it the owner.
	second.hub.SetRemote("lab", nil)
	if err := agg.say("#" + id + "#yes")[0].Err; code(err) != protocol.CodeUnauthorizedStreamWrite {
		t.Error("a write after the owner was lost:", err)
	}
}

// say publishes frames together, in the member's dialect.
func (m *member) say(frames ...string) []admission.Result {
	return publish(m.Sender(), m.CurrentDialect(), frames)
}

type activeStream struct {
	ID     string   `json:"stream_id"`
	Owner  string   `json:"owner"`
	Target []string `json:"target"`
}

// activeStreams returns the streams of the member's welcome, and its size.
func (m *member) activeStreams() (list []activeStream, size int) {
	m.t.Helper()
	if err := m.await(func() bool { return len(m.own) > 0 }); err != nil {
		m.t.Fatal(err)
	}
	var w struct {
		ActiveStreams []activeStream `json:"active_streams"`
	}
	payload := m.frames("system/welcome")[0].Payload
	if err := json.Unmarshal(payload, &w); err != nil {
		m.t.Fatal(err)
	}
	return w.ActiveStreams, len(payload)
}
