package tui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// people holds the connected participants, sorted by name.
type people struct{ here []protocol.Participant }

func (p *people) welcome(w protocol.Welcome) {
	p.here = nil
	for _, one := range w.Participants {
		p.put(one)
	}
	p.put(protocol.Participant{ID: w.You.ID, Capabilities: w.You.Capabilities})
}

// put stores a connected participant with its current capabilities.
func (p *people) put(one protocol.Participant) {
	i, found := p.find(one.ID)
	if found {
		p.here[i] = one
		return
	}
	p.here = slices.Insert(p.here, i, one)
}

func (p *people) remove(id protocol.ParticipantID) {
	if i, found := p.find(id); found {
		p.here = slices.Delete(p.here, i, i+1)
	}
}

func (p *people) find(id protocol.ParticipantID) (int, bool) {
	return slices.BinarySearchFunc(p.here, id, func(a protocol.Participant, id protocol.ParticipantID) int {
		return cmp.Compare(a.ID, id)
	})
}

func (p *people) isConnected(id protocol.ParticipantID) bool {
	_, found := p.find(id)
	return found
}

// handleWelcome handles a welcome: the participants after a reconnect, or the new
// capabilities of this participant.
func (m *model) handleWelcome(env *protocol.Envelope) {
	var w protocol.Welcome
	if json.Unmarshal(env.Payload, &w) != nil {
		return
	}
	m.people.welcome(w)
	for _, b := range m.reasonings.byPath {
		if b.reasoning.state == thinking && !m.people.isConnected(b.reasoning.agent) {
			m.stopReasoning(b.reasoning.agent)
		}
	}
}

// presence handles participants that join and leave.
func (m *model) presence(env *protocol.Envelope) {
	var p protocol.Presence
	if json.Unmarshal(env.Payload, &p) != nil || p.Participant.ID == "" {
		return
	}
	id := p.Participant.ID
	switch {
	case p.Event == protocol.PresenceJoin && !m.people.isConnected(id):
		m.people.put(p.Participant)
		m.printLines(noticeBlock, string(id)+" is here.")
	case p.Event == protocol.PresenceJoin:
		m.people.put(p.Participant)
	case p.Event == protocol.PresenceLeave && m.people.isConnected(id):
		m.people.remove(id)
		m.printLines(noticeBlock, string(id)+" has left.")
		m.stopReasoning(id)
	}
}

// showStateEntry shows a notice of an entry that changes rights.
func (m *model) showStateEntry(env *protocol.Envelope) {
	p := payload[struct {
		Recipient    string            `json:"recipient"`
		Participant  string            `json:"participant_id"`
		Capabilities []json.RawMessage `json:"capabilities"`
		TTL          float64           `json:"ttl_seconds"`
		Reason       string            `json:"reason"`
	}](env)
	from := string(env.From)
	switch env.Kind {
	case protocol.KindCapabilityGrant:
		until := ""
		if p.TTL > 0 {
			until = " for " + formatTTL(time.Duration(p.TTL*float64(time.Second)))
		}
		m.printLines(noticeBlock, fmt.Sprintf("%s gives %s: %s%s.", from, p.Recipient, strings.Join(describeCapabilities(p.Capabilities), "; "), until), "  grant "+string(env.ID))
	case protocol.KindCapabilityRevoke:
		m.printLines(noticeBlock, from+" takes rights from "+p.Recipient+".")
	case protocol.KindSpaceInvite:
		m.printLines(noticeBlock, from+" invites "+p.Participant+".")
	case protocol.KindSpaceKick:
		m.printLines(noticeBlock, from+" removes "+p.Participant+because(p.Reason)+".")
	case protocol.KindParticipantPause, protocol.KindParticipantResume, protocol.KindParticipantForget, protocol.KindParticipantCompact,
		protocol.KindParticipantClear, protocol.KindParticipantRestart, protocol.KindParticipantShutdown:
		m.showControl(env)
	case protocol.KindParticipantStatus, protocol.KindParticipantCompactDone:
		m.showStatus(env)
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func names(ids []protocol.ParticipantID) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return strings.Join(list, ", ")
}

// link is the state of the connection.
type link struct {
	phase client.Phase
	lost  bool // the connection was lost and the notice was shown
	retry time.Duration
	tries int
}

// handleLink handles a new state of the connection.
func (m *model) handleLink(s client.State) {
	m.link.phase, m.link.retry, m.link.tries = s.Phase, s.RetryIn, s.Attempt
	switch s.Phase {
	case client.Connected:
		if m.link.lost {
			m.printLines(noticeBlock, "The connection is back.")
		}
		m.link.lost, m.skew = false, skew{}
	case client.Waiting:
		if !m.link.lost {
			m.link.lost = true
			m.printLines(noticeBlock, "The connection is lost. It is opened again by itself; what you type goes out then.")
		}
	case client.Closed: // the error is shown after everything that was received
	}
}

// finish handles the end of the session. The conversation stays on the screen
// until the person leaves.
func (m *model) finish(err error) {
	m.link.phase = client.Closed
	m.over, m.err = true, err
	m.printLines(errorBlock, "The connection is closed for good: "+errorText(err))
}
