package intake

import (
	"fmt"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// room is the welcome that addressing reads.
type room struct {
	t *Classifier
	w protocol.Welcome
}

func newRoom(mode Mode) *room {
	return &room{t: NewClassifier("planner", "", mode, 4, nil)}
}

func (r *room) sees(env protocol.Envelope) {
	r.t.Observe(&env, func() protocol.Welcome { return r.w })
}

// presence is a participant that joins or leaves.
func (r *room) presence(event string, who protocol.ParticipantID) {
	r.w.Participants = slices.DeleteFunc(slices.Clone(r.w.Participants), func(p protocol.Participant) bool { return p.ID == who })
	if event == protocol.PresenceJoin {
		r.w.Participants = append(r.w.Participants, protocol.Participant{ID: who})
	}
	r.sees(protocol.Envelope{
		From: protocol.GatewayID, Kind: protocol.KindSystemPresence,
		Payload: fmt.Appendf(nil, `{"event":%q,"participant":{"id":%q}}`, event, who),
	})
}

func chatOf(who protocol.ParticipantID, id protocol.ID, text string) protocol.Envelope {
	env := client.Chat(text)
	env.From, env.ID = who, id
	return env
}

func TestIsAgent(t *testing.T) {
	start := func(about protocol.ID) protocol.Envelope {
		return protocol.Envelope{ID: "c-1", From: "bob", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(about)}
	}
	for name, test := range map[string]struct {
		does func(*room)
		want bool
	}{
		"one who says something": {func(*room) {}, false},
		"one who joins in somebody's thinking": {func(r *room) {
			r.sees(protocol.Envelope{From: "bob", Kind: protocol.KindReasoningThought, Context: "c-2"})
			r.sees(protocol.Envelope{From: "bob", Kind: protocol.KindReasoningConclusion, Context: "c-2"})
		}, false},
		"one who reasons about nothing that was said":   {func(r *room) { r.sees(start("else")) }, false},
		"one who reasons about what he said himself":    {func(r *room) { r.sees(start("by-bob")) }, false},
		"one who reasons about what somebody else said": {func(r *room) { r.sees(start("by-alice")) }, true},
		"and says something that answers nothing": {func(r *room) {
			r.sees(start("by-alice"))
			r.sees(chatOf("bob", "more", "by the way"))
		}, true},
		"and whose neighbour leaves": {func(r *room) {
			r.sees(start("by-alice"))
			r.presence(protocol.PresenceLeave, "alice")
		}, true},
		"and leaves, and comes back": {func(r *room) {
			r.sees(start("by-alice"))
			r.presence(protocol.PresenceLeave, "bob")
			r.presence(protocol.PresenceJoin, "bob")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(Any)
			r.presence(protocol.PresenceJoin, "alice")
			r.presence(protocol.PresenceJoin, "bob")
			r.sees(chatOf("alice", "by-alice", "well?"))
			r.sees(chatOf("bob", "by-bob", "hm"))
			test.does(r)
			question := chatOf("bob", "q", "and what do you think?")
			r.sees(question)
			if got := !r.t.IsQuestion(&question); got != test.want {
				t.Errorf("taken for an agent: %t", got)
			}
		})
	}
}

// The reason why a chat is not answered names the bound or the rule that it meets.
func TestWhyIgnored(t *testing.T) {
	to := func(env protocol.Envelope, ids ...protocol.ParticipantID) protocol.Envelope {
		env.To = ids
		return env
	}
	inContext := chatOf("alice", "q", "hm")
	inContext.Context = "c-1"
	for name, c := range map[string]struct {
		mode Mode
		chat protocol.Envelope
		want string
	}{
		"a question":              {Auto, chatOf("alice", "q", "what is this?"), ""},
		"its own":                 {Auto, chatOf("planner", "q", "hello"), "it is the agent's own"},
		"of the gateway":          {Auto, chatOf(protocol.GatewayID, "q", "hello"), "it is the gateway's"},
		"empty":                   {Auto, chatOf("alice", "q", " "), "it has no text"},
		"to others":               {Auto, to(chatOf("alice", "q", "@planner"), "carol"), "it is addressed to others"},
		"a remark":                {Any, inContext, "it is in a context, and does not name the agent"},
		"of an agent":             {Any, chatOf("bob", "q", "so it is"), "an agent's chat does not name the agent"},
		"for another name":        {Any, chatOf("alice", "q", "@carol hello"), "it begins with another name"},
		"which mentions another":  {Any, chatOf("alice", "q", "ask @bob"), "it mentions others"},
		"among agents":            {Auto, chatOf("alice", "q", "who knows?"), "it names no agent, and several are connected"},
		"to all, if it must name": {Mentioned, chatOf("alice", "q", "who knows?"), "it does not name the agent"},
		"beyond the hops":         {Auto, chatOf("bob", "deep", "@planner go on"), "an agent asks, beyond the bound of hops"},
		"of an agent, once more":  {Auto, chatOf("bob", "q", "@planner go on"), "this agent has had all its answers, until a person sends a chat"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(c.mode)
			r.presence(protocol.PresenceJoin, "alice")
			if c.want != "" {
				r.presence(protocol.PresenceJoin, "bob")
				r.sees(chatOf("alice", "by-alice", "well?"))
				r.sees(protocol.Envelope{ID: "by-bob", Kind: protocol.KindReasoningStart, From: "bob", Correlation: protocol.CorrelateTo("by-alice")})
			}
			if c.chat.ID == "deep" {
				r.t.hops = 0
			} else if c.chat.From == "bob" {
				r.t.rateGuard["bob"] = maxAgentQuestions
			}
			r.sees(c.chat)
			if got := r.t.WhyIgnored(&c.chat); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := r.t.IsQuestion(&c.chat); got != (c.want == "") {
				t.Errorf("a question: %t", got)
			}
		})
	}
}

// TestIsQuestion_MentionOfAnother checks that an agent that answers any chat
// leaves a chat to the agent that it mentions.
func TestIsQuestion_MentionOfAnother(t *testing.T) {
	for text, want := range map[string]bool{
		"@bob, what is this?":           false,
		"@bob and @planner, well?":      true,
		"@bobby, what is this?":         false,
		"what is @bobby?":               true,
		"what does bob@example.org do?": true,
	} {
		t.Run(text, func(t *testing.T) {
			r := newRoom(Any)
			r.presence(protocol.PresenceJoin, "alice")
			r.presence(protocol.PresenceJoin, "bob")
			r.sees(chatOf("alice", "by-alice", "well?"))
			r.sees(protocol.Envelope{ID: "by-bob", Kind: protocol.KindReasoningStart, From: "bob", Correlation: protocol.CorrelateTo("by-alice")})
			question := chatOf("alice", "q", text)
			if got := r.t.IsQuestion(&question); got != want {
				t.Errorf("a question: %t", got)
			}
		})
	}
}

// A chat that begins with a mention of another name is for that one, also if it is away, not an
// agent, or unknown: a misspelled name is no question for others.
func TestIsQuestion_ForAnother(t *testing.T) {
	for text, want := range map[string]bool{
		"@bob what is this?":            false,
		" @Bob: what is this?":          false,
		"@bob.":                         false,
		"@carol well?":                  false,
		"@guest, well?":                 false,
		"@alice2 @bob well?":            false,
		"@bobby what is this?":          false,
		"@Override, what does it do?":   false,
		"@planer what is this?":         false,
		"@types/node, what is it?":      true,
		"@alice@example.org wrote this": false,
		"@jürgen, what is this?":        false,
		"@プランナー what is this?":          false,
		"@bob @planner what is this?":   true,
		"@planner what does @bob say?":  true,
		"what does @bob say about this": true,
		"@":                             true,
	} {
		for _, mode := range []Mode{Any, Auto} {
			t.Run(fmt.Sprint(mode, " ", text), func(t *testing.T) {
				r := newRoom(mode)
				r.presence(protocol.PresenceJoin, "alice")
				r.presence(protocol.PresenceJoin, "bob")
				r.presence(protocol.PresenceLeave, "bob")
				invited := chatOf("alice", "c-1", "hello")
				invited.To = []protocol.ParticipantID{"carol"}
				r.sees(invited)
				r.sees(chatOf("guest", "c-2", "hello"))
				question := chatOf("alice", "q", text)
				if got := r.t.IsQuestion(&question); got != want {
					t.Errorf("a question: %t", got)
				}
			})
		}
	}
}

func TestWithoutMention(t *testing.T) {
	c := NewClassifier("planner", "Helfer", Auto, 4, nil)
	for text, want := range map[string]string{
		"@planner what is this?":   "what is this?",
		" @Planner, what is this?": "what is this?",
		"@helfer: what is this?":   "what is this?",
		"@planner\nwhat is this?":  "what is this?",
		"@planner2 what is this?":  "@planner2 what is this?",
		"@planner":                 "@planner",
		"@planner, ":               "@planner, ",
		"what is @planner?":        "what is @planner?",
		"@plannér what is this?":   "@plannér what is this?",
	} {
		t.Run(text, func(t *testing.T) {
			if got := c.WithoutMention(text); got != want {
				t.Errorf("%q", got)
			}
		})
	}
}

// A chat that correlates to one by which this agent asked is its answer, and no question.
func TestIsQuestion_AnswerToOwnChat(t *testing.T) {
	to := func(ids ...protocol.ParticipantID) func(*protocol.Envelope) {
		return func(env *protocol.Envelope) { env.To = ids }
	}
	about := func(id protocol.ID) func(*protocol.Envelope) {
		return func(env *protocol.Envelope) { env.Correlation = protocol.CorrelateTo(id) }
	}
	inside := func(env *protocol.Envelope) { env.Context = "c-1" }
	type changes []func(*protocol.Envelope)
	for name, test := range map[string]struct {
		own   changes // of the agent's chat
		from  protocol.ParticipantID
		reply changes // of the chat about it
		want  bool
	}{
		"an agent that was asked":              {changes{to("bob")}, "bob", changes{to("planner"), about("own")}, false},
		"an agent that answers to all":         {changes{to("bob")}, "bob", changes{about("own")}, false},
		"an agent that a mention asked":        {nil, "bob", changes{about("own")}, false},
		"asked within a context":               {changes{to("bob"), inside, about("c-1")}, "bob", changes{to("planner"), about("own")}, false},
		"asked about the reasoning":            {changes{to("bob"), about("c-1")}, "bob", changes{to("planner"), about("own")}, false},
		"asked about the question of another":  {changes{to("bob"), about("by-alice")}, "bob", changes{to("planner"), about("own")}, false},
		"a person that was asked":              {changes{to("alice")}, "alice", changes{to("planner"), about("own")}, false},
		"a person about an answer":             {changes{to("alice"), about("by-alice")}, "alice", changes{to("planner"), about("own")}, true},
		"a person about an answer to all":      {changes{about("by-alice")}, "carol", changes{about("own")}, true},
		"a person about what was said to all":  {nil, "alice", changes{about("own")}, true},
		"an agent about an answer":             {changes{to("bob"), about("by-bob")}, "bob", changes{to("planner"), about("own")}, true},
		"an agent with a question of its own":  {changes{to("bob")}, "bob", changes{to("planner")}, true},
		"a person about an unknown question":   {changes{to("alice"), about("dropped")}, "alice", changes{to("planner"), about("own")}, true},
		"a person about a chat to another one": {changes{to("bob")}, "alice", changes{to("planner"), about("own")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(Mentioned)
			for _, who := range []protocol.ParticipantID{"alice", "bob", "carol"} {
				r.presence(protocol.PresenceJoin, who)
			}
			r.sees(chatOf("alice", "by-alice", "@planner well?"))
			r.sees(protocol.Envelope{ID: "c-bob", Kind: protocol.KindReasoningStart, From: "bob", Correlation: protocol.CorrelateTo("by-alice")})
			r.sees(chatOf("bob", "by-bob", "@planner well?"))
			r.sees(protocol.Envelope{ID: "c-1", Kind: protocol.KindReasoningStart, From: "planner", Correlation: protocol.CorrelateTo("by-alice")})
			own, reply := chatOf("planner", "own", "@bob is it safe?"), chatOf(test.from, "reply", "@planner it is")
			for _, change := range test.own {
				change(&own)
			}
			for _, change := range test.reply {
				change(&reply)
			}
			r.sees(own)
			r.sees(reply)
			if got := r.t.IsQuestion(&reply); got != test.want {
				t.Errorf("a question: %t, want %t", got, test.want)
			}
		})
	}
}
