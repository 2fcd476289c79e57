package backtest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/protocol"
)

// plainLog makes a log of chats, thoughts and calls on disk, and returns a reader of it.
func plainLog(b *testing.B, n int) journal.Reader {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "log")
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	thought := `{"message":"The listing shows four files; the one called deployment.md is the most likely to say how a release is rolled back.","tool_name":"read_text_file","confidence":0.82}`
	draft := func(i int) journal.Draft {
		e := protocol.Envelope{ID: protocol.ID(fmt.Sprintf("0199f2c4-5b1e-7000-8000-%012d", i)), From: "coder", TS: time.Unix(int64(i), 0).UTC()}
		switch i % 4 {
		case 0:
			e.Kind, e.Payload = protocol.KindChat, []byte(`{"text":"The release notes are in the folder docs, and the tests pass on both machines."}`)
		case 1:
			e.Kind, e.Payload, e.Context = protocol.KindReasoningThought, []byte(thought), "c1"
		case 2:
			e.Kind, e.To, e.Payload = protocol.KindMCPRequest, []protocol.ParticipantID{"files"}, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,`+call+`}`, i, "read_file")
		case 3:
			e.From, e.Kind, e.To = "files", protocol.KindMCPResponse, []protocol.ParticipantID{"coder"}
			e.Correlation = protocol.CorrelateTo(protocol.ID(fmt.Sprintf("0199f2c4-5b1e-7000-8000-%012d", i-1)))
			e.Payload = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"# Deployment\nA release is rolled back with make rollback."}]}}`, i-1)
		}
		return journal.Draft{Envelope: e}
	}
	for i := 0; i < n; {
		var drafts []journal.Draft
		for ; len(drafts) < 1000 && i < n; i++ {
			drafts = append(drafts, draft(i))
		}
		for _, r := range j.Append(context.Background(), "lab", drafts) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	stored, err := pebblejournal.OpenStored(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := stored.Close(); err != nil {
			b.Error(err)
		}
	})
	return stored.Reader()
}

// BenchmarkBacktest decides a log on disk again: under the configuration in force, and
// under one that masks otherwise, so that all texts are inspected.
func BenchmarkBacktest(b *testing.B) {
	const entries = 200_000
	log := plainLog(b, entries)
	current := office().policy(b, safety.Config{})
	other := office().policy(b, safety.Config{MaxText: 1 << 20})
	for name, policy := range map[string]*backtest.Policy{"capabilities": current, "texts": other} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := backtest.Run(context.Background(), backtest.Options{Log: log, Space: "lab", New: policy, Current: current})
				if err != nil || r.Envelopes != entries || r.Different != 0 {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "envelopes/s")
		})
	}
}
