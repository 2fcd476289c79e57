package command

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// A proposal that nobody decided on in time reads the same before and after its proposer has
// withdrawn it for that.
func TestSettled_Expired(t *testing.T) {
	for name, by := range map[string]*api.Settlement{"by its time": nil, "withdrawn": {ID: "w", Seq: 7, From: "planner", Reason: "timeout"}} {
		t.Run(name, func(t *testing.T) {
			p := &api.Proposal{State: "expired", SettledBy: by}
			p.Envelope.Envelope = protocol.Envelope{Payload: []byte(`{"method":"tools/call","expires_at":"2026-11-20T10:00:00Z"}`)}
			if got := settled(t.Context(), nil, p); !strings.HasPrefix(got, "not decided before it expired at 2026-11-") {
				t.Error(got)
			}
		})
	}
}

// A late rejection is shown as one.
func TestAuditOutcome_Late(t *testing.T) {
	x := &api.CallDecision{Outcome: "rejected", Reason: "policy", Decided: api.DecidedBy{By: "participant", Participant: "alice", When: "late"}}
	if got := auditOutcome(x); got != "rejected by alice late (policy)" {
		t.Error(got)
	}
}
