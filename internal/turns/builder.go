package turns

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/answers"
	"github.com/meup-protocol/meup/protocol"
)

// builder is the reducer of one turn: it is fed its items in order, all of them or
// those that one viewer may see. It depends on no text of an item but the name of
// a tool.
type builder struct {
	chat     *item // that began the turn; nil for a job
	answers  []*item
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

	cancel *item // the chat.cancel

	ended *contextState // whose step the item that is being added has ended, the last one; nil: none
}

func newBuilder() *builder {
	return &builder{
		byPath:    make(map[protocol.ContextPath]*span),
		byStart:   make(map[string]*span),
		states:    make(map[contextKey]*contextState),
		thoughts:  make(map[protocol.ID]*thought),
		byID:      make(map[protocol.ID]*call),
		offers:    make(map[protocol.ID]offer),
		numbering: make(map[protocol.ParticipantID]*numbering),
	}
}

// build reduces all items at once.
func build(items []*item) *builder {
	b := newBuilder()
	for _, it := range items {
		b.add(it)
	}
	return b
}

// span is one context.
type span struct {
	path      protocol.ContextPath
	opener    protocol.ParticipantID // "": none yet
	begun     time.Time
	closed    *item
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
	thoughts  []*thought
	calls     []*call // that have not ended
	group     int     // that the last thoughts announced; -1: none
	due       bool
	awaited   int     // calls that the last thoughts announced and that have not begun
	ungrouped []*call // open ones that overlap and that no thought gave a group
	running   int     // of the loose ones
}

// thought is a reasoning.thought.
type thought struct {
	it      *item
	state   *contextState
	awaited bool // announced a call that has not begun
	claimed bool // is the rationale of a call
	divides bool // led to a context of its own
}

// add adds the next item, and returns the agent whose step it ends, if it ends
// one.
func (b *builder) add(it *item) (agent protocol.ParticipantID, ended bool) {
	b.ended = nil
	env := it.env()
	if env.Context != "" { // opened or not
		if c := b.context(env.Context, it); c.opener == "" && answers.Opens(env.Kind) {
			c.opener = env.From
			b.addAgent(env.From)
		}
	}
	b.acceptNamed(env)
	b.dispatch(it)
	if b.ended == nil || !b.isAgent(b.ended.from) {
		return "", false
	}
	return b.ended.from, true
}

func (b *builder) dispatch(it *item) {
	env := it.env()
	switch env.Kind {
	case protocol.KindChat:
		b.addChat(it)
	case protocol.KindChatCancel:
		if b.chat != nil && env.Correlation.Names(b.chat.env().ID) && b.cancel == nil {
			b.cancel = it
		}
	case protocol.KindReasoningStart:
		b.openContext(it)
	case protocol.KindReasoningConclusion, protocol.KindReasoningCancel:
		b.closeContexts(it)
	case protocol.KindReasoningThought:
		b.addThought(it)
	case protocol.KindReasoningObservation, protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion:
		b.addNote(it)
	case protocol.KindMCPRequest:
		b.request(it)
	case protocol.KindMCPProposal:
		b.begin(it)
	case protocol.KindMCPResponse:
		b.respond(it)
	case protocol.KindMCPReject, protocol.KindMCPWithdraw:
		b.decide(it)
	}
}

func (b *builder) addChat(it *item) {
	switch {
	case it.env().Context != "":
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
		if c.state.from == it.env().From && len(c.offers) > 0 {
			b.continueStep(c.state, -1)
		}
	}
}

// context returns the context of a path. An unknown one begins with the item.
func (b *builder) context(path protocol.ContextPath, it *item) *span {
	c := b.byPath[path]
	if c == nil {
		c = &span{path: path, begun: it.env().TS}
		b.byPath[path], b.byStart[path.Last()] = c, c
		b.contexts = append(b.contexts, c)
	}
	return c
}

func (b *builder) addAgent(who protocol.ParticipantID) {
	if !b.isAgent(who) {
		b.agents = append(b.agents, who)
	}
}

// isAgent reports whether a participant opened a context of the turn, or called a
// tool for its chat.
func (b *builder) isAgent(who protocol.ParticipantID) bool { return slices.Contains(b.agents, who) }

// openContext opens a context. A context for a thought that announced a call
// takes the place of that call.
func (b *builder) openContext(it *item) {
	env := it.env()
	c := b.context(env.Context.Child(env.ID), it)
	c.opener = env.From
	b.addAgent(env.From)
	for _, id := range env.Correlation.IDs {
		if t := b.thoughts[id]; t != nil && t.it.env().From == env.From {
			t.divides = true
			b.callBegan(t)
			return
		}
	}
}

// closeContexts closes the context of an item, or those that a cancel outside of
// all contexts names.
func (b *builder) closeContexts(it *item) {
	env := it.env()
	switch {
	case env.Context != "":
		b.closeContext(b.byPath[env.Context], it)
	case env.Kind == protocol.KindReasoningCancel:
		for _, id := range env.Correlation.IDs {
			b.closeContext(b.byStart[string(id)], it)
		}
	}
}

// closeContext closes a context, and those below it that its opener left open.
func (b *builder) closeContext(c *span, it *item) {
	if c == nil {
		return
	}
	for _, x := range b.contexts {
		if x.closed != nil || x.opener != c.opener || !x.path.Within(c.path) {
			continue
		}
		x.closed, x.concluded = it, it.env().Kind == protocol.KindReasoningConclusion
		if s := b.states[contextKey{x.path, x.opener}]; s != nil {
			b.continueStep(s, -1)
		}
	}
}

func (b *builder) state(path protocol.ContextPath, from protocol.ParticipantID) *contextState {
	k := contextKey{path, from}
	s := b.states[k]
	if s == nil {
		s = &contextState{contextKey: k, group: -1}
		b.states[k] = s
	}
	return s
}

// addThought adds a thought. A thought outside the batch before it means that its
// author continues without the missing calls.
func (b *builder) addThought(it *item) {
	env := it.env()
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
	t := &thought{it: it, state: s}
	if announces {
		s.group, t.awaited = it.group, true
		s.awaited++
	}
	s.thoughts = append(s.thoughts, t)
	b.inOrder = append(b.inOrder, t)
	b.thoughts[env.ID] = t
}

// addNote adds an observation, a hypothesis or a question. It explains only a call
// that names it.
func (b *builder) addNote(it *item) {
	env := it.env()
	if env.Context == "" {
		return
	}
	s := b.state(env.Context, env.From)
	t := &thought{it: it, state: s}
	b.inOrder = append(b.inOrder, t)
	b.thoughts[env.ID] = t
	s.group = -1
	b.continueStep(s, -1)
}

// continueStep accepts offered answers, as the participant of a strand has
// continued, drops the announced calls that did not follow, and ends the step if
// it waits for nothing else. group is that of the thought by which it continues;
// -1: none.
func (b *builder) continueStep(s *contextState, group int) {
	b.assumeAccepted(s, group)
	s.awaited = 0
	b.closeStep(s)
}

// closeStep ends the step of a strand, once, when it waits for nothing.
func (b *builder) closeStep(s *contextState) {
	if s.due && len(s.calls) == 0 && s.awaited == 0 {
		s.due, b.ended = false, s
	}
}

// callBegan records that the call which a thought announced has begun.
func (b *builder) callBegan(t *thought) {
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

// isClosed reports whether a context, or one around it, is closed.
func (b *builder) isClosed(path protocol.ContextPath) bool {
	for ; path != ""; path = path.Parent() {
		if c := b.byPath[path]; c != nil && c.closed != nil {
			return true
		}
	}
	return false
}

// outermost reports whether no context of the turn lies around c.
func (b *builder) outermost(c *span) bool {
	root := rootOf(c.path)
	return root == c.path || b.byPath[root] == nil
}
