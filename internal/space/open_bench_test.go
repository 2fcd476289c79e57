package space_test

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

var long = flag.Bool("long", false, "benchmarks also measure a million entries")

// BenchmarkOpen measures the opening of a space: with so many envelopes, and with so
// many state entries in addition to 1,000 envelopes, with and without a snapshot of the
// state. Obsolete entries are half invitations and half grants that have expired; past
// participants were invited once each; live grants are those of so many participants.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 300_000} {
		b.Run(fmt.Sprintf("%d envelopes", n), func(b *testing.B) { benchmarkOpen(b, n, 0, obsolete, false) })
	}
	sizes := []int{1_000, 10_000, 100_000}
	if *long {
		sizes = append(sizes, 1_000_000)
	}
	for _, kind := range []struct {
		name  string
		draft func(int) journal.Draft
	}{{"obsolete", obsolete}, {"past participants", pastParticipant}, {"live grants", liveGrant}} {
		for _, n := range sizes {
			for _, snapshot := range []string{"no snapshot", "snapshot"} {
				b.Run(fmt.Sprintf("%d %s/%s", n, kind.name, snapshot), func(b *testing.B) {
					benchmarkOpen(b, 1_000, n, kind.draft, snapshot == "snapshot")
				})
			}
		}
	}
}

func benchmarkOpen(b *testing.B, envelopes, state int, draft func(int) journal.Draft, snapshot bool) {
	log, err := pebblejournal.Open(pebblejournal.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	fill(b, log, envelopes, envelopeOf)
	fill(b, log, state, draft)
	all, err := capability.ParseJSON([]byte(`"*"`))
	if err != nil {
		b.Fatal(err)
	}
	cfg := &authority.Config{Name: "lab", Participants: map[protocol.ParticipantID]authority.ParticipantConfig{"alice": {Capabilities: []*capability.Capability{all}}}}
	open := func() *space.Hub {
		hub := space.NewHub(space.Services{
			Journal: log, Validate: schemas.Payload, NewToken: func() (string, [32]byte) { return "x", [32]byte{1} },
			NewID: func() protocol.ID { return "made" },
		}, func(string) (*authority.Config, bool) { return cfg, true })
		if _, err := hub.Space(b.Context(), "lab"); err != nil {
			b.Fatal(err)
		}
		return hub
	}
	if snapshot {
		ended, cancel := context.WithCancel(b.Context())
		cancel()
		open().SaveSnapshots(ended, time.Hour)
	}
	began := testkit.CPUTime(b)
	for b.Loop() {
		open()
	}
	b.ReportMetric(float64((testkit.CPUTime(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func fill(b *testing.B, log journal.Journal, n int, draft func(int) journal.Draft) {
	b.Helper()
	const step = 1000
	for at := 0; at < n; at += step {
		var drafts []journal.Draft
		for i := at; i < min(at+step, n); i++ {
			drafts = append(drafts, draft(i))
		}
		for _, r := range log.Append(context.Background(), "lab", drafts) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
}

var longAgo = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func envelopeOf(i int) journal.Draft {
	return journal.Draft{Envelope: protocol.Envelope{
		ID: protocol.ID(fmt.Sprint("e", i)), From: "alice", TS: longAgo, Kind: protocol.KindChat,
		Payload: fmt.Appendf(nil, `{"message":"message %d, of about the length that messages have in such a space"}`, i),
	}}
}

// obsolete drafts grants and invitations that end after a second, one each minute.
func obsolete(i int) journal.Draft {
	d := pastParticipant(i)
	d.Envelope.Payload = []byte(`{"participant_id":"bob","initial_capabilities":["chat"],"ttl_seconds":1}`)
	if i%2 == 0 {
		d.Private = nil
		d.Envelope.Kind = protocol.KindCapabilityGrant
		d.Envelope.Payload = []byte(`{"recipient":"bob","capabilities":["chat"],"ttl_seconds":1}`)
	}
	return d
}

func pastParticipant(i int) journal.Draft {
	d := liveGrant(i)
	d.Envelope.Kind = protocol.KindSpaceInvite
	d.Envelope.Payload = fmt.Appendf(nil, `{"participant_id":"p%d","initial_capabilities":["chat"],"ttl_seconds":1}`, i)
	var hash [32]byte
	copy(hash[:], fmt.Sprintf("%032d", i))
	d.Private = []byte(hex.EncodeToString(hash[:]))
	return d
}

func liveGrant(i int) journal.Draft {
	return journal.Draft{State: true, CheckedAtStateSeq: 1 << 60, Envelope: protocol.Envelope{
		ID: protocol.ID(fmt.Sprint("s", i)), From: "alice", TS: longAgo.Add(time.Duration(i) * time.Minute), Kind: protocol.KindCapabilityGrant,
		Payload: fmt.Appendf(nil, `{"recipient":"p%d","capabilities":["x.tool%d"]}`, i, i),
	}}
}
