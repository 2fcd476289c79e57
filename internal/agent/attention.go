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

// attention decides what is a question. It is used by one goroutine.
//
// The protocol does not say who is an agent. One who reasons is taken for one:
// who was seen doing so, or whose capabilities name reasoning (a participant
// who may do everything is no agent for that alone).
type attention struct {
	you   protocol.ParticipantID
	names []string // by which it is mentioned, lower case
	mode  Mode
	hops  int

	agents map[protocol.ParticipantID]bool // seen reasoning
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
	case env.Kind == protocol.KindSystemPresence || env.Kind == protocol.KindSystemWelcome:
		t.here = welcome().Participants
	case env.Kind.IsReasoning() && env.From != t.you && env.Kind != protocol.KindReasoningCancel:
		if len(t.agents) < 10_000 {
			t.agents[env.From] = true
		}
	case env.Kind == protocol.KindChat:
		t.depth.note(env, t.isAgent(env.From) || env.From == t.you)
		if env.From != t.you && !t.isAgent(env.From) {
			clear(t.streak)
		}
	}
}

// wants reports whether a chat is a question for this agent.
func (t *attention) wants(env *protocol.Envelope) bool {
	text := chatText(env)
	if env.From == t.you || env.From == protocol.Gateway || strings.TrimSpace(text) == "" {
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
			next, _ := utf8.DecodeRuneInString(after)
			if !partOfName(last) && !partOfName(next) {
				return true
			}
			rest = after
		}
	}
	return false
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

// hopTable knows of the chats of late how many answers of agents led to each.
// It keeps two generations and drops the older one when the newer is full.
type hopTable struct {
	young, old map[protocol.ID]int
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
		h.young, h.old = make(map[protocol.ID]int), h.young
	}
	h.young[env.ID] = depth
}

func (h *hopTable) of(id protocol.ID) int {
	if n, ok := h.young[id]; ok {
		return n
	}
	return h.old[id]
}
