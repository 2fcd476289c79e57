package httpapi

import (
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// The log of an earlier version has no reasons.
func TestDecisions_WithoutReason(t *testing.T) {
	entry := func(kind protocol.Kind, settles protocol.ID, payload string) *ring.Entry {
		return ring.NewEntry(&journal.Entry{Settles: settles, Envelope: protocol.Envelope{
			ID: "e", Seq: 7, From: "alice", To: []protocol.ParticipantID{"files"}, Kind: kind, Payload: []byte(payload),
		}})
	}
	const call = `{"method":"tools/call","params":{"name":"wipe"}}`
	proposal := entry(protocol.KindMCPProposal, "", call)
	d := &decisionScan{caller: caller{id: "carol"}}
	for name, c := range map[string]struct {
		got     *api.CallDecision
		want    api.DecidedBy
		outcome string
	}{
		"at once":  {d.made(entry(protocol.KindMCPRequest, "", call), nil), api.DecidedBy{By: "unknown", When: "at_once"}, "made"},
		"approved": {d.made(entry(protocol.KindMCPRequest, "p", call), proposal), api.DecidedBy{By: "participant", Participant: "alice", When: "in_time"}, "made"},
		"rejected": {d.dropped(entry(protocol.KindMCPReject, "p", `{"reason":"unsafe"}`), proposal), api.DecidedBy{By: "participant", Participant: "alice", When: "in_time"}, "rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.got.Decided != c.want || c.got.Outcome != c.outcome {
				t.Errorf("%+v", c.got)
			}
		})
	}
}
