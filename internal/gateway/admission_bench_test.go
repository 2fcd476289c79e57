package gateway

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// discardJournal is a journal that discards every entry at once, so that the
// benchmarks measure the gateway alone.
type discardJournal struct{ seq protocol.Seq }

func (n *discardJournal) Append(_ context.Context, _ string, drafts []journal.Draft) []journal.Result {
	out := make([]journal.Result, len(drafts))
	for i := range drafts {
		n.seq++
		out[i].Seq = n.seq
	}
	return out
}

func (*discardJournal) Range(context.Context, string, journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(func(*journal.Entry, error) bool) {}
}

func (*discardJournal) Lookup(context.Context, string, protocol.ID) (*journal.Entry, error) {
	return nil, journal.ErrNotFound
}

func (*discardJournal) Bounds(context.Context, string) (oldest, newest protocol.Seq, err error) {
	return 0, 0, nil
}
func (*discardJournal) Barrier(context.Context, string) error         { return nil }
func (*discardJournal) Spaces(context.Context) ([]string, error)      { return nil, nil }
func (*discardJournal) LogID(context.Context, string) (string, error) { return "none", nil }
func (*discardJournal) Snapshot(string) (journal.Snapshot, error)     { return journal.Snapshot{}, nil }
func (*discardJournal) SaveSnapshot(string, journal.Snapshot) error   { return nil }
func (*discardJournal) Base(string) (journal.Base, error)             { return journal.Base{}, nil }
func (*discardJournal) Follow(journal.Sink, journal.Replaced)         {}
func (*discardJournal) Ready() error                                  { return nil }
func (*discardJournal) Close() error                                  { return nil }

// thought returns a reasoning.thought of 400 bytes with an id of its own.
func thought(n int) []byte {
	return fmt.Appendf(nil, `{"protocol":"meup/v0.1","id":"01a1fc65-a637-74d6-8e9d-%012d","kind":"reasoning.thought","context":"01a1fc65-a630-7ae0-9369-e0ed48999a86","payload":{"message":"The listing shows four files; the one called deployment.md is the most likely to say how a release is rolled back, so I read its first two hundred lines before the others.","tool_name":"read_text_file","parallel_group":0,"confidence":0.82}}`, n)
}

// readCall returns an mcp.request for a tool with an id of its own.
func readCall(n int) []byte {
	return fmt.Appendf(nil, `{"protocol":"meup/v0.1","id":"01a1fc65-a637-74d6-8e9e-%012d","kind":"mcp.request","to":["planner"],"context":"01a1fc65-a630-7ae0-9369-e0ed48999a86","payload":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"docs/deployment.md","head":200}}}}`, n, n)
}

func benchSender(b *testing.B) *admission.Sender {
	b.Helper()
	m := NewMetrics(MetricsOptions{})
	redactor, err := newRedactor(config.Default(), m)
	if err != nil {
		b.Fatal(err)
	}
	var caps []*capability.Capability
	for _, text := range []string{
		`"chat"`, `"reasoning/*"`, `"mcp.response"`,
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"read_*"}}}`,
		`{"kind":"mcp.request","payload":{"params":{"name":"/^delete_/"}},"deny":true}`,
	} {
		c, err := capability.ParseJSON([]byte(text))
		if err != nil {
			b.Fatal(err)
		}
		caps = append(caps, c)
	}
	limits := limit.Defaults()
	limits.Rate, limits.Burst, limits.BytesPerSecond = 1e9, 1e9, 1<<40
	limits.Kinds[0].Rate, limits.Kinds[0].Burst = 1e9, 1e9
	cfg := &authority.Config{Name: "lab", Participants: map[protocol.ParticipantID]authority.ParticipantConfig{
		"planner": participantConfig(caps, limits),
	}}
	hub := space.NewHub(space.Services{
		Journal: &discardJournal{}, Validate: schemas.Payload, Safety: redactor, Observer: m, NewID: newID, NewToken: access.NewToken,
	}, func(string) (*authority.Config, bool) { return cfg, true })
	s, err := hub.Space(b.Context(), "lab")
	if err != nil {
		b.Fatal(err)
	}
	sender, refused := s.Sender(b.Context(), ring.Viewer{ID: "planner"})
	if refused != nil {
		b.Fatal(refused)
	}
	return sender
}

// BenchmarkAdmission measures the admission of an envelope without the journal:
// decode, identity, schema, limits, capabilities, safety.
func BenchmarkAdmission(b *testing.B) {
	sender := benchSender(b)
	for name, frame := range map[string]func(n int) []byte{"thought 400 B": thought, "call": readCall} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame(0))))
			for i := range b.N {
				in, err := protocol.Decode(frame(i), protocol.DialectMEUP01, 5)
				if r := sender.Publish(b.Context(), []admission.Decoded{{In: in, Err: err}})[0]; r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
}

// BenchmarkStages measures the stages of an admission one by one.
func BenchmarkStages(b *testing.B) {
	frame := thought(1)
	in, refused := protocol.Decode(frame, protocol.DialectMEUP01, 5)
	if refused != nil {
		b.Fatal(refused)
	}
	redactor, err := newRedactor(config.Default(), NewMetrics(MetricsOptions{}))
	if err != nil {
		b.Fatal(err)
	}
	stage := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				f()
			}
		})
	}
	stage("decode", func() { _, _ = protocol.Decode(frame, protocol.DialectMEUP01, 5) })
	stage("schema", func() { _ = schemas.Payload(in.Envelope.Kind, in.Payload) })
	stage("safety", func() { _, _ = redactor.Envelope(b.Context(), in.Envelope.Kind, in.Payload, protocol.Value{}) })
	e := in.Envelope
	e.ID, e.From, e.Seq = "x", "planner", 7
	var buf []byte
	stage("encode", func() { buf = protocol.AppendEnvelope(buf[:0], protocol.DialectMEUP01, &e) })
	entry := &journal.Entry{Envelope: e}
	stage("journal encode", func() { buf = journal.AppendEntry(buf[:0], entry) })
	stage("journal decode", func() { _, _ = journal.DecodeEntry(buf) })
}
