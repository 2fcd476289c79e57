package space_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// room is a space on its own hub, over a log in memory.
type room struct {
	*space.Space
	t   testing.TB
	hub *space.Hub
	log journal.Journal
}

// rights are the participants of a room, with the kinds that each may send.
type rights map[protocol.ParticipantID][]string

func (r rights) config(t testing.TB) *authority.Config {
	t.Helper()
	cfg := &authority.Config{Name: "lab", Participants: make(map[protocol.ParticipantID]authority.ParticipantConfig)}
	for id, kinds := range r {
		var p authority.ParticipantConfig
		for _, k := range kinds {
			c, err := capability.ParseJSON([]byte(strconv.Quote(k)))
			if err != nil {
				t.Fatal(err)
			}
			p.Capabilities = append(p.Capabilities, c)
		}
		cfg.Participants[id] = p
	}
	return cfg
}

// open opens a room; change may replace services first.
func open(t testing.TB, who rights, change func(*space.Services)) *room {
	t.Helper()
	return openWith(t, who.config(t), change)
}

func openWith(t testing.TB, cfg *authority.Config, change func(*space.Services)) *room {
	t.Helper()
	services := space.Services{Validate: schemas.Payload, NewID: ids(), NewToken: tokens(), Journal: journal.NewMemory(journal.MemoryOptions{})}
	if change != nil {
		change(&services)
	}
	r := &room{t: t, log: services.Journal}
	r.hub = space.NewHub(services, func(name string) (*authority.Config, bool) { return cfg, name == cfg.Name })
	var err error
	r.Space, err = r.hub.Space(context.Background(), cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var made atomic.Int64

// ids returns a generator of unique ids.
func ids() func() protocol.ID {
	return func() protocol.ID { return protocol.ID(fmt.Sprint("made-", made.Add(1))) }
}

func tokens() func() (string, [32]byte) {
	var mu sync.Mutex
	n := byte(0)
	return func() (string, [32]byte) {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprint("token-", n), [32]byte{n}
	}
}

// say publishes frames together, as who.
func (r *room) say(who protocol.ParticipantID, frames ...string) []admission.Result {
	sender, err := r.Sender(context.Background(), ring.Viewer{ID: who})
	if err != nil {
		return []admission.Result{{Err: protocol.AsError(err)}}
	}
	return publish(sender, protocol.DialectMEUP01, frames)
}

func publish(from *admission.Sender, d protocol.Dialect, frames []string) []admission.Result {
	list := make([]admission.Decoded, len(frames))
	for i, f := range frames {
		in, err := protocol.Decode([]byte(f), d, protocol.DefaultContextDepth)
		list[i] = admission.Decoded{In: in, Err: err}
	}
	return from.Publish(context.Background(), list)
}

// must publishes a frame that must be admitted.
func (r *room) must(who protocol.ParticipantID, f string) protocol.Seq {
	r.t.Helper()
	o := r.say(who, f)[0]
	if o.Err != nil {
		r.t.Fatalf("%s: %v", f, o.Err)
	}
	return o.Seq
}

// member is a connection that records the frames that it receives.
type member struct {
	*space.Member
	t      testing.TB
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced on every frame
	got     []*protocol.Envelope
	own     []ownFrame // for this member alone
	closing *space.Closing
}

type ownFrame struct {
	Kind        string          `json:"kind"`
	Correlation string          `json:"correlationId"`
	Payload     json.RawMessage `json:"payload"`
}

func (r *room) join(o space.JoinOptions) *member {
	r.t.Helper()
	m, refused := r.tryJoin(o)
	if refused != nil {
		r.t.Fatal(refused)
	}
	return m
}

func (r *room) tryJoin(o space.JoinOptions) (*member, *protocol.Error) {
	joined, refused := r.Join(context.Background(), o)
	if refused != nil {
		return nil, protocol.AsError(refused)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{Member: joined, t: r.t, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
	go m.read(ctx) // ends with leave, or with the connection
	return m, nil
}

func (m *member) read(ctx context.Context) {
	defer close(m.done)
	defer m.Space().Leave(m.Member)
	defer m.MarkClosed()
	var d space.Delivery
	for {
		if err := m.Next(ctx, &d); err != nil {
			return
		}
		m.mu.Lock()
		for content, ping := range ring.SplitFrames(d.Control) {
			var f ownFrame
			if err := json.Unmarshal(content, &f); err != nil && !ping {
				m.t.Errorf("frame %s: %v", content, err)
			}
			m.own = append(m.own, f)
		}
		for _, e := range d.Entries {
			m.got = append(m.got, e.Envelope)
		}
		m.closing = d.Close
		close(m.changed)
		m.changed = make(chan struct{})
		m.mu.Unlock()
		if d.Close != nil {
			return
		}
	}
}

// leave ends the connection and waits for its end.
func (m *member) leave() {
	m.cancel()
	<-m.done
}

var errLate = errors.New("it did not come in time")

// await waits until the received frames satisfy until, or the connection ends.
func (m *member) await(until func() bool) error {
	late := time.After(testkit.Patience)
	for {
		m.mu.Lock()
		ok, changed := until(), m.changed
		m.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-m.done:
			m.mu.Lock()
			defer m.mu.Unlock()
			if until() {
				return nil
			}
			return errors.New("the connection has ended")
		case <-late:
			return errLate
		}
	}
}

// gets waits for the envelope with this id.
func (m *member) gets(id protocol.ID) {
	m.t.Helper()
	if err := m.await(func() bool { return m.find(id) }); err != nil {
		m.t.Fatalf("%s waits for %s: %v; has %v", m.ID, id, err, m.ids())
	}
}

// find reports whether an envelope was received. Called with mu held.
func (m *member) find(id protocol.ID) bool {
	for _, e := range m.got {
		if e.ID == id {
			return true
		}
	}
	return false
}

func (m *member) ids() []protocol.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []protocol.ID
	for _, e := range m.got {
		if e.Kind != protocol.KindSystemPresence {
			list = append(list, e.ID)
		}
	}
	return list
}

// frames returns the control frames of a kind.
func (m *member) frames(kind string) []ownFrame {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []ownFrame
	for _, f := range m.own {
		if f.Kind == kind {
			list = append(list, f)
		}
	}
	return list
}

func chat(id string) string {
	return fmt.Sprintf(`{"id": %q, "kind": "chat", "payload": {"message": "x"}}`, id)
}

func welcomeSeq(t testing.TB, f ownFrame) protocol.Seq {
	t.Helper()
	var w protocol.Welcome
	if err := json.Unmarshal(f.Payload, &w); err != nil {
		t.Fatal(err)
	}
	return w.Space.Seq
}

func presenceAbout(t testing.TB, e *protocol.Envelope) protocol.ParticipantID {
	t.Helper()
	var p protocol.Presence
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		t.Fatal(err)
	}
	return p.Participant.ID
}

func presenceOf(t testing.TB, e *protocol.Envelope) string {
	t.Helper()
	var p protocol.Presence
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		t.Fatal(err)
	}
	return p.Event
}

// count returns the number of entries of a page.
func count(t *testing.T, p *space.Page) (n int) {
	t.Helper()
	for _, refused := range p.Entries(t.Context()) {
		if refused != nil {
			t.Fatal(refused)
		}
		n++
	}
	return n
}
