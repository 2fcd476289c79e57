package ask

import (
	"encoding/json"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/protocol"
)

// Rights are the rights of a participant to decide about proposals.
type Rights struct{ set *capability.Set }

// RightsOf returns the rights of capabilities.
func RightsOf(given []json.RawMessage) Rights {
	var list []*capability.Capability
	for _, text := range given {
		if c, err := capability.ParseJSON(text); err == nil {
			list = append(list, c)
		}
	}
	return Rights{capability.NewSet(list...)}
}

// MayDecide reports whether a proposed call can be made or rejected: by the right to
// decide about it, or by the right to make it. The gateway decides again about the
// decision.
func (r Rights) MayDecide(p *protocol.Envelope) bool {
	payload, host := p.ParsePayload(), proposal.CallOf(p).Host
	return host != "" &&
		(r.set.Decide(&capability.Request{Kind: capability.Decide, Payload: payload, To: p.To, Context: p.Context}).Allowed ||
			r.set.Decide(&capability.Request{Kind: protocol.KindMCPRequest, Payload: payload, To: []protocol.ParticipantID{host}, Context: p.Context}).Allowed)
}
