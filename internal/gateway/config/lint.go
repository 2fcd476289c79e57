package config

import (
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// holding is what a participant of a space, or whoever comes with a JWT, may do
// and where the file says so.
type holding struct {
	id   protocol.ParticipantID
	at   place // of the list
	list []*capability.Capability
	from []*node // where each of them stands
}

// capabilities compiles the list of a holder; what does not compile is reported
// and left out.
func (r *resolver) capabilities(name textValue, holder place, f listValue[rawValue]) []*capability.Capability {
	h := holding{id: protocol.ParticipantID(shorten(name.value)), at: f.place}
	for _, v := range f.items {
		if v.node == nil {
			continue // broken
		}
		if c, ok := r.capability(v.node); ok {
			h.list, h.from = append(h.list, c), append(h.from, v.node)
		}
	}
	switch {
	case len(h.list) < len(f.items) || r.broken[holder]:
		// What is left says little about what was meant.
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

// lint warns of the capabilities of a space that change nothing or hardly do
// what was meant. They are harmless, since nothing is allowed by mistake.
func (r *resolver) lint(s *Space) {
	known := make([]protocol.ParticipantID, 0, len(s.Participants))
	for _, p := range s.Participants {
		known = append(known, p.ID)
	}
	if s.JWT != nil {
		known = nil // anybody may come
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
