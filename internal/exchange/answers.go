package exchange

import (
	"encoding/json"
	"slices"

	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of Answers. Each table keeps at least as many entries, at most twice
// as many, and drops the oldest.
const (
	maxChats    = 1024
	maxContexts = 1024
	maxTakers   = 256
	maxTasks    = 8 // of each participant; the oldest is dropped
)

// Answers finds the question that a chat answers, or that a context is opened for, where
// no correlation names it. Clients of MEW acknowledge a chat and correlate nothing else to
// it. docs/protocol/8-turns.md states its rules; the page has them in TypeScript, held
// to the cases in internal/turns/testdata.
//
// It follows the envelopes of one space in the order of its log. It is used by one goroutine.
type Answers struct {
	chats    *recent.Map[protocol.ID, chat]
	contexts *recent.Map[string, struct{}] // outermost ones
	takers   *recent.Map[protocol.ParticipantID, *taker]
	last     protocol.ID // the last chat, if it is a question to all that no participant has taken
}

// NewAnswers returns the Answers of an empty log.
func NewAnswers() *Answers {
	return &Answers{
		chats:    recent.New[protocol.ID, chat](maxChats),
		contexts: recent.New[string, struct{}](maxContexts),
		takers:   recent.New[protocol.ParticipantID, *taker](maxTakers),
	}
}

// chat is a chat outside of contexts.
type chat struct {
	From   protocol.ParticipantID `json:"f"`
	Answer bool                   `json:"a,omitempty"` // it answers a question, so it is not a question itself
}

// taker is a participant with the questions that it has to answer, oldest first
// and one of each asker at most.
type taker struct {
	Taken []task `json:"t,omitempty"`
	Asked []task `json:"a,omitempty"` // addressed to it, and neither taken nor answered
}

// task is a question to one participant.
type task struct {
	Question protocol.ID            `json:"q"`
	Asker    protocol.ParticipantID `json:"a"`
	Context  string                 `json:"c,omitempty"` // the outermost context that was opened for it; "": none
}

// Apply adds the next envelope. For a chat it returns the question that the
// chat answers, and for an envelope that opens an outermost context the
// question that its sender takes with it. It returns "" if there is none, or if
// a correlation identifies it without these rules.
func (t *Answers) Apply(env *protocol.Envelope) (question protocol.ID) {
	switch {
	case env.From == protocol.GatewayID:
	case env.Kind == protocol.KindChat && env.Context == "":
		return t.addChat(env)
	case env.Kind == protocol.KindChatAcknowledge:
		for _, id := range env.Correlation.IDs { // the sender takes the questions
			if c, known := t.chats.Get(id); known && !c.Answer && c.From != env.From {
				t.take(env.From, task{Question: id, Asker: c.From})
			}
		}
	case env.Context != "" && OpensQuestion(env.Kind):
		return t.open(env, string(env.Context.Root()))
	case env.Kind == protocol.KindReasoningStart:
		return t.open(env, string(env.ID))
	}
	return ""
}

// OpensQuestion reports whether the sender of a kind in a context without an opener
// counts as its opener.
func OpensQuestion(k protocol.Kind) bool {
	switch k {
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		return true
	}
	return k.IsReasoning() && k != protocol.KindReasoningCancel
}

// addChat returns the question that a chat answers. A chat that answers none is a question
// to the participants that it is addressed to.
func (t *Answers) addChat(env *protocol.Envelope) protocol.ID {
	w, known := t.takers.Get(env.From)
	if !known {
		w = new(taker)
	}
	var question protocol.ID
	answer := false
	for _, id := range env.Correlation.IDs {
		c, isChat := t.chats.Get(id)
		answer = answer || isChat && !c.Answer && c.From != env.From
		if done := w.answer(id, isChat); question == "" {
			question = done
		}
	}
	if len(env.Correlation.IDs) == 0 {
		question = w.answerUnnamed(env)
	}
	answer = answer || question != ""
	t.chats.Put(env.ID, chat{env.From, answer})
	t.last = ""
	if answer {
		return question
	}
	if len(env.To) == 0 {
		t.last = env.ID
	}
	for _, id := range env.To {
		if id != env.From {
			to := t.taker(id)
			to.Asked = add(to.Asked, task{Question: env.ID, Asker: env.From})
		}
	}
	return question
}

// open lets the opener of an outermost context take the chat that it correlates
// to, or without a correlation the question that it is about to answer. It does
// nothing if the context is open already.
func (t *Answers) open(env *protocol.Envelope, name string) protocol.ID {
	if _, known := t.contexts.Get(name); known {
		return ""
	}
	t.contexts.Put(name, struct{}{})
	for _, id := range env.Correlation.IDs {
		if c, known := t.chats.Get(id); known && c.From != env.From {
			t.take(env.From, task{id, c.From, name})
			return id
		}
	}
	if len(env.Correlation.IDs) > 0 {
		return ""
	}
	if w, known := t.takers.Get(env.From); known {
		if k, ok := w.next(); ok {
			t.take(env.From, task{k.Question, k.Asker, name})
			return k.Question
		}
	}
	// A start inside its own, new context is from a client that names contexts and
	// correlates only its answer to them.
	question := t.last
	c, known := t.chats.Get(question)
	if env.Kind != protocol.KindReasoningStart || env.Context == "" || !known || c.From == env.From {
		return ""
	}
	t.take(env.From, task{question, c.From, name})
	return question
}

// take assigns to a participant the question that it is to answer, one for each
// asker.
func (t *Answers) take(who protocol.ParticipantID, k task) {
	if t.last == k.Question {
		t.last = ""
	}
	w := t.taker(who)
	same := func(x task) bool { return x.Question == k.Question }
	if i := slices.IndexFunc(w.Taken, same); i >= 0 && k.Context == "" {
		k.Context = w.Taken[i].Context
	}
	w.Asked = slices.DeleteFunc(w.Asked, same)
	w.Taken = add(w.Taken, k)
}

func (t *Answers) taker(id protocol.ParticipantID) *taker {
	w, known := t.takers.Get(id)
	if !known {
		w = new(taker)
	}
	t.takers.Put(id, w)
	return w
}

// next returns the question that a context without a correlation is opened for:
// the last one taken that has no context, else the last one asked.
func (w *taker) next() (task, bool) {
	for _, k := range slices.Backward(w.Taken) {
		if k.Context == "" {
			return k, true
		}
	}
	if len(w.Asked) == 0 {
		return task{}, false
	}
	return w.Asked[len(w.Asked)-1], true
}

// answer removes the question that a chat correlates to, by its id or, if the
// id is not a chat's, by the name of the context that was opened for it. It
// returns the question if it was taken.
func (w *taker) answer(id protocol.ID, isChat bool) (question protocol.ID) {
	named := func(k task) bool { return k.Question == id || !isChat && k.Context == string(id) }
	if i := slices.IndexFunc(w.Taken, named); i >= 0 {
		question = w.Taken[i].Question
	}
	w.Taken, w.Asked = slices.DeleteFunc(w.Taken, named), slices.DeleteFunc(w.Asked, named)
	return question
}

// answerUnnamed returns the taken question that a chat without a correlation
// answers, and removes it: the last one of a participant that the chat is addressed
// to, or the only one if it is addressed to all.
func (w *taker) answerUnnamed(env *protocol.Envelope) protocol.ID {
	for i, k := range slices.Backward(w.Taken) {
		if env.AddressedTo(k.Asker) || len(env.To) == 0 && len(w.Taken) == 1 {
			w.Taken = slices.Delete(w.Taken, i, i+1)
			return k.Question
		}
	}
	return ""
}

// add appends a task, replacing the one of the same asker.
func add(list []task, k task) []task {
	list = slices.DeleteFunc(list, func(x task) bool { return x.Asker == k.Asker })
	if len(list) == maxTasks {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, k)
}

// saved is the state of Answers, as JSON: of each table the younger and the older
// generation.
type saved struct {
	Chats    [2]map[protocol.ID]chat              `json:"chats"`
	Contexts [2]map[string]struct{}               `json:"contexts"`
	Takers   [2]map[protocol.ParticipantID]*taker `json:"takers"`
	Last     protocol.ID                          `json:"last,omitempty"`
}

// Save returns the state for [RestoreAnswers].
func (t *Answers) Save() ([]byte, error) {
	s := saved{Last: t.last}
	s.Chats[0], s.Chats[1] = t.chats.Generations()
	s.Contexts[0], s.Contexts[1] = t.contexts.Generations()
	s.Takers[0], s.Takers[1] = t.takers.Generations()
	return json.Marshal(s)
}

// RestoreAnswers returns Answers with a state that was saved.
func RestoreAnswers(state []byte) (*Answers, error) {
	var s saved
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, err
	}
	for _, takers := range s.Takers {
		for id, w := range takers {
			if w == nil {
				takers[id] = new(taker)
			}
		}
	}
	return &Answers{
		chats:    recent.Restore(maxChats, s.Chats[0], s.Chats[1]),
		contexts: recent.Restore(maxContexts, s.Contexts[0], s.Contexts[1]),
		takers:   recent.Restore(maxTakers, s.Takers[0], s.Takers[1]),
		last:     s.Last,
	}, nil
}
