package hooks

import (
	"context"
	"sync"

	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the state in memory.
const (
	maxSessions  = 512             // the oldest are forgotten
	maxOwn       = maxSessions / 8 // of one participant
	maxCalls     = 64              // without a result, of a session
	maxUses      = 1024            // calls of a turn with a result; with more, the log is asked
	maxAgents    = 64              // subagents at work, of a session
	maxMessages  = 2               // messages of which only a part was displayed, of a session
	maxDelivered = 128             // chats, of a session
	maxPrompts   = 8               // prompts without an id, of a session; of others, the log is asked
)

// sessions are the sessions of agents that sent a hook lately. A session that was
// forgotten continues from its next event.
type sessions struct {
	mu   sync.Mutex
	uses uint64
	list map[sessionKey]*session
}

type sessionKey struct {
	space       string
	participant protocol.ParticipantID
	id          string
}

// get returns a session, and makes it the youngest. A new one takes the place of the
// oldest of a participant that has its share, or of the oldest of all if there are too many.
func (s *sessions) get(key sessionKey) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	found := s.list[key]
	if found != nil {
		found.used = s.uses
		return found
	}
	var oldest, oldestOwn *session
	own := 0
	for k, x := range s.list {
		oldest = older(oldest, x)
		if k.space == key.space && k.participant == key.participant {
			oldestOwn = older(oldestOwn, x)
			own++
		}
	}
	switch {
	case own >= maxOwn:
		delete(s.list, oldestOwn.key)
	case len(s.list) >= maxSessions:
		delete(s.list, oldest.key)
	}
	found = &session{
		key: key, used: s.uses, agents: make(map[string]protocol.ContextPath), calls: make(map[string]*call), uses: make(map[string]int),
		texts: make(map[string]string), delivered: recent.New[protocol.ID, struct{}](maxDelivered), prompts: recent.New[string, int](maxPrompts),
	}
	s.list[key] = found
	return found
}

// older returns the session that was used earlier; a may be nil.
func older(a, b *session) *session {
	if a == nil || b.used < a.used {
		return b
	}
	return a
}

// drop forgets a session that has ended.
func (s *sessions) drop(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[x.key] == x {
		delete(s.list, x.key)
	}
}

// session is the state of one session. The lock is not held during requests.
type session struct {
	key  sessionKey
	used uint64 // the number of the last use; the lock of sessions guards it

	mu        sync.Mutex
	turn      *turn                              // nil: none is open
	hidden    bool                               // the space does not show it
	warned    bool                               // the user was told
	agents    map[string]protocol.ContextPath    // contexts of subagents
	calls     map[string]*call                   // without a result, by their keys; a random one if no event announced it
	claims    []protocol.ID                      // of the open turn
	announced uint64                             // calls so far
	uses      map[string]int                     // of the open turn: how often a call was finished, by its use
	texts     map[string]string                  // the displayed parts of messages, by message_id
	pending   *message                           // complete, and not published yet
	since     protocol.Seq                       // chats up to here were considered
	log       string                             // of since
	delivered *recent.Map[protocol.ID, struct{}] // chats
	prompts   *recent.Map[string, int]           // how many turns of a prompt without an id have ended, by its text
}

// turn is the work on one prompt, or on chats that were delivered.
type turn struct {
	path    protocol.ContextPath
	prompt  string                   // id of the prompt
	to      []protocol.ParticipantID // who may see it; nil: all participants
	replyTo []protocol.ID            // the chats that its end answers
	chats   string                   // identifies the text of the delivered chats; "": a prompt began it
	// whole is set if the session knows all calls of the turn. Otherwise the log is asked
	// about earlier ones.
	whole bool
}

// message is a text that the agent displayed.
type message struct {
	id, text, agent string
}

// call is a call of a tool that has no result yet. The session's lock guards it.
type call struct {
	agent    string
	tool     string
	toolUse  string // id that the agent gave it; not unique
	use      string // identifies the call but for its occurrence; "": no event announced it
	n        int    // how many calls with this use were before it in the turn
	order    uint64 // number of the call in its session
	turn     *turn
	path     protocol.ContextPath
	sum      string      // of the name and the arguments
	asked    bool        // the agent had to ask its user
	request  protocol.ID // that records the call; "": it was not admitted
	thought  protocol.ID
	proposal protocol.ID        // "": none
	approved protocol.ID        // the request that fulfilled the proposal
	granted  bool               // the next request for permission is granted
	named    bool               // a capability names the call
	release  context.CancelFunc // ends the request that waits for the decision; nil: none waits
	settled  bool               // the call was made or dropped: it is not proposed any more
	proposed chan struct{}      // closed when the proposal was published, or was not; nil: there is none
}

// noProposal takes the place of a proposal that is not published yet, or is settled.
const noProposal protocol.ID = "-"

// at returns the open turn and the context of an agent.
func (s *session) at(agent string) (*turn, protocol.ContextPath) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		return nil, ""
	}
	if path, ok := s.agents[agent]; ok && agent != "" {
		return s.turn, path
	}
	return s.turn, s.turn.path
}

// begin makes a turn the open one; hidden: the space does not show it.
func (s *session) begin(t *turn, at protocol.Seq, hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn, s.hidden = t, hidden
	if s.since == 0 {
		s.since = at
	}
}

// end returns the calls and the contexts that are open, and closes the turn.
func (s *session) end() (t *turn, left []*call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, s.turn, s.pending = s.turn, nil, nil
	for id, c := range s.calls {
		left = append(left, c)
		delete(s.calls, id)
	}
	clear(s.agents)
	clear(s.texts)
	clear(s.uses)
	return t, left
}

// markDelivered records chats that need not be delivered again.
func (s *session) markDelivered(chats ...protocol.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range chats {
		s.delivered.Put(id, struct{}{})
	}
}

// add records a call, unless there are too many.
func (s *session) add(key string, c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) >= maxCalls {
		s.forget()
		return
	}
	s.announced++
	c.order = s.announced
	s.calls[key] = c
}

// forget makes the log be asked about the calls of the open turn.
func (s *session) forget() {
	clear(s.uses)
	if s.turn != nil {
		s.turn.whole = false
	}
}

// take returns a call, which is finished, and forgets it; nil if it is not known.
func (s *session) take(key string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[key]
	delete(s.calls, key)
	if c == nil || c.use == "" || c.turn != s.turn {
		return c
	}
	if len(s.uses) >= maxUses {
		s.forget()
	}
	s.uses[c.use] = c.n + 1
	return c
}

// count records the occurrence of a call that is announced.
func (s *session) count(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.n == 0 || c.turn != s.turn {
		return
	}
	if len(s.uses) >= maxUses {
		s.forget()
	}
	s.uses[c.use] = c.n
}

// find returns the key of the open call that an event is about; "": there is none. Agents use
// ids of calls again, and some events have none: the tool and the arguments count too.
func (s *session) find(agent, toolUse, tool, sum string) (key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *call
	for k, c := range s.calls {
		same := c.sum == sum
		if c.agent != agent || c.tool != tool || toolUse == "" && !same || toolUse != "" && c.toolUse != toolUse {
			continue
		}
		if best == nil || same && best.sum != sum || same == (best.sum == sum) && c.order > best.order {
			key, best = k, c
		}
	}
	return key
}

// requested returns the announced call that a request for permission is about, by the name and
// the arguments, as the request has no tool_use_id; nil: none without a proposal. granted: the
// request is granted, by the capability for a call, or once by the decision of the space.
func (s *session) requested(agent, sum string) (id string, c *call, granted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.calls {
		if c.granted && c.sum == sum && c.agent == agent {
			c.granted = c.named
			return id, c, true
		}
	}
	for id, c := range s.calls {
		if c.sum == sum && c.agent == agent && c.proposal == "" {
			c.proposal = noProposal // until it is published
			return id, c, false
		}
	}
	return "", nil, false
}

// display adds a part of a message. It returns a message that was complete before
// and has to be published now.
func (s *session) display(id, delta, agent string, final bool) *message {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.texts[id]
	if text != "" || len(s.texts) < maxMessages {
		if len(text) < maxMessage {
			text += short(delta, maxMessage)
		}
		s.texts[id] = text
	}
	if !final {
		return nil
	}
	delete(s.texts, id)
	before := s.pending
	s.pending = &message{id, short(text, maxMessage), agent}
	return before
}

// takePending returns the message that waits for publication, if it is of this
// agent, and forgets it.
func (s *session) takePending(agent string) *message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil || s.pending.agent != agent {
		return nil
	}
	m := s.pending
	s.pending = nil
	return m
}
