package space

import (
	"encoding/json"

	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// announceInvited notifies MEW's clients of invited participants; they have no
// other way to learn of them. It skips clients that do not read.
func (s *Space) announceInvited(entries []*ring.Entry) {
	for _, e := range entries {
		if e.Envelope.Kind != protocol.KindSpaceInvite || e.Envelope.Seq == 0 {
			continue
		}
		clients := s.mewMembers()
		if len(clients) == 0 {
			return
		}
		_, g, err := authority.ReadInvitation(e.Envelope, e.Payload(), e.Private())
		if err != nil {
			continue // reported by the fold
		}
		payload := map[string]any{
			"event":       "invited",
			"participant": s.describe(Connected{ID: g.Recipient}, protocol.DialectMEW04, s.now()),
			"invited_by":  e.Envelope.From,
		}
		if reason := e.Payload().Get("reason"); reason.Exists() {
			payload["reason"] = json.RawMessage(reason.Raw())
		}
		for _, m := range clients {
			if m.ID != e.Envelope.From && !m.controlFull() && e.VisibleTo(s.VisibilityOf(m.Viewer())) {
				m.enqueueControl(m.newControl(protocol.KindSystemPresence, "", payload))
			}
		}
	}
}

// mewMembers returns the connected members that use MEW's dialect.
func (s *Space) mewMembers() (list []*Member) {
	for _, m := range s.members() {
		if m.CurrentDialect() == protocol.DialectMEW04 {
			list = append(list, m)
		}
	}
	return list
}

func (m *Member) controlFull() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.control) > maxControlBytes
}
