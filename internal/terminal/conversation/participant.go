package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// participants holds the connected participants, sorted by name.
type participants struct{ connected []protocol.Participant }

func (p *participants) welcome(w protocol.Welcome) {
	p.connected = nil
	for _, one := range w.Participants {
		p.put(one)
	}
	p.put(protocol.Participant{ID: w.You.ID, Capabilities: w.You.Capabilities})
}

// put stores a connected participant with its current capabilities.
func (p *participants) put(one protocol.Participant) {
	i, found := p.find(one.ID)
	if found {
		p.connected[i] = one
		return
	}
	p.connected = slices.Insert(p.connected, i, one)
}

func (p *participants) find(id protocol.ParticipantID) (int, bool) {
	return slices.BinarySearchFunc(p.connected, id, func(a protocol.Participant, id protocol.ParticipantID) int {
		return cmp.Compare(a.ID, id)
	})
}

func (p *participants) isConnected(id protocol.ParticipantID) bool {
	_, found := p.find(id)
	return found
}

// handleWelcome handles a welcome: the participants after a reconnect, or the new
// capabilities of this participant.
func (m *Model) handleWelcome(env *protocol.Envelope) {
	var w protocol.Welcome
	if json.Unmarshal(env.Payload, &w) != nil {
		return
	}
	m.participants.welcome(w)
	for _, b := range m.reasonings.inProgress() {
		if !m.participants.isConnected(b.Reasoning.Agent) {
			m.stopReasoning(b.Reasoning.Agent)
		}
	}
}

// presence handles participants that join and leave.
func (m *Model) presence(env *protocol.Envelope) {
	var p protocol.Presence
	if json.Unmarshal(env.Payload, &p) != nil || p.Participant.ID == "" {
		return
	}
	id := p.Participant.ID
	i, connected := m.participants.find(id)
	switch {
	case p.Event == protocol.PresenceJoin:
		m.participants.put(p.Participant)
		if !connected {
			m.printLines(NoticeBlock, string(id)+" joined.")
		}
	case p.Event == protocol.PresenceLeave && connected:
		m.participants.connected = slices.Delete(m.participants.connected, i, i+1)
		m.printLines(NoticeBlock, string(id)+" left.")
		m.stopReasoning(id)
	}
}

// showStateEntry shows a notice of an entry that changes rights, of a request to participants,
// or of the response to one.
func (m *Model) showStateEntry(env *protocol.Envelope) {
	p := payload[struct {
		Recipient    string            `json:"recipient"`
		Participant  string            `json:"participant_id"`
		Capabilities []json.RawMessage `json:"capabilities"`
		TTL          float64           `json:"ttl_seconds"`
		Seconds      int64             `json:"timeout_seconds"` // of a pause
		Reason       string            `json:"reason"`
	}](env)
	from := string(env.From)
	switch env.Kind {
	case protocol.KindCapabilityGrant:
		until := ""
		if p.TTL > 0 {
			until = " for " + textutil.Duration(time.Duration(p.TTL*float64(time.Second)))
		}
		m.printLines(NoticeBlock, fmt.Sprintf("%s granted %s: %s%s.", from, p.Recipient, strings.Join(block.Capabilities(p.Capabilities), "; "), until), "  grant "+string(env.ID))
	case protocol.KindCapabilityRevoke:
		m.printLines(NoticeBlock, from+" revoked capabilities of "+p.Recipient+".")
	case protocol.KindSpaceInvite:
		m.printLines(NoticeBlock, from+" invited "+p.Participant+".")
	case protocol.KindSpaceKick:
		m.printLines(NoticeBlock, from+" removed "+p.Participant+because(p.Reason)+".")
	case protocol.KindParticipantPause, protocol.KindParticipantResume, protocol.KindParticipantForget, protocol.KindParticipantCompact,
		protocol.KindParticipantClear, protocol.KindParticipantRestart, protocol.KindParticipantShutdown:
		who, during := Names(env.To), ""
		if who == "" {
			who = "everyone"
		}
		if p.Seconds > 0 && env.Kind == protocol.KindParticipantPause {
			during = " for " + textutil.Duration(time.Duration(p.Seconds)*time.Second)
		}
		m.printLines(NoticeBlock, from+" "+fmt.Sprintf(controlNotices[env.Kind], who)+during+because(p.Reason)+".")
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

// Names lists participants: "alice, bob".
func Names(ids []protocol.ParticipantID) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return strings.Join(list, ", ")
}

// Link is the state of the connection.
type Link struct {
	Phase client.Phase
	Lost  bool // the connection was lost and the notice was shown
}

// handleLink handles a new state of the connection.
func (m *Model) handleLink(s client.State) {
	m.Link.Phase = s.Phase
	switch s.Phase {
	case client.Connected:
		if m.Link.Lost {
			m.printLines(NoticeBlock, "Reconnected.")
		}
		m.Link.Lost, m.skew = false, skew{}
	case client.Waiting:
		if !m.Link.Lost {
			m.Link.Lost = true
			m.printLines(NoticeBlock, "Connection lost. Reconnecting; messages are sent when the connection is restored.")
		}
	case client.Closed: // the error is shown after everything that was received
	}
}

// controlPayload is the payload of a request to a participant, with the field
// names that clients of MEW use.
type controlPayload struct {
	Seconds   int64  `json:"timeout_seconds,omitempty"`
	Direction string `json:"direction,omitempty"`
	Entries   int    `json:"entries,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// controls returns the command for a kind whose payload has only a reason.
func controls(kind protocol.Kind) func(*Model, string) {
	return func(m *Model, args string) {
		who, reason, _ := strings.Cut(args, " ")
		m.control(kind, who, controlPayload{Reason: strings.TrimSpace(reason)})
	}
}

// control sends a request to one participant.
func (m *Model) control(kind protocol.Kind, who string, p controlPayload) {
	who = strings.TrimPrefix(who, "@")
	_, verb := kind.Split()
	if !protocol.ValidParticipantID(who) {
		m.printLines(ErrorBlock, fmt.Sprintf("Usage: /%s WHO. /who lists the participants.", strings.TrimPrefix(verb, "request-")))
		return
	}
	to := []protocol.ParticipantID{protocol.ParticipantID(who)}
	m.ask("Request to "+who, protocol.Envelope{Kind: kind, To: to, Payload: encode(p)}, nil)
}

// pause stops a participant: /pause WHO [TIME] [REASON].
func (m *Model) pause(args string) {
	who, rest, _ := strings.Cut(args, " ")
	p := controlPayload{Reason: strings.TrimSpace(rest)}
	first, reason, _ := strings.Cut(p.Reason, " ")
	if d, ok := lifetime(first); ok {
		p.Seconds, p.Reason = int64(d/time.Second), strings.TrimSpace(reason)
	}
	m.control(protocol.KindParticipantPause, who, p)
}

// forget drops a part of a participant's memory: /forget WHO [newest] [N].
func (m *Model) forget(args string) {
	p := controlPayload{Direction: "oldest"}
	words := strings.Fields(args)
	for _, word := range words[min(1, len(words)):] {
		n, err := strconv.Atoi(word)
		switch {
		case word == "oldest" || word == "newest":
			p.Direction = word
		case err == nil && n > 0:
			p.Entries = n
		default:
			m.printLines(ErrorBlock, "Usage: /forget WHO [newest] [N].")
			return
		}
	}
	who, _, _ := strings.Cut(args, " ")
	m.control(protocol.KindParticipantForget, who, p)
}

// controlNotices holds the notices of requests to participants.
var controlNotices = map[protocol.Kind]string{
	protocol.KindParticipantPause:    "paused %s",
	protocol.KindParticipantResume:   "resumed %s",
	protocol.KindParticipantForget:   "asked %s to forget a part of its memory",
	protocol.KindParticipantCompact:  "asked %s to compact its memory",
	protocol.KindParticipantClear:    "asked %s to clear its memory",
	protocol.KindParticipantRestart:  "asked %s to restart",
	protocol.KindParticipantShutdown: "asked %s to shut down",
}

// maxStatusFields bounds the fields of a status that are shown.
const maxStatusFields = 20

// showStatus shows a participant's response to a status request of this one.
func (m *Model) showStatus(env *protocol.Envelope) {
	if !slices.Contains(env.To, m.You) {
		return
	}
	fields := payload[map[string]json.RawMessage](env)
	var list []string
	if status := block.Value(fields["status"]); status != "" {
		list = append(list, status)
	} else if env.Kind == protocol.KindParticipantCompactDone {
		list = append(list, "compacted")
	}
	delete(fields, "status")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := block.Value(fields[name])
		if value == "" || value == "false" || value == "null" || len(list) > maxStatusFields {
			continue
		}
		list = append(list, termsafe.Exact(textutil.Shorten(strings.ReplaceAll(name, "_", " "), 300))+" "+value)
	}
	if len(list) == 0 {
		list = []string{"no status"}
	}
	m.printLines(NoticeBlock, string(env.From)+": "+strings.Join(list, "; ")+".")
}

// listParticipants lists the connected participants, their capabilities and descriptions.
func (m *Model) listParticipants(e ParticipantsRead) {
	if e.Err != nil {
		m.printLines(ErrorBlock, "Could not read the participants: "+errorText(e.Err))
		return
	}
	lines := []string{"Participants:"}
	for _, one := range e.Participants {
		you := ""
		if one.ID == m.You {
			you = " (you)"
		}
		lines = append(lines, fmt.Sprintf("  %s%s: %s", termsafe.Name(one.ID), you, strings.Join(block.Capabilities(one.Capabilities), "; ")))
		if one.Description != "" {
			lines = append(lines, "    "+termsafe.Words(one.Description))
		}
	}
	m.printLines(NoticeBlock, lines...)
}
