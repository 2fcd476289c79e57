package space_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// BenchmarkOpen measures the opening of a space: with so many envelopes, and with so
// many state entries in addition to 1,000 envelopes, half of them expired invitations and half
// grants that have expired.
func BenchmarkOpen(b *testing.B) {
	for _, test := range []struct{ envelopes, state int }{
		{1_000, 0}, {10_000, 0}, {100_000, 0}, {300_000, 0}, {1_000, 1_000}, {1_000, 10_000}, {1_000, 100_000},
	} {
		name := fmt.Sprintf("%d envelopes", test.envelopes)
		if test.state > 0 {
			name = fmt.Sprintf("%d state entries", test.state)
		}
		b.Run(name, func(b *testing.B) {
			log, err := pebblejournal.Open(pebblejournal.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = log.Close() }()
			fill(b, log, test.envelopes, envelopeOf)
			fill(b, log, test.state, stateOf)
			all, err := capability.ParseJSON([]byte(`"*"`))
			if err != nil {
				b.Fatal(err)
			}
			cfg := &authority.Config{Name: "lab", Participants: map[protocol.ParticipantID]authority.ParticipantConfig{"alice": {Capabilities: []*capability.Capability{all}}}}
			began := cpuTime(b)
			for b.Loop() {
				hub := space.NewHub(space.Services{
					Journal: log, Validate: schemas.Payload, NewToken: func() (string, [32]byte) { return "x", [32]byte{1} },
					NewID: func() protocol.ID { return "made" },
				}, func(string) (*authority.Config, bool) { return cfg, true })
				if _, err := hub.Space(b.Context(), "lab"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpuTime is the time that this process has taken from the processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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

func stateOf(i int) journal.Draft {
	d := journal.Draft{State: true, CheckedAtStateSeq: 1 << 60, Envelope: protocol.Envelope{
		ID: protocol.ID(fmt.Sprint("s", i)), From: "alice", TS: longAgo.Add(time.Duration(i) * time.Millisecond), Kind: protocol.KindCapabilityGrant,
		Payload: fmt.Appendf(nil, `{"recipient":"p%d","capabilities":["chat"],"expires_at":"2026-02-01T00:00:00Z"}`, i),
	}}
	if i%2 == 0 {
		d.Envelope.Kind = protocol.KindSpaceInvite
		d.Envelope.Payload = fmt.Appendf(nil, `{"participant_id":"p%d","initial_capabilities":["chat"],"expires_at":"2026-02-01T00:00:00Z"}`, i)
		var hash [32]byte
		copy(hash[:], fmt.Sprintf("%032d", i))
		d.Private = []byte(hex.EncodeToString(hash[:]))
	}
	return d
}
