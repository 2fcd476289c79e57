package hooks

import (
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// published are the kinds of the adapter without which something of a session is not in the space.
var published = []protocol.Kind{
	protocol.KindReasoningStart, protocol.KindReasoningThought, protocol.KindMCPResponse, protocol.KindMCPWithdraw, protocol.KindChat,
}

// status returns what becomes of the events of the caller. claims: it claims what its calls need.
func (c Caller) status(claims bool) api.HookStatus {
	out := api.HookStatus{Participant: c.ID, Paused: slices.Contains(c.Space.Paused(), c.ID), Lacks: []protocol.Kind{}}
	out.Makes, out.Leaves = c.Space.MaySendTo(c.ID, protocol.KindMCPRequest, c.ID)
	out.Proposes = c.Space.MaySend(c.ID, protocol.KindMCPProposal)
	kinds := published
	if claims {
		kinds = append(slices.Clip(kinds), protocol.KindClaim, protocol.KindRelease)
	}
	for _, kind := range kinds {
		if !c.Space.MaySend(c.ID, kind) {
			out.Lacks = append(out.Lacks, kind)
		}
	}
	return out
}
