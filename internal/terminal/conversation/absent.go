package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
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
// period: each added addressee that is not connected, or the participant that a chat to all
// mentions at its beginning and that is not. unasked: no participant was asked by it.
// connected includes you; address is the input that addresses a participant.
func (d *Draft) Unanswered(you protocol.ParticipantID, connected []protocol.Participant, address func(string) string) (list []string, unasked bool) {
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
		list = append(list, string(id)+" is not connected; "+unless+"it finds the message in the history when it connects")
	}
	name := textutil.LeadingMention(d.Text)
	if len(d.To) > 0 || name == "" || isConnected(name) {
		return list, false
	}
	absent := "no participant @" + name + " is connected"
	unasked = !textutil.Mentions(d.Text, Agents(you, connected)...)
	if unasked {
		absent += ", and nobody was asked"
	}
	if near := similar(name, connected); near != "" {
		return append(list, absent+"; did you mean @"+near+"?"), unasked
	}
	return append(list, fmt.Sprintf("%s; if %s is a participant of the space, %s reaches it", absent, name, address(name))), unasked
}

// Silence is how long a chat is without a reaction before Ambiguous is shown.
const Silence = 3 * time.Second

// Ambiguous returns why no agent may react to a chat that begins a thread, as a sentence
// without a period: there are several, and it neither mentions nor addresses one. It is ""
// for other chats. Which of the agents answer chats to all is not known.
func (d *Draft) Ambiguous(you protocol.ParticipantID, connected []protocol.Participant, address func(string) string) string {
	agents := Agents(you, connected)
	if !d.Begins || len(d.To) > 0 || len(agents) < 2 || textutil.LeadingMention(d.Text) != "" || textutil.Mentions(d.Text, agents...) {
		return ""
	}
	return fmt.Sprintf("%s are agents; by default each answers only what mentions it (@%s) or is addressed to it (%s)",
		strings.Join(agents, ", "), agents[0], address(agents[0]))
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

// DidYouMean returns a question with the known participant that is most similar to one of
// the names that is not known; "" if none is.
func DidYouMean(named []protocol.ParticipantID, known []protocol.Participant) string {
	for _, id := range named {
		if near := similar(string(id), known); id != "" && near != "" && near != string(id) {
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
