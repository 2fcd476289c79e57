package turns

import (
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// reading is a turn, or a job, as it is read from its items one after the
// other: of all of them, or of those that one viewer may see.
type reading struct {
	chat     *item // that began the turn; nil for a job
	answers  []*item
	contexts []*thinking // in order of their beginning
	byPath   map[protocol.ContextPath]*thinking
	byStart  map[string]*thinking     // by the last segment
	agents   []protocol.ParticipantID // who opened them, in that order

	strands   map[strandKey]*strand
	thoughts  map[protocol.ID]*thought
	inOrder   []*thought
	calls     []*call
	byID      map[protocol.ID]*call // by request, by proposal, and by what fulfils one
	numbering map[protocol.ParticipantID]*numbering

	calledOff *item // the chat.cancel
}

func newReading() *reading {
	return &reading{
		byPath:    make(map[protocol.ContextPath]*thinking),
		byStart:   make(map[string]*thinking),
		strands:   make(map[strandKey]*strand),
		thoughts:  make(map[protocol.ID]*thought),
		byID:      make(map[protocol.ID]*call),
		numbering: make(map[protocol.ParticipantID]*numbering),
	}
}

// read reads all items at once.
func read(items []*item) *reading {
	r := newReading()
	for _, it := range items {
		r.add(it)
	}
	return r
}

// thinking is one context.
type thinking struct {
	path      protocol.ContextPath
	opener    protocol.ParticipantID // "": nobody, yet
	begun     time.Time
	closed    *item
	concluded bool
}

// strandKey names what one participant says in one context.
type strandKey struct {
	path protocol.ContextPath
	from protocol.ParticipantID
}

// strand is what one participant says in one context.
type strand struct {
	strandKey
	thoughts []*thought
	open     int // calls that have not ended
	group    int // that the last thoughts have announced
	due      bool
	awaited  int     // calls that the last thoughts have announced and that have not begun
	loose    []*call // open ones that overlap and that no thought has given a group
	running  int     // of the loose ones
}

// thought is a reasoning.thought.
type thought struct {
	it      *item
	strand  *strand
	awaited bool // has announced a call that has not begun
	claimed bool // is the rationale of a call
	divides bool // has led to a context of its own
}

// add reads the next item. It returns the strand whose step is over by it, if
// one is.
func (r *reading) add(it *item) (ended *strand) {
	env := it.env()
	if env.Context != "" {
		r.enter(env.Context, it)
	}
	switch env.Kind {
	case protocol.KindChat:
		r.hear(it)
	case protocol.KindChatCancel:
		if r.chat != nil && env.Correlation.Names(r.chat.env().ID) && r.calledOff == nil {
			r.calledOff = it
		}
	case protocol.KindReasoningStart:
		return r.start(it)
	case protocol.KindReasoningConclusion, protocol.KindReasoningCancel:
		return r.close(it)
	case protocol.KindReasoningThought:
		return r.think(it)
	case protocol.KindReasoningObservation, protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion:
		return r.remark(it)
	case protocol.KindMCPRequest:
		return r.request(it)
	case protocol.KindMCPProposal:
		return r.begin(it)
	case protocol.KindMCPResponse:
		return r.respond(it)
	case protocol.KindMCPReject, protocol.KindMCPWithdraw:
		return r.decide(it)
	}
	return nil
}

func (r *reading) hear(it *item) {
	switch {
	case it.env().Context != "":
	case r.chat == nil:
		r.chat = it
	default:
		r.answers = append(r.answers, it)
	}
}

// enter notes that something stands in a context, whether it was opened or not.
func (r *reading) enter(path protocol.ContextPath, it *item) {
	c := r.context(path, it)
	if c.opener == "" && opens(it.env().Kind) {
		c.opener = it.env().From
		r.meet(c.opener)
	}
}

// context returns the context of a path, which begins with an item unless it is
// known.
func (r *reading) context(path protocol.ContextPath, it *item) *thinking {
	c := r.byPath[path]
	if c == nil {
		c = &thinking{path: path, begun: it.env().TS}
		r.byPath[path], r.byStart[path.Last()] = c, c
		r.contexts = append(r.contexts, c)
	}
	return c
}

func (r *reading) meet(who protocol.ParticipantID) {
	if !r.isAgent(who) {
		r.agents = append(r.agents, who)
	}
}

// isAgent reports whether somebody has opened a context.
func (r *reading) isAgent(who protocol.ParticipantID) bool {
	for _, a := range r.agents {
		if a == who {
			return true
		}
	}
	return false
}

// start opens a context. One for a thought that announced a call is that call.
func (r *reading) start(it *item) (ended *strand) {
	env := it.env()
	c := r.context(env.Context.Child(env.ID), it)
	c.opener = env.From
	r.meet(env.From)
	for _, id := range env.Correlation.IDs {
		if t := r.thoughts[id]; t != nil && t.it.env().From == env.From {
			t.divides = true
			return t.begun()
		}
	}
	return nil
}

// close ends the context that an item stands in, or those that a cancel from
// outside names.
func (r *reading) close(it *item) (ended *strand) {
	env := it.env()
	if env.Context != "" {
		return r.end(r.byPath[env.Context], it)
	}
	if env.Kind != protocol.KindReasoningCancel {
		return nil
	}
	for _, id := range env.Correlation.IDs {
		if s := r.end(r.byStart[string(id)], it); s != nil {
			ended = s
		}
	}
	return ended
}

func (r *reading) end(c *thinking, it *item) (ended *strand) {
	if c == nil || c.closed != nil {
		return nil
	}
	c.closed, c.concluded = it, it.env().Kind == protocol.KindReasoningConclusion
	if s := r.strands[strandKey{c.path, c.opener}]; s != nil {
		return s.goOn()
	}
	return nil
}

func (r *reading) strand(path protocol.ContextPath, from protocol.ParticipantID) *strand {
	k := strandKey{path, from}
	s := r.strands[k]
	if s == nil {
		s = &strand{strandKey: k, group: -1}
		r.strands[k] = s
	}
	return s
}

// think takes a thought. One that does not belong to the batch before it says
// that its author has gone on.
func (r *reading) think(it *item) (ended *strand) {
	env := it.env()
	if env.Context == "" {
		return nil
	}
	s := r.strand(env.Context, env.From)
	announces := it.tool != "" && it.group >= 0
	if !announces || it.group != s.group {
		ended = s.goOn()
		s.group = -1
	}
	t := &thought{it: it, strand: s}
	if announces {
		s.group, t.awaited = it.group, true
		s.awaited++
	}
	s.thoughts = append(s.thoughts, t)
	r.inOrder = append(r.inOrder, t)
	r.thoughts[env.ID] = t
	return ended
}

// remark takes a step that is no thought. It explains only the call that names
// it.
func (r *reading) remark(it *item) (ended *strand) {
	env := it.env()
	if env.Context == "" {
		return nil
	}
	s := r.strand(env.Context, env.From)
	t := &thought{it: it, strand: s}
	r.inOrder = append(r.inOrder, t)
	r.thoughts[env.ID] = t
	s.group = -1
	return s.goOn()
}

// goOn forgets the calls that were announced and did not come, and returns the
// strand if they were all that its step waited for.
func (s *strand) goOn() *strand {
	s.awaited = 0
	return s.over()
}

func (s *strand) over() *strand {
	if !s.due || s.open > 0 || s.awaited > 0 {
		return nil
	}
	s.due = false
	return s
}

// begun notes that what a thought has announced has begun. The step may have
// waited for nothing else.
func (t *thought) begun() *strand {
	if t.awaited && t.strand.awaited > 0 {
		t.strand.awaited--
	}
	t.awaited = false
	return t.strand.over()
}

// before finds the last thought that may explain a call of a tool.
func (s *strand) before(tool string) *thought {
	const look = 64 // thoughts back
	for i := len(s.thoughts) - 1; i >= max(0, len(s.thoughts)-look); i-- {
		if t := s.thoughts[i]; !t.it.raw && t.it.text != "" && (t.it.tool == "" || t.it.tool == tool) {
			return t
		}
	}
	return nil
}

// over reports whether a context, or one around it, is closed.
func (r *reading) over(path protocol.ContextPath) bool {
	for ; path != ""; path = path.Parent() {
		if c := r.byPath[path]; c != nil && c.closed != nil {
			return true
		}
	}
	return false
}

// outermost reports whether no context of the turn lies around c.
func (r *reading) outermost(c *thinking) bool {
	root, _, nested := strings.Cut(string(c.path), "/")
	return !nested || r.byPath[protocol.ContextPath(root)] == nil
}
