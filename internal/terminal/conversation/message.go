package conversation

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of messages, in bytes.
const (
	maxShown   = 64 << 10 // of a displayed message; /export has all of it
	MaxTyped   = 60 << 10
	maxWaiting = 100 // messages
)

// maxRequests bounds the envelopes in progress other than messages. The client
// sends 64 at a time, so a message can always be sent.
const maxRequests = 60

var errTooManyRequests = errors.New("too many commands are waiting for the gateway; try again in a moment")

// Delivery is the delivery state of a message.
type Delivery int

const (
	Delivered Delivery = iota
	Waiting            // not acknowledged yet
	Refused
)

// Chat is a message.
type Chat struct {
	id       protocol.ID
	From     protocol.ParticipantID
	To       []protocol.ParticipantID
	Text     string // unmodified
	Cut      bool   // the text was truncated
	Markdown bool
	At       time.Time // zero until it is acknowledged

	Thread      *Thread
	Turn        int                    // 0: unknown
	Answers     protocol.ParticipantID // the author of the message that it answers
	Context     protocol.ContextPath
	Mine        bool // typed here
	answered    bool // by another participant
	State       Delivery
	Why         string // of a refusal, as text
	draft       Draft  // of one that was typed here
	WithdrawnBy string // the participant that withdrew it
}

// outbox holds typed messages that are not acknowledged, oldest first. One
// message is in flight at a time, so that each answers the one before.
type outbox struct {
	queue  []*Block
	flight protocol.ID
	asked  map[protocol.ID]request // other envelopes in flight
}

// request is an envelope in flight that is not a message.
type request struct {
	what string // a description, for a refusal
	to   []protocol.ParticipantID
	// otherwise is called instead if the capability for the request is missing;
	// nil: it is a refusal like any other.
	otherwise func()
	// failed is called with a refusal and reports whether the refusal was shown
	// already; nil: there is no special handling.
	failed func(error) bool
	// admitted is called when the request was admitted; nil: nothing follows it.
	admitted func()
}

// ask sends an envelope that is not a message, and shows an error if it is
// refused.
func (m *Model) ask(what string, env protocol.Envelope, otherwise func()) {
	m.askAs(m.newID(), request{what: what, otherwise: otherwise}, env)
}

func (m *Model) askAs(id protocol.ID, r request, env protocol.Envelope) {
	if len(m.outbox.asked) >= maxRequests {
		m.askedFor(r, errTooManyRequests)
		return
	}
	env.ID, r.to = id, env.To
	m.outbox.asked[id] = r
	m.do(Send{env})
}

// queueMessage queues a typed message. With to, the message and the rest of its thread
// are addressed to these participants only, so that a later message does not
// become public by accident.
func (m *Model) queueMessage(text string, to []protocol.ParticipantID) {
	switch {
	case len(text) > MaxTyped:
		m.Restore = text
		m.printLines(ErrorBlock, "Message too long: "+textutil.Count(len(text), "byte")+", the maximum is "+textutil.Thousands(MaxTyped)+".")
		return
	case len(m.outbox.queue) >= maxWaiting:
		m.Restore = text
		m.printLines(ErrorBlock, "Too many unsent messages. Wait until the connection is restored.")
		return
	}
	t := m.threads.active
	if t == nil || to != nil && !slices.Equal(t.To, to) {
		t = m.threads.begin()
		t.To, m.threads.active = to, t
	}
	d := Draft{Text: text, To: t.To, Added: to, Begins: t.last == ""}
	if open := m.proposals.pending; len(open) > 0 && open[0].Proposal.Hint() != "" && slices.Contains([]string{"y", "yes", "n", "no"}, strings.ToLower(text)) {
		m.printLines(NoticeBlock, "Sent as a message. "+open[0].Proposal.Hint())
	}
	t.mine, to = true, t.To
	c := &Chat{id: m.newID(), From: m.You, To: to, Text: text, Thread: t, Mine: true, State: Waiting, draft: d}
	b := m.show(&Block{Kind: ChatBlock, Chat: c})
	m.outbox.queue = append(m.outbox.queue, b)
	m.next()
}

// silence is a notice about the last message that may have no reaction.
type silence struct {
	thread *Thread // of the message
	text   string
	until  time.Time // when it is shown, unless a participant reacts before
}

// endSilence drops the notice if another participant reacts to the message, and shows it when
// it is due.
func (m *Model) endSilence(reaction *protocol.Envelope) {
	switch s := m.silence; {
	case s == nil:
	case reaction != nil && reaction.From != m.You && m.threads.answers(reaction).thread == s.thread:
		m.silence = nil
	case !m.now().Before(s.until):
		m.silence = nil
		m.printLines(NoticeBlock, s.text)
	}
}

// next sends the oldest queued message, unless one is in flight.
func (m *Model) next() {
	if m.outbox.flight != "" || len(m.outbox.queue) == 0 {
		return
	}
	c := m.outbox.queue[0].Chat
	m.outbox.flight = c.id
	env := client.Chat(c.Text)
	env.ID, env.To = c.id, c.To
	if c.Thread.last != "" {
		env.Correlation = protocol.CorrelateTo(c.Thread.last)
	}
	m.do(Send{env})
}

// sent handles the result of sending an envelope.
func (m *Model) sent(id protocol.ID, err error) {
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
	if err == nil {
		m.admit(b)
	} else { // the text goes back to the prompt
		c := b.Chat
		c.State, c.Why = Refused, m.refusalText(err, c.To)
		m.Restore = c.Text
		if isUnknown(err) && c.Thread.last == "" { // the thread has no addressee
			m.Restore = "/to " + strings.ReplaceAll(Names(c.To), ", ", ",") + " " + c.Text
			if m.threads.active == c.Thread {
				m.threads.active = nil
			}
		}
		m.leaving = false // the person should see the refusal before leaving
		m.changed(b)
	}
	m.next()
	if m.leaving && len(m.outbox.queue) == 0 {
		m.do(Leave{})
	}
}

func (m *Model) askedFor(r request, err error) {
	if err == nil {
		if r.admitted != nil {
			r.admitted()
		}
		return
	}
	if r.failed != nil && r.failed(err) {
		return
	}
	if r.otherwise != nil && errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
		r.otherwise()
		return
	}
	m.printLines(ErrorBlock, r.what+" failed: "+m.refusalText(err, r.to))
}

// admit marks a message of this participant as delivered, on its acknowledgment
// or its echo, whichever comes first, and shows what may leave it without an answer.
func (m *Model) admit(b *Block) {
	c := b.Chat
	if c.State == Delivered {
		return
	}
	c.State = Delivered
	if c.Thread.root == "" {
		c.Thread.root = c.id
	}
	m.threads.put(c.id, place{c.Thread, m.You})
	c.Thread.last = c.id
	m.changed(b)
	m.do(ReadTurn{Envelope: c.id})
	if !c.Mine {
		return
	}
	// Some of what may leave it without an answer is shown only if no participant reacts.
	address := func(id string) string { return "/to " + id + " MESSAGE" }
	list, _ := c.draft.Unanswered(m.You, m.participants.connected, address)
	for _, sentence := range list {
		if !strings.HasSuffix(sentence, "?") {
			sentence += "."
		}
		m.printLines(NoticeBlock, sentence)
	}
	if text := c.draft.Ambiguous(m.You, m.participants.connected, address); text != "" {
		m.silence = &silence{c.Thread, text + ".", m.now().Add(Silence)}
	}
}

// isUnknown reports whether an envelope was refused since the space does not know an
// addressee.
func isUnknown(err error) bool {
	return errors.Is(err, &protocol.Error{Code: protocol.CodeUnknownParticipant})
}

// refusalText describes the refusal of an envelope, with the name that is meant instead of
// an unknown one.
func (m *Model) refusalText(err error, to []protocol.ParticipantID) string {
	if isUnknown(err) {
		return strings.TrimSpace(errorText(err) + " " + DidYouMean(to, m.participants.connected))
	}
	return errorText(err)
}

// handleChat handles a message from the space.
func (m *Model) handleChat(env *protocol.Envelope) {
	if b := m.scrollback.chats[env.ID]; b != nil {
		b.Chat.At = env.TS
		m.admit(b)
		b.Change()
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
	marks, text := textutil.SplitMarks(p.Message)
	known := m.threads.answers(env)
	t := m.threads.note(env)
	c := &Chat{
		id: env.ID, From: env.From, To: env.To, Text: text, Markdown: p.Format == "markdown", At: env.TS,
		Thread: t, Answers: known.from, Context: env.Context,
	}
	if len(c.Text) > maxShown {
		c.Text, c.Cut = strings.ToValidUTF8(c.Text[:maxShown], ""), true
	}
	for _, id := range env.Correlation.IDs {
		if b := m.scrollback.chats[id]; b != nil && env.From != b.Chat.From {
			b.Chat.answered = true
		}
	}
	if t != nil && env.Context == "" {
		t.last = env.ID
		if env.From == m.You { // it wrote last in this thread before it connected, or in another terminal
			t.mine = true
			if env.Seq <= m.head && len(m.outbox.queue) == 0 {
				m.threads.active, t.To = t, env.To
			}
		}
	}
	if !marks.IsEmpty() {
		r := m.show(&Block{Kind: ReasoningBlock, Context: env.Context, Reasoning: block.MarkedReasoning(marks, env), thread: t})
		r.Reasoning.Open = m.reasonings.all
		m.changed(r) // it has ended
	}
	b := m.show(&Block{Kind: ChatBlock, Chat: c, Context: env.Context})
	m.endAnswered(b, env)
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
