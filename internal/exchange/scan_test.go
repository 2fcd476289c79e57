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

// TestScan_AgreesWithSettles compares a scan of random logs with Settles of each later
// envelope: of the decisions the first one wins, also a late one, and then of the ends of its context.
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
			var decided bool
			for _, e := range log[i+1:] {
				o := Settles(p, e)
				if o != Pending && (want == Pending || IsDecision(e.Kind) && !decided) {
					want, decided = o, IsDecision(e.Kind)
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

// A rejection is the outcome after the proposal has expired too, at its time or with its context.
func TestScan_LateRejection(t *testing.T) {
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &protocol.Envelope{
		ID: "p", Seq: 1, Kind: protocol.KindMCPProposal, From: "agent", Context: "c", TS: end.Add(-time.Hour),
		Payload: []byte(`{"method":"tools/call","expires_at":"` + end.Format(time.RFC3339) + `"}`),
	}
	closes := &protocol.Envelope{ID: "x", Seq: 2, Kind: protocol.KindReasoningConclusion, From: "agent", Context: "c", TS: end.Add(-time.Minute), Payload: []byte(`{}`)}
	rejects := &protocol.Envelope{ID: "r", Seq: 3, Kind: protocol.KindMCPReject, From: "bob", TS: end.Add(time.Minute), Correlation: protocol.CorrelateTo("p"), Payload: []byte(`{}`)}
	for name, c := range map[string]struct {
		log  []*protocol.Envelope
		want Outcome
		by   protocol.ID
	}{
		"nobody":                   {nil, Expired, ""},
		"its context ends":         {[]*protocol.Envelope{closes}, Expired, "x"},
		"rejected after its time":  {[]*protocol.Envelope{rejects}, Rejected, "r"},
		"rejected after both ends": {[]*protocol.Envelope{rejects, closes}, Rejected, "r"},
	} {
		t.Run(name, func(t *testing.T) {
			scan := NewProposalScan()
			for _, e := range c.log {
				scan.Add(e)
			}
			how, by := scan.Outcome(p, end.Add(time.Hour))
			if by == nil {
				by = &Settlement{}
			}
			if how != c.want || by.ID != c.by {
				t.Errorf("%s by %s, want %s by %s", how, by.ID, c.want, c.by)
			}
		})
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
