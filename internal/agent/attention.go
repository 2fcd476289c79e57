package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// Mode says which chats an agent takes for questions.
type Mode string

// The modes. Whatever the mode, an agent never answers itself, and another
// agent only where that one addresses or mentions it.
const (
	// Addressed: those that name the agent in their `to`.
	Addressed Mode = "addressed"
	// Mentioned: these, and those with @name in their text.
	Mentioned Mode = "mentioned"
	// Any: these, and whatever a participant that is not an agent says to all.
	Any Mode = "any"
	// Auto: like Any while no other agent is there, else like Mentioned.
	Auto Mode = "auto"
)

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Addressed, Mentioned, Any, Auto:
		return m, nil
	}
	return "", fmt.Errorf("unknown mode %q: there are %s, %s, %s and %s", s, Auto, Any, Mentioned, Addressed)
}

// maxStreak is how many questions of one agent are answered while no person
// says anything: agents that talk in circles without naming what they answer.
const maxStreak = 16

// maxAgents bounds those who are remembered for what they did.
const maxAgents = 10_000

// attention decides what is a question. It is used by one goroutine.
//
// The protocol does not say who is an agent. One is taken for one whose
// capabilities name reasoning (a participant who may do everything is no agent
// for that alone), and, until he leaves, one who was seen to begin reasoning
// about what somebody else had said: people join in the thinking of others, but
// do not open it with every answer. That he says something of his own does not
// make him a person again, since two agents that do so would never end.
type attention struct {
	you   protocol.ParticipantID
	names []string // by which it is mentioned, lower case
	mode  Mode
	hops  int

	agents map[protocol.ParticipantID]bool // seen to reason about a chat
	here   []protocol.Participant
	depth  hopTable
	streak map[protocol.ParticipantID]int
}

func newAttention(you protocol.ParticipantID, opts Options) *attention {
	t := &attention{
		you: you, mode: opts.Answer, hops: opts.MaxHops,
		names:  []string{strings.ToLower(string(you))},
		agents: make(map[protocol.ParticipantID]bool),
		streak: make(map[protocol.ParticipantID]int),
		here:   opts.Space.Welcome().Participants,
	}
	if opts.Name != "" {
		t.names = append(t.names, strings.ToLower(strings.TrimPrefix(opts.Name, "@")))
	}
	return t
}

// note keeps what an envelope tells of who is who and what answers what.
func (t *attention) note(env *protocol.Envelope, welcome func() protocol.Welcome) {
	switch {
	case env.Kind == protocol.KindSystemPresence:
		t.here = welcome().Participants
		t.forget(env)
	case env.Kind == protocol.KindSystemWelcome:
		t.here = welcome().Participants
	case env.Kind == protocol.KindReasoningStart:
		if env.From != t.you && len(t.agents) < maxAgents && t.answersAChat(env) {
			t.agents[env.From] = true
		}
	case env.Kind == protocol.KindChat:
		t.depth.note(env, t.isAgent(env.From) || env.From == t.you)
		if env.From != t.you && !t.isAgent(env.From) {
			clear(t.streak)
		}
	}
}

// answersAChat reports whether an envelope answers what somebody else said in
// a chat of late.
func (t *attention) answersAChat(env *protocol.Envelope) bool {
	return slices.ContainsFunc(env.Correlation.IDs, func(id protocol.ID) bool {
		from := t.depth.at(id).from
		return from != "" && from != env.From
	})
}

// forget makes somebody who leaves a stranger.
func (t *attention) forget(env *protocol.Envelope) {
	var p protocol.Presence
	if json.Unmarshal(env.Payload, &p) == nil && p.Event == protocol.PresenceLeave {
		delete(t.agents, p.Participant.ID)
	}
}

// wants reports whether a chat is a question for this agent.
func (t *attention) wants(env *protocol.Envelope) bool {
	text := chatText(env)
	if env.From == t.you || env.From == protocol.GatewayID || strings.TrimSpace(text) == "" {
		return false
	}
	addressed := env.AddressedTo(t.you)
	if !addressed && len(env.To) > 0 {
		return false // it is somebody else's
	}
	if addressed || t.mode != Addressed && t.mentioned(text) {
		return !t.isAgent(env.From) || t.patient(env)
	}
	if env.Context != "" || t.isAgent(env.From) {
		return false // a remark within somebody's thinking, or an agent's answer
	}
	return t.mode == Any || t.mode == Auto && !t.others()
}

// patient reports whether one more question of another agent is answered.
func (t *attention) patient(env *protocol.Envelope) bool {
	if t.depth.of(env.ID) >= t.hops || t.streak[env.From] >= maxStreak {
		return false
	}
	t.streak[env.From]++
	return true
}

// others reports whether another agent is connected.
func (t *attention) others() bool {
	return slices.ContainsFunc(t.here, func(p protocol.Participant) bool { return p.ID != t.you && t.isAgent(p.ID) })
}

func (t *attention) isAgent(id protocol.ParticipantID) bool {
	if t.agents[id] {
		return true
	}
	i := slices.IndexFunc(t.here, func(p protocol.Participant) bool { return p.ID == id })
	return i >= 0 && slices.ContainsFunc(t.here[i].Capabilities, namesReasoning)
}

// namesReasoning reports whether a capability is about reasoning in so many
// words.
func namesReasoning(capability json.RawMessage) bool {
	switch kind := kindOf(capability); kind {
	case "reasoning/cancel", "reasoning.cancel": // for people who stop agents
		return false
	default:
		return strings.HasPrefix(kind, "reasoning")
	}
}

// kindOf is the kind pattern of a capability; "" for a denial.
func kindOf(capability json.RawMessage) string {
	var kind string
	if json.Unmarshal(capability, &kind) == nil {
		return kind
	}
	var object struct {
		Kind string `json:"kind"`
		Deny bool   `json:"deny"`
	}
	if json.Unmarshal(capability, &object) != nil || object.Deny {
		return ""
	}
	return object.Kind
}

// mentioned reports whether a text has @ and one of the names, as a word.
func (t *attention) mentioned(text string) bool {
	text = strings.ToLower(text)
	for _, name := range t.names {
		for rest := text; ; {
			before, after, found := strings.Cut(rest, "@"+name)
			if !found {
				break
			}
			last, _ := utf8.DecodeLastRuneInString(before)
			if !partOfName(last) && !goesOn(after) {
				return true
			}
			rest = after
		}
	}
	return false
}

// goesOn reports whether a name goes on with what follows it. The signs that
// may stand in one end a sentence too, or set names apart: they belong to it
// where more of it comes behind them.
func goesOn(rest string) bool {
	r, size := utf8.DecodeRuneInString(rest)
	if !strings.ContainsRune(".:+|", r) {
		return partOfName(r)
	}
	next, _ := utf8.DecodeRuneInString(rest[size:])
	return next != '@' && partOfName(next)
}

func partOfName(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '@')
}

// chatText returns what a chat says, under either of its names.
func chatText(env *protocol.Envelope) string {
	var p struct {
		Message string `json:"message"`
		Text    string `json:"text"`
	}
	_ = json.Unmarshal(env.Payload, &p) // of another form: no text
	if p.Message != "" {
		return p.Message
	}
	return p.Text
}

// hopTable knows of the chats of late who said each, and how many answers of
// agents led to it. It keeps two generations and drops the older one when the
// newer is full.
type hopTable struct {
	young, old map[protocol.ID]hop
}

type hop struct {
	from  protocol.ParticipantID
	depth int
}

const maxHopEntries = 2048

func (h *hopTable) note(env *protocol.Envelope, byAgent bool) {
	depth := 0
	if byAgent {
		depth = 1
		for _, id := range env.Correlation.IDs {
			depth = max(depth, h.of(id)+1)
		}
	}
	if h.young == nil || len(h.young) >= maxHopEntries {
		h.young, h.old = make(map[protocol.ID]hop), h.young
	}
	h.young[env.ID] = hop{env.From, depth}
}

func (h *hopTable) of(id protocol.ID) int { return h.at(id).depth }

// at is what is known of a chat; zero for one that is not.
func (h *hopTable) at(id protocol.ID) hop {
	if x, ok := h.young[id]; ok {
		return x
	}
	return h.old[id]
}
