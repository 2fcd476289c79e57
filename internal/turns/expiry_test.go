package turns

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// TestProposal_Expires: from expires_at on, an undecided proposal is shown as
// expired, from the cache too, and a decided one keeps its outcome.
func TestProposal_Expires(t *testing.T) {
	log := new(memoryLog)
	log.add(protocol.Envelope{ID: "q", From: "alice", Kind: protocol.KindChat})
	log.add(protocol.Envelope{ID: "c", From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("q")})
	propose := func(id protocol.ID, expires string) {
		log.add(protocol.Envelope{ID: id, From: "planner", Kind: protocol.KindMCPProposal, Context: "c",
			Payload: []byte(`{"method":"tools/call","params":{"name":"push"}` + expires + `}`)})
	}
	propose("p1", `,"expires_at":"2026-11-20T10:00:00Z"`)
	propose("p2", `,"expires_at":"2026-11-20T11:00:00Z"`)
	propose("p3", "")
	propose("p4", `,"expires_at":"2026-11-20T10:00:00Z"`)
	log.add(protocol.Envelope{From: "bob", Kind: protocol.KindMCPReject, Context: "c", Correlation: protocol.CorrelateTo("p4")})

	var now time.Time
	p := NewTracker(Options{Space: "lab", Reader: log, Clock: func() time.Time { return now }})
	apply(p, log.entries)
	const pending, expired = api.OutcomePending, api.OutcomeExpired
	for _, c := range []struct {
		at   string
		want [4]string
	}{
		{"09:59:59", [4]string{pending, pending, pending, api.OutcomeRejected}},
		{"10:00:00", [4]string{expired, pending, pending, api.OutcomeRejected}},
		{"11:00:00", [4]string{expired, expired, pending, api.OutcomeRejected}},
	} {
		t.Run(c.at, func(t *testing.T) {
			var err error
			now, err = time.Parse(time.DateTime, "2026-11-20 "+c.at)
			if err != nil {
				t.Fatal(err)
			}
			turn, err := p.Turn(t.Context(), "q", 1, Viewer{})
			if err != nil {
				t.Fatal(err)
			}
			var got [4]string
			for i, d := range turn.Reasoning.ToolDecisions {
				got[i] = d.Outcome
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
