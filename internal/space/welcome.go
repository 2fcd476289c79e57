package space

import (
	"cmp"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// describe returns the description of a participant in a dialect.
func (s *Space) describe(c Connected, d protocol.Dialect, now time.Time) protocol.Participant {
	st := s.state.Load()
	p := protocol.Participant{ID: c.ID, Capabilities: st.CapabilitiesOf(c.ID, d, now)}
	if d != protocol.DialectMEW04 {
		p.Description = st.Settings(c.ID).Description
	}
	if c.Tools {
		p.Serves = []string{protocol.ServesTools}
	}
	return p
}

// Describe describes a participant, connected or not, in the dialect meup/v0.1.
func (s *Space) Describe(id protocol.ParticipantID) protocol.Participant {
	return s.describe(Connected{ID: id}, protocol.DialectMEUP01, s.now())
}

// Participants describes the connected participants, in the dialect meup/v0.1.
func (s *Space) Participants() []protocol.Participant {
	list := []protocol.Participant{}
	for _, c := range s.Present() {
		list = append(list, s.describe(c, protocol.DialectMEUP01, s.now()))
	}
	return list
}

// appendWelcome appends the member's current welcome. Its Seq is the head of the log
// for this connection: envelopes up to it are not delivered any more, except by a
// replay. Only the member's writer may call it.
func (m *Member) appendWelcome(dst []byte) []byte {
	s, now := m.space, m.space.now()
	st, head := s.state.Load(), m.seq
	if !m.welcomed {
		m.welcomed, head = true, m.joinedAt
	}
	w := protocol.Welcome{
		You: protocol.You{
			ID:           m.ID,
			Capabilities: st.CapabilitiesOf(m.ID, m.CurrentDialect(), now),
			Limits:       st.Settings(m.ID).Limits,
		},
		Participants: []protocol.Participant{},
		Space:        protocol.SpaceInfo{Name: s.name, Seq: head, Log: s.logID},
		Protocol:     m.CurrentDialect().String(),
	}
	for _, c := range s.announced(m.ID) {
		if c.ID == m.ID && m.CurrentDialect() != protocol.DialectMEW04 {
			w.You.Connections = c.Connections
		}
		if m.CurrentDialect() == protocol.DialectMEW04 && c.ID == m.ID {
			continue // MEW lists the others
		}
		w.Participants = append(w.Participants, s.describe(c, m.CurrentDialect(), now))
	}
	if m.CurrentDialect() == protocol.DialectMEW04 {
		w.ActiveStreams = s.activeStreams(s.VisibilityOf(m.Viewer()))
	}
	return ring.AppendFrame(dst, m.CurrentDialect(), m.newControl(protocol.KindSystemWelcome, "", w))
}

// announced returns the participants that are present by the frames about presence that
// were sent, and the participant itself: what a delayed frame changes is not in a welcome,
// since that frame is not sent if the change is undone before.
func (s *Space) announced(self protocol.ParticipantID) []Connected {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(s.presentLocked(), func(c Connected) bool { return c.ID != self && !s.presence.Announced(c.ID, true) })
	for _, id := range s.presence.Delayed() {
		if !s.isPresentLocked(id) && s.presence.Announced(id, false) {
			list = append(list, s.connectedLocked(id))
		}
	}
	slices.SortFunc(list, func(a, b Connected) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// activeStreams lists the streams that a viewer may see, for its welcome.
func (s *Space) activeStreams(visible ring.Visibility) *[]any {
	items := []any{}
	for _, x := range s.streams.List(func(x *ring.Stream) bool {
		return visible.Allows(&x.Opened, nil) || slices.Contains(x.Audience(), visible.ID)
	}) {
		if s.hub.services.Peers != nil && !s.IsPresent(x.Owner) {
			continue // it was lost with its gateway
		}
		item := map[string]any{"direction": "upload"} // MEW's library ignores streams without a direction
		for name, value := range x.Details {
			item[name] = value
		}
		item["stream_id"], item["owner"], item["authorized_writers"] = x.ID, x.Owner, x.Writers
		item["created"] = x.Opened.TS.UTC().Format(protocol.TimeFormat)
		items = append(items, item)
	}
	return &items
}
