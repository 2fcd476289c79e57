package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of messages, in bytes.
const (
	maxShown   = 64 << 10 // of a displayed message; /export has all of it
	maxTyped   = 60 << 10
	maxWaiting = 100 // messages
)

// maxRequests bounds the envelopes in progress other than messages. The client
// sends 64 at a time, so a message can always be sent.
const maxRequests = 60

var errTooManyRequests = errors.New("too many commands wait for the gateway; try again when it has answered")

// delivery is the delivery state of a message.
type delivery int

const (
	delivered delivery = iota
	waiting            // not acknowledged yet
	refused
)

// chat is a message.
type chat struct {
	id       protocol.ID
	from     protocol.ParticipantID
	to       []protocol.ParticipantID
	text     string // unmodified
	cut      bool   // the text was truncated
	markdown bool
	at       time.Time // zero until it is acknowledged

	thread      *thread
	turn        int                    // 0: unknown
	answers     protocol.ParticipantID // the author of the message that it answers
	context     protocol.ContextPath
	mine        bool // typed here
	answered    bool // by another participant
	late        bool // the notice that it waits for the connection was shown
	state       delivery
	why         string // of a refusal, as text
	withdrawnBy string // the participant that withdrew it
}

// outbox holds typed messages that are not acknowledged, oldest first. One
// message is in flight at a time, so that each answers the one before.
type outbox struct {
	queue  []*block
	flight protocol.ID
	asked  map[protocol.ID]request // other envelopes in flight
}

// request is an envelope in flight that is not a message.
type request struct {
	what string // a description, for a refusal
	// otherwise is called instead if the capability for the request is missing;
	// nil: it is a refusal like any other.
	otherwise func()
	// failed is called with a refusal and reports whether the refusal was shown
	// already; nil: there is no special handling.
	failed func(error) bool
}

func newOutbox() outbox { return outbox{asked: make(map[protocol.ID]request)} }

// ask sends an envelope that is not a message, and shows an error if it is
// refused.
func (m *model) ask(what string, env protocol.Envelope, otherwise func()) {
	m.askAs(m.newID(), request{what: what, otherwise: otherwise}, env)
}

func (m *model) askAs(id protocol.ID, r request, env protocol.Envelope) {
	if len(m.outbox.asked) >= maxRequests {
		m.askedFor(r, errTooManyRequests)
		return
	}
	env.ID = id
	m.outbox.asked[id] = r
	m.do(send{env})
}

// unsent returns the number of messages that are not acknowledged.
func (o *outbox) unsent() int { return len(o.queue) }

// queueMessage queues a typed message. With to, the message and the rest of its thread
// are addressed to these participants only, so that a later message does not
// become public by accident.
func (m *model) queueMessage(text string, to []protocol.ParticipantID) {
	switch {
	case len(text) > maxTyped:
		m.restore = text
		m.printLines(errorBlock, fmt.Sprintf("That message is too long: %d bytes of %d.", len(text), maxTyped))
		return
	case len(m.outbox.queue) >= maxWaiting:
		m.restore = text
		m.printLines(errorBlock, "Too many messages wait for the connection. Please wait until it is back.")
		return
	}
	t := m.threads.active
	if t == nil || to != nil && !slices.Equal(t.to, to) {
		t = m.threads.begin()
		t.to, m.threads.active = to, t
	}
	t.mine, to = true, t.to
	c := &chat{id: m.newID(), from: m.you, to: to, text: text, thread: t, mine: true, state: waiting}
	b := m.show(&block{kind: chatBlock, chat: c})
	m.outbox.queue = append(m.outbox.queue, b)
	m.next()
}

// next sends the oldest queued message, unless one is in flight.
func (m *model) next() {
	if m.outbox.flight != "" || len(m.outbox.queue) == 0 {
		return
	}
	c := m.outbox.queue[0].chat
	m.outbox.flight = c.id
	env := client.Chat(c.text)
	env.ID, env.To = c.id, c.to
	if c.thread.last != "" {
		env.Correlation = protocol.CorrelateTo(c.thread.last)
	}
	m.do(send{env})
}

// sent handles the result of sending an envelope.
func (m *model) sent(id protocol.ID, err error) {
	if r, ok := m.outbox.asked[id]; ok {
		delete(m.outbox.asked, id)
		m.askedFor(r, err)
		return
	}
	if id != m.outbox.flight || len(m.outbox.queue) == 0 {
		return
	}
	b := m.outbox.queue[0]
	m.outbox.queue, m.outbox.flight = m.outbox.queue[1:], ""
	if err != nil {
		m.refuse(b, err)
	} else {
		m.admit(b)
	}
	m.next()
	if m.leaving && m.outbox.unsent() == 0 {
		m.do(leave{})
	}
}

func (m *model) askedFor(r request, err error) {
	if err == nil {
		return
	}
	if r.failed != nil && r.failed(err) {
		return
	}
	if r.otherwise != nil && errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
		r.otherwise()
		return
	}
	m.printLines(errorBlock, r.what+" did not work: "+errorText(err))
}

// admit marks a message of this participant as delivered, on its acknowledgment
// or its echo, whichever comes first.
func (m *model) admit(b *block) {
	c := b.chat
	if c.state == delivered {
		return
	}
	c.state = delivered
	if c.thread.root == "" {
		c.thread.root = c.id
	}
	m.threads.put(c.id, place{c.thread, m.you})
	c.thread.last = c.id
	m.changed(b)
	m.do(readTurn{envelope: c.id})
}

// refuse marks a message as refused with its reason, and restores its text to
// the prompt.
func (m *model) refuse(b *block, err error) {
	b.chat.state, b.chat.why = refused, errorText(err)
	m.restore = b.chat.text
	m.leaving = false // the person should see the refusal before leaving
	m.changed(b)
}

// handleChat handles a message from the space.
func (m *model) handleChat(env *protocol.Envelope) {
	if b := m.scroll.chats[env.ID]; b != nil {
		b.chat.at = env.TS
		m.admit(b)
		b.change()
		return
	}
	p := payload[struct {
		Message string `json:"message"`
		Text    string `json:"text"`
		Format  string `json:"format"`
	}](env)
	if p.Message == "" {
		p.Message = p.Text
	}
	known := m.threads.answers(env)
	t := m.threads.note(env)
	c := &chat{
		id: env.ID, from: env.From, to: env.To, text: p.Message, markdown: p.Format == "markdown", at: env.TS,
		thread: t, answers: known.from, context: env.Context,
	}
	if len(c.text) > maxShown {
		c.text, c.cut = strings.ToValidUTF8(c.text[:maxShown], ""), true
	}
	for _, id := range env.Correlation.IDs {
		if b := m.scroll.chats[id]; b != nil && env.From != b.chat.from {
			b.chat.answered = true
		}
	}
	if t != nil && env.Context == "" {
		t.last = env.ID
		m.adopt(t, env)
	}
	b := m.show(&block{kind: chatBlock, chat: c, context: env.Context})
	m.endAnswered(b, env)
}

// adopt continues the thread in which this participant wrote last before it
// connected.
func (m *model) adopt(t *thread, env *protocol.Envelope) {
	if env.From != m.you {
		return
	}
	t.mine = true
	if env.Seq <= m.head && m.outbox.unsent() == 0 {
		m.threads.active, t.to = t, env.To
	}
}

// withdrawn marks a message that was withdrawn.
func (m *model) withdrawn(env *protocol.Envelope) {
	m.threads.note(env)
	for _, id := range env.Correlation.IDs {
		if b := m.scroll.chats[id]; b != nil {
			b.chat.withdrawnBy = string(env.From)
			m.changed(b)
		}
	}
}

// errorText returns an error as text for a person.
func errorText(err error) string {
	var refusal *protocol.Error
	switch {
	case errors.As(err, &refusal) && refusal.Message != "":
		return refusal.Message
	case errors.Is(err, client.ErrClosed):
		return "the connection is closed."
	}
	return err.Error() + "."
}
