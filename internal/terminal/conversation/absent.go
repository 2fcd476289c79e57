package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Draft is a chat that is sent.
type Draft struct {
	Text   string
	To     []protocol.ParticipantID
	Added  []protocol.ParticipantID // of To, the ones that the thread was not addressed to before
	Begins bool                     // it begins a thread
}

// Unanswered returns what may leave the chat without an answer, as sentences without a
// period: each added addressee that is not connected, the participant that a chat to all
// mentions at its beginning and that is not, or several agents of which a chat that
// begins a thread mentions none. connected includes you; address is the input that
// addresses a participant.
func (d *Draft) Unanswered(you protocol.ParticipantID, connected []protocol.Participant, address func(string) string) (list []string) {
	isConnected := func(id string) bool {
		return slices.ContainsFunc(connected, func(p protocol.Participant) bool { return strings.EqualFold(string(p.ID), id) })
	}
	for _, id := range d.Added {
		if isConnected(string(id)) {
			continue
		}
		unless := ""
		if near := similar(string(id), connected); near != "" {
			unless = "unless you mean " + near + ", "
		}
		list = append(list, string(id)+" is not connected; "+unless+"it gets the message when it connects")
	}
	if len(d.To) > 0 {
		return list
	}
	agents := Agents(you, connected)
	mentionsAgent := textutil.Mentions(d.Text, agents...)
	if name := textutil.LeadingMention(d.Text); name != "" && !isConnected(name) {
		absent := "no participant @" + name + " is connected"
		if !mentionsAgent {
			absent += ", and nobody was asked"
		}
		if near := similar(name, connected); near != "" {
			return append(list, absent+"; did you mean @"+near+"?")
		}
		return append(list, fmt.Sprintf("%s; if %s is a participant of the space, %s reaches it", absent, name, address(name)))
	}
	if d.Begins && len(agents) > 1 && !mentionsAgent {
		list = append(list, fmt.Sprintf("%s are agents; by default each answers only what mentions it (@%s) or is addressed to it (%s)",
			strings.Join(agents, ", "), agents[0], address(agents[0])))
	}
	return list
}

// Agents returns the connected agents other than you.
func Agents(you protocol.ParticipantID, connected []protocol.Participant) (agents []string) {
	for i := range connected {
		if p := &connected[i]; p.ID != you && participant.IsAgent(p.Capabilities) {
			agents = append(agents, string(p.ID))
		}
	}
	return agents
}

// DidYouMean returns a question with the connected participant that is most similar to
// one of the names that is not connected; "" if none is.
func DidYouMean(named []protocol.ParticipantID, connected []protocol.Participant) string {
	for _, id := range named {
		if near := similar(string(id), connected); id != "" && near != "" && near != string(id) {
			return "Did you mean " + near + "?"
		}
	}
	return ""
}

// similar returns the connected participant whose name is most similar; "" if none is.
func similar(name string, connected []protocol.Participant) string {
	var names []string
	for i := range connected {
		names = append(names, string(connected[i].ID))
	}
	return textutil.Closest(name, names)
}
