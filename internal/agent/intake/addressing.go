// Package intake decides what an agent takes from a space: which chats are questions
// for it ([Classifier]), which earlier chats ([RecentChats]) and remarks ([RemarkBox])
// its planner gets with them, and which work the log has from before it joined
// ([Backlog]).
package intake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Mode selects the chats that an agent treats as questions.
type Mode string

// The modes. In every mode, an agent never answers itself, and answers another
// agent only if that agent addresses or mentions it.
const (
	// Addressed: chats that name the agent in `to`.
	Addressed Mode = "addressed"
	// Mentioned: also chats with @name in their text.
	Mentioned Mode = "mentioned"
	// Any: also every chat that a participant other than an agent sends to all,
	// unless it mentions another connected agent, or begins with a mention of
	// another name, connected or not.
	Any Mode = "any"
	// Auto: like Any while no other agent is connected, otherwise like
	// Mentioned.
	Auto Mode = "auto"
)

// ParseMode parses the name of a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Addressed, Mentioned, Any, Auto:
		return m, nil
	}
	return "", fmt.Errorf("unknown mode %q: there are %s, %s, %s and %s", s, Auto, Any, Mentioned, Addressed)
}

// maxAgentQuestions bounds the questions of one agent that are answered before
// a participant other than an agent sends a chat. It ends loops of agents whose
// chats do not correlate to one another.
const maxAgentQuestions = 16

// maxAgents bounds the set of participants detected as agents.
const maxAgents = 10_000

// Classifier decides which chats are questions. It is used by one goroutine.
//
// The protocol does not mark agents. A participant is treated as an agent if
// its capabilities name reasoning (a capability for all kinds does not count),
// or, until it leaves, if it was seen to start reasoning about another
// participant's chat: people contribute to the reasoning of others, but do not
// open a context for every answer. A chat of its own does not reset this,
// because two agents that send such chats would never stop.
type Classifier struct {
	you   protocol.ParticipantID
	names []string // for mentions, lower case
	mode  Mode
	hops  int

	agents       map[protocol.ParticipantID]bool // seen to start reasoning about a chat
	participants []protocol.Participant
	depth        hopTable
	rateGuard    map[protocol.ParticipantID]int
}

// NewClassifier returns the classifier of the agent you. name is a name for mentions in
// addition to the id, "" for none. maxHops bounds a chain of agent answers that
// follow one another.
func NewClassifier(you protocol.ParticipantID, name string, mode Mode, maxHops int, participants []protocol.Participant) *Classifier {
	t := &Classifier{
		you: you, mode: mode, hops: maxHops,
		names:        []string{strings.ToLower(string(you))},
		agents:       make(map[protocol.ParticipantID]bool),
		rateGuard:    make(map[protocol.ParticipantID]int),
		participants: participants,
	}
	if name != "" {
		t.names = append(t.names, strings.ToLower(strings.TrimPrefix(name, "@")))
	}
	return t
}

// Observe records the facts in an envelope about which participants are agents
// and which chat answers which.
func (t *Classifier) Observe(env *protocol.Envelope, welcome func() protocol.Welcome) {
	switch {
	case env.Kind == protocol.KindSystemPresence:
		t.participants = welcome().Participants
		var p protocol.Presence
		if json.Unmarshal(env.Payload, &p) == nil && p.Event == protocol.PresenceLeave {
			delete(t.agents, p.Participant.ID)
		}
	case env.Kind == protocol.KindSystemWelcome:
		t.participants = welcome().Participants
	case env.Kind == protocol.KindReasoningStart && env.From == t.you:
		x := hop{from: t.you, opens: true}
		if who := env.ParsePayload().Get("participant_id").Text(); who != "" { // it is asked to reason there
			x.asks, x.to = true, []protocol.ParticipantID{protocol.ParticipantID(who)}
		}
		t.depth.put(env.ID, x)
	case env.Kind == protocol.KindReasoningStart:
		aboutChat := slices.ContainsFunc(env.Correlation.IDs, func(id protocol.ID) bool { // a recent one of another participant
			of := t.depth.at(id)
			return of.from != "" && of.from != env.From && !of.opens
		})
		if aboutChat && len(t.agents) < maxAgents {
			t.agents[env.From] = true
		}
	case env.Kind == protocol.KindChat:
		t.depth.note(env, t.isAgent(env.From) || env.From == t.you)
		if env.From != t.you && !t.isAgent(env.From) {
			clear(t.rateGuard)
		}
	}
}

// IsQuestion reports whether a chat is a question for this agent.
func (t *Classifier) IsQuestion(env *protocol.Envelope) bool { return t.WhyIgnored(env) == "" }

// WhyIgnored returns why a chat is no question for this agent, in words; "": it is one, and counts as
// asked.
func (t *Classifier) WhyIgnored(env *protocol.Envelope) string {
	text := ChatText(env)
	switch {
	case env.From == t.you:
		return "it is the agent's own"
	case env.From == protocol.GatewayID:
		return "it is the gateway's"
	case strings.TrimSpace(text) == "":
		return "it has no text"
	case !env.AddressedTo(t.you) && len(env.To) > 0:
		return "it is addressed to others"
	case t.answersMe(env):
		return "it answers the agent's own question"
	case t.Names(env) && !t.isAgent(env.From):
		return ""
	case t.Names(env) && t.depth.of(env.ID) >= t.hops:
		return "an agent asks, beyond the bound of hops"
	case t.Names(env) && t.rateGuard[env.From] >= maxAgentQuestions:
		return "this agent has had all its answers, until a person sends a chat"
	case t.Names(env):
		t.rateGuard[env.From]++
		return ""
	case env.Context != "":
		return "it is in a context, and does not name the agent"
	case t.isAgent(env.From):
		return "an agent's chat does not name the agent"
	case textutil.LeadingMention(text) != "":
		return "it begins with another name"
	case t.mode == Any && t.mentionsOther(text):
		return "it mentions others"
	case t.mode == Auto && len(t.Agents()) > 0:
		return "it names no agent, and several are connected"
	case t.mode == Any || t.mode == Auto:
		return ""
	}
	return "it does not name the agent"
}

// answersMe reports whether a chat answers one that this agent sent to ask: the chat of an agent
// that correlates to it, or of a participant that it was addressed to. A chat about an answer of
// this agent is none, nor is what a person says about a chat of this agent to all.
func (t *Classifier) answersMe(env *protocol.Envelope) bool {
	return slices.ContainsFunc(env.Correlation.IDs, func(id protocol.ID) bool {
		of := t.depth.at(id)
		return of.from == t.you && of.asks && (slices.Contains(of.to, env.From) || t.isAgent(env.From))
	})
}

// Names reports whether a chat names this agent: in to, or in its text if the mode
// allows that.
func (t *Classifier) Names(env *protocol.Envelope) bool {
	return env.AddressedTo(t.you) || t.mode != Addressed && textutil.Mentions(ChatText(env), t.names...)
}

// AllowsPart reports whether to reason about another part for an agent, and
// counts it. People are not bounded.
func (t *Classifier) AllowsPart(from protocol.ParticipantID) bool {
	if !t.isAgent(from) {
		return true
	}
	if t.rateGuard[from] >= maxAgentQuestions {
		return false
	}
	t.rateGuard[from]++
	return true
}

// Agents returns the other connected participants that are agents.
func (t *Classifier) Agents() []protocol.ParticipantID {
	var list []protocol.ParticipantID
	for i := range t.participants {
		if id := t.participants[i].ID; id != t.you && t.isAgent(id) {
			list = append(list, id)
		}
	}
	return list
}

func (t *Classifier) isAgent(id protocol.ParticipantID) bool {
	if t.agents[id] {
		return true
	}
	i := slices.IndexFunc(t.participants, func(p protocol.Participant) bool { return p.ID == id })
	return i >= 0 && participant.IsAgent(t.participants[i].Capabilities)
}

// mentionsOther reports whether a text mentions another connected agent.
func (t *Classifier) mentionsOther(text string) bool {
	return slices.ContainsFunc(t.Agents(), func(id protocol.ParticipantID) bool {
		return textutil.Mentions(text, string(id))
	})
}

// WithoutMention returns a text without a mention of this agent at its beginning,
// unless nothing else is in it. It may be called at any time.
func (t *Classifier) WithoutMention(text string) string {
	for _, name := range t.names {
		if rest, found := textutil.CutMention(text, name); found && rest != "" {
			return rest
		}
	}
	return text
}

// hopTable stores the sender of each recent chat and of the contexts of this agent, and the
// number of consecutive agent answers that led to a chat. It keeps two generations and drops
// the older one when the newer one is full.
type hopTable struct {
	young, old map[protocol.ID]hop
}

type hop struct {
	from  protocol.ParticipantID
	depth int
	opens bool                     // a reasoning.start
	asks  bool                     // a chat that answers none of another participant, or a start that asks one to reason
	to    []protocol.ParticipantID // who is asked
}

const maxHopEntries = 2048

func (h *hopTable) note(env *protocol.Envelope, byAgent bool) {
	// A chat outside of contexts asks unless it correlates to one of another participant that
	// receives it. An envelope that is not known counts as such a chat.
	answers := env.Context == "" && slices.ContainsFunc(env.Correlation.IDs, func(id protocol.ID) bool {
		asker := h.at(id).from
		return asker == "" || asker != env.From && (len(env.To) == 0 || env.AddressedTo(asker))
	})
	x := hop{from: env.From, asks: !answers}
	if x.asks {
		x.to = env.To
	}
	if byAgent {
		x.depth = 1
		for _, id := range env.Correlation.IDs {
			x.depth = max(x.depth, h.of(id)+1)
		}
	}
	h.put(env.ID, x)
}

func (h *hopTable) put(id protocol.ID, x hop) {
	if h.young == nil || len(h.young) >= maxHopEntries {
		h.young, h.old = make(map[protocol.ID]hop), h.young
	}
	h.young[id] = x
}

func (h *hopTable) of(id protocol.ID) int { return h.at(id).depth }

// at returns the entry of an envelope; zero if there is no entry.
func (h *hopTable) at(id protocol.ID) hop {
	if x, ok := h.young[id]; ok {
		return x
	}
	return h.old[id]
}
