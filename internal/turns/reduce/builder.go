package reduce

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// Builder is the reducer of one turn: it is fed its items in order, all of them or
// the ones that one viewer may see. It depends on no text of an item but the name of
// a tool.
type Builder struct {
	first    *Item
	chat     *Item // that began the turn; nil for a job
	answers  []*Item
	feedback []*Item
	contexts []*span // in order of their beginning
	byPath   map[protocol.ContextPath]*span
	byStart  map[string]*span         // by the last segment
	agents   []protocol.ParticipantID // who opened them, in that order

	states    map[contextKey]*contextState
	thoughts  map[protocol.ID]*thought
	inOrder   []*thought
	calls     []*call
	byID      map[protocol.ID]*call // by request, by proposal, and by the request that fulfills one
	offers    map[protocol.ID]offer
	numbering map[protocol.ParticipantID]*numbering

	cancel *Item // the chat.cancel

	ended *contextState // whose step the item that is being added has ended, the last one; nil: none
}

// NewBuilder returns the reducer of a turn without items.
func NewBuilder() *Builder {
	return &Builder{
		byPath:    make(map[protocol.ContextPath]*span),
		byStart:   make(map[string]*span),
		states:    make(map[contextKey]*contextState),
		thoughts:  make(map[protocol.ID]*thought),
		byID:      make(map[protocol.ID]*call),
		offers:    make(map[protocol.ID]offer),
		numbering: make(map[protocol.ParticipantID]*numbering),
	}
}

// Build reduces all items at once.
func Build(items []*Item) *Builder {
	b := NewBuilder()
	for _, it := range items {
		b.Add(it)
	}
	return b
}

// span is one context.
type span struct {
	path      protocol.ContextPath
	opener    protocol.ParticipantID // "": none yet
	begun     time.Time
	start     *Item                  // that opened it; nil: none did
	asked     protocol.ParticipantID // that the start asks to reason in it; "": none
	why       *thought               // that led to a part
	closed    *Item
	concluded bool
}

// contextKey identifies a strand.
type contextKey struct {
	path protocol.ContextPath
	from protocol.ParticipantID
}

// contextState is the reasoning of one participant in one context.
type contextState struct {
	contextKey
	thoughts []*thought
	calls    []*call // that have not ended
	group    int     // that the last thoughts announced; -1: none
	due      bool
	awaited  int   // calls that the last thoughts announced and that have not begun
	lead     *call // the first one of the batch that the next call joins; nil: none
}

// thought is a reasoning.thought, or a note: an observation, a hypothesis or a question.
type thought struct {
	it      *Item
	state   *contextState
	awaited bool // announced a call that has not begun
	claimed bool // is the rationale of a call
	divides bool // led to a context of its own
}

// Add adds the next item, and returns the agent whose step it ends, if it ends
// one.
func (b *Builder) Add(it *Item) (agent protocol.ParticipantID, ended bool) {
	b.ended = nil
	env := it.Env()
	if env.Kind == protocol.KindFeedback { // about the turn, and no part of it
		b.feedback = append(b.feedback, it)
		return "", false
	}
	if b.first == nil {
		b.first = it
	}
	if env.Context != "" { // opened or not
		if c := b.context(env.Context, it); exchange.OpensQuestion(env.Kind) && (c.opener == "" || c.asked == env.From) {
			if c.opener == "" {
				c.opener = env.From
			}
			b.addAgent(env.From)
		}
	}
	b.acceptNamed(env)
	switch env.Kind {
	case protocol.KindChat:
		b.addChat(it)
	case protocol.KindChatCancel:
		if b.chat != nil && env.Correlation.Names(b.chat.Env().ID) && b.cancel == nil {
			b.cancel = it
		}
	case protocol.KindReasoningStart:
		b.openContext(it)
	case protocol.KindReasoningConclusion, protocol.KindReasoningCancel:
		switch {
		case env.Context != "":
			b.closeContext(b.byPath[env.Context], it)
		case env.Kind == protocol.KindReasoningCancel: // outside of all contexts
			for _, id := range env.Correlation.IDs {
				b.closeContext(b.byStart[string(id)], it)
			}
		}
	case protocol.KindReasoningThought, protocol.KindReasoningObservation, protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion:
		b.addThought(it)
	case protocol.KindMCPRequest:
		b.request(it)
	case protocol.KindMCPProposal:
		b.begin(it)
	case protocol.KindMCPResponse:
		b.respond(it)
	case protocol.KindMCPReject, protocol.KindMCPWithdraw:
		b.decide(it)
	}
	if b.ended == nil || !b.isAgent(b.ended.from) {
		return "", false
	}
	return b.ended.from, true
}

func (b *Builder) addChat(it *Item) {
	switch {
	case it.Env().Context != "":
		return
	case b.chat == nil:
		b.chat = it
	default:
		b.answers = append(b.answers, it)
	}
	if len(b.offers) == 0 {
		return
	}
	for _, c := range b.calls {
		if c.state.from == it.Env().From && len(c.offers) > 0 {
			b.continueStep(c.state, -1)
		}
	}
}

// context returns the context of a path. An unknown one begins with the item.
func (b *Builder) context(path protocol.ContextPath, it *Item) *span {
	c := b.byPath[path]
	if c == nil {
		c = &span{path: path, begun: it.Env().TS}
		b.byPath[path], b.byStart[path.Last()] = c, c
		b.contexts = append(b.contexts, c)
	}
	return c
}

func (b *Builder) addAgent(who protocol.ParticipantID) {
	if !b.isAgent(who) {
		b.agents = append(b.agents, who)
	}
}

// isAgent reports whether a participant opened a context of the turn, or called a
// tool for its chat.
func (b *Builder) isAgent(who protocol.ParticipantID) bool { return slices.Contains(b.agents, who) }

// openContext opens a context. A context for a thought that announced a call
// takes the place of that call.
func (b *Builder) openContext(it *Item) {
	env := it.Env()
	c := b.context(env.Context.Child(env.ID), it)
	c.opener, c.start, c.asked = env.From, it, it.asked
	b.addAgent(env.From)
	for _, id := range env.Correlation.IDs {
		if t := b.thoughts[id]; t != nil && t.it.Env().From == env.From {
			t.divides = true
			if c.asked != "" {
				c.why, t.claimed = t, true
			}
			b.callBegan(t)
			return
		}
	}
}

// closeContext closes a context, and those below it that its opener, or the participant that
// was asked, left open. The conclusion of a part counts only if it is from who was asked.
func (b *Builder) closeContext(c *span, it *Item) {
	concludes := it.Env().Kind == protocol.KindReasoningConclusion
	if c == nil || concludes && c.asked != "" && c.asked != it.Env().From {
		return
	}
	for _, x := range b.contexts {
		if x.closed != nil || !x.path.Within(c.path) || x.opener != c.opener && x.opener != c.reasoner() {
			continue
		}
		x.closed, x.concluded = it, concludes
		who := x.reasoner()
		if s := b.states[contextKey{x.path, who}]; s != nil && (who == c.opener || who == c.reasoner()) {
			b.continueStep(s, -1)
		}
	}
}

func (b *Builder) state(path protocol.ContextPath, from protocol.ParticipantID) *contextState {
	k := contextKey{path, from}
	s := b.states[k]
	if s == nil {
		s = &contextState{contextKey: k, group: -1}
		b.states[k] = s
	}
	return s
}

// addThought adds a thought or a note. One outside the batch before it means that its
// author continues without the missing calls. A note explains only a call that names it.
func (b *Builder) addThought(it *Item) {
	env := it.Env()
	if env.Context == "" {
		return
	}
	s := b.state(env.Context, env.From)
	announces, group := it.tool.text != "" && it.group >= 0, -1
	if announces {
		group = it.group
		b.assumeAccepted(s, group)
	}
	if !announces || it.group != s.group {
		b.continueStep(s, group)
		s.group = -1
	}
	s.lead = nil
	t := &thought{it: it, state: s}
	if announces {
		s.group, t.awaited = it.group, true
		s.awaited++
	}
	if env.Kind == protocol.KindReasoningThought {
		s.thoughts = append(s.thoughts, t)
	}
	b.inOrder = append(b.inOrder, t)
	b.thoughts[env.ID] = t
}

// continueStep accepts offered answers, as the participant of a strand has
// continued, drops the announced calls that did not follow, and ends the step if
// it waits for nothing else. group is that of the thought by which it continues;
// -1: none.
func (b *Builder) continueStep(s *contextState, group int) {
	b.assumeAccepted(s, group)
	s.awaited = 0
	b.closeStep(s)
}

// closeStep ends the step of a strand, once, when it waits for nothing.
func (b *Builder) closeStep(s *contextState) {
	if s.due && len(s.calls) == 0 && s.awaited == 0 {
		s.due, b.ended = false, s
	}
}

// callBegan records that the call which a thought announced has begun.
func (b *Builder) callBegan(t *thought) {
	if t.awaited && t.state.awaited > 0 {
		t.state.awaited--
	}
	t.awaited = false
	b.closeStep(t.state)
}

// explanation returns the last thought that may explain a call of a tool.
func (s *contextState) explanation(tool string) *thought {
	const look = 64 // thoughts back
	for i := len(s.thoughts) - 1; i >= max(0, len(s.thoughts)-look); i-- {
		if t := s.thoughts[i]; !t.it.raw && t.it.text.text != "" && (t.it.tool.text == "" || t.it.tool.text == tool) {
			return t
		}
	}
	return nil
}

// latest returns the last thought with a text, which explains the next call unless
// that names another one; nil: none.
func (s *contextState) latest() *thought {
	for _, t := range slices.Backward(s.thoughts) {
		if !t.it.raw && t.it.text.text != "" {
			return t
		}
	}
	return nil
}

// isClosed reports whether a context, or one around it, is closed.
func (b *Builder) isClosed(path protocol.ContextPath) bool {
	for ; path != ""; path = path.Parent() {
		if c := b.byPath[path]; c != nil && c.closed != nil {
			return true
		}
	}
	return false
}

// outermost reports whether no context of the turn lies around c.
func (b *Builder) outermost(c *span) bool {
	root := c.path.Root()
	return root == c.path || b.byPath[root] == nil
}
