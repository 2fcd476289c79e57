package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// TestScan_AgreesWithSettles compares a scan of random logs with Settles of each
// later envelope, of which the first one that settles wins.
func TestScan_AgreesWithSettles(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	outcomes := make(map[Outcome]int)
	r := testkit.Rand(t)
	for n := range 300 {
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		var log []*protocol.Envelope
		for i := range 40 {
			e := &protocol.Envelope{
				ID: protocol.ID(fmt.Sprint("e", i)), Seq: protocol.Seq(i + 1), TS: start.Add(time.Duration(i) * time.Minute),
				From: protocol.ParticipantID(pick("ann", "bob", "tool")), Context: protocol.ContextPath(pick("", "c1", "c1/c2", "c3")),
			}
			e.Kind = DecisionKinds[r.IntN(len(DecisionKinds))]
			switch e.Kind {
			case protocol.KindMCPProposal:
				e.Payload = []byte(`{"method":"tools/call","params":{"name":"a"},"participant_id":"tool"` + pick("", `,"expires_at":"2026-03-01T12:10:00Z"`, `,"expires_at":"2026-03-01T14:00:00Z"`) + `}`)
			case protocol.KindMCPRequest:
				e.Payload = []byte(`{"method":"tools/call","params":{"name":"` + pick("a", "b") + `"}}`)
				e.To = []protocol.ParticipantID{"tool", "bob"}[:1+r.IntN(8)/7]
			default:
				e.Payload = []byte(`{"reason":"` + pick("timeout", "unsafe") + `"}`)
			}
			if i > 0 && r.IntN(4) > 0 {
				e.Correlation = protocol.CorrelateTo(protocol.ID(pick(fmt.Sprint("e", r.IntN(i)), "c1", "c2", "c3")))
			}
			log = append(log, e)
		}
		now := start.Add(time.Hour)
		scan := NewProposalScan()
		for i, p := range slices.Backward(log) {
			if p.Kind != protocol.KindMCPProposal {
				scan.Add(p)
				continue
			}
			want := Pending
			for _, e := range log[i+1:] {
				if o := Settles(p, e); o != Pending && !CallOf(p).Expired(e.TS) {
					want = o
					break
				}
			}
			if want == Pending && CallOf(p).Expired(now) {
				want = Expired
			}
			got, by := scan.Outcome(p, now)
			outcomes[got]++
			if got != want {
				t.Fatalf("log %d, %s: %q by %+v, want %q", n, p.ID, got, by, want)
			}
		}
	}
	if len(outcomes) != 5 {
		t.Errorf("%v", outcomes)
	}
}

// What is kept of a reason is bounded, and counted.
func TestProposalScan_LongReasons(t *testing.T) {
	p := &protocol.Envelope{ID: "p", Kind: protocol.KindMCPProposal, From: "agent", Payload: []byte(`{}`)}
	scan := NewProposalScan()
	scan.Add(&protocol.Envelope{
		ID: "r", Kind: protocol.KindMCPReject, From: "bob", Correlation: protocol.CorrelateTo("p"),
		Payload: []byte(`{"reason":"` + strings.Repeat("no ", 1<<18) + `"}`),
	})
	how, by := scan.Outcome(p, time.Now())
	if how != Rejected || len(by.Reason) > maxReason+len("…") || !strings.HasSuffix(by.Reason, "…") {
		t.Errorf("%s: a reason of %d bytes", how, len(by.Reason))
	}
	if scan.Size() < maxReason || scan.Size() > 2*maxReason {
		t.Errorf("%d bytes", scan.Size())
	}
}
