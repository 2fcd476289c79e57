package config

import (
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// holding contains the capabilities of a participant, or of JWT guests, and
// their places in the file.
type holding struct {
	id   protocol.ParticipantID
	at   place // of the list
	list []*capability.Capability
	from []*node // the node of each capability
}

// capabilities compiles the list of a holder. It reports and omits invalid
// capabilities.
func (r *resolver) capabilities(name textValue, holder place, f listValue[rawValue]) []*capability.Capability {
	h := holding{id: protocol.ParticipantID(textutil.Shorten(name.value, 40)), at: f.place}
	for _, v := range f.items {
		if v.node == nil {
			continue // invalid
		}
		if c, ok := r.capability(v.node); ok {
			h.list, h.from = append(h.list, c), append(h.from, v.node)
		}
	}
	switch {
	case len(h.list) < len(f.items) || r.invalidAt[holder]:
		// The remaining capabilities may not show the intention.
	case len(h.list) == 0:
		at := name.place
		if f.isSet() {
			at = f.place
		}
		r.warnf(at, "without capabilities one can listen and say nothing; list kinds such as chat, or \"*\" for all")
	default:
		r.holdings = append(r.holdings, h)
	}
	return h.list
}

// lint warns about capabilities of a space that have no effect or probably an
// unintended one. They allow nothing by mistake.
func (r *resolver) lint(s *Space) {
	known := make([]protocol.ParticipantID, 0, len(s.Participants))
	for _, p := range s.Participants {
		known = append(known, p.ID)
	}
	if s.JWT != nil {
		known = nil // any name may join
	}
	for _, h := range r.holdings {
		for _, f := range capability.Lint([]capability.Holding{{Participant: h.id, Capabilities: h.list}}, known) {
			at := h.at
			if f.Index >= 0 {
				at = h.from[f.Index].place
			}
			r.warnf(at, "%s", f.Message)
		}
	}
	r.holdings = nil
}
