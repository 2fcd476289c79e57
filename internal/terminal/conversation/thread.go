package conversation

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// maxKnown bounds the envelopes with a known thread, in each of two
// generations.
const maxKnown = 1 << 14

// Thread is one conversation. It has no root until its first chat is in the
// log.
type Thread struct {
	Number int // assigned by the terminal, in order of appearance
	root   protocol.ID
	last   protocol.ID              // the last message in the log, which the next one answers
	Turn   int                      // the latest that is known
	mine   bool                     // this participant has sent a message in it
	To     []protocol.ParticipantID // the addressees of messages typed in it; nil: all participants
}

// place is the thread and the sender of an envelope.
type place struct {
	thread *Thread
	from   protocol.ParticipantID
}

// threads maps envelopes to conversations, by the same rules as the gateway: an
// answer belongs to the thread of the answered envelope, and an envelope in a
// context belongs to the thread of that context.
type threads struct {
	active     *Thread // the thread of the next message; nil: a new one
	young, old map[protocol.ID]place
	count      int
}

func (t *threads) at(id protocol.ID) (place, bool) {
	p, ok := t.young[id]
	if !ok {
		p, ok = t.old[id]
	}
	return p, ok
}

func (t *threads) put(id protocol.ID, p place) {
	if len(t.young) >= maxKnown {
		t.young, t.old = make(map[protocol.ID]place), t.young
	}
	t.young[id] = p
}

// begin returns a thread without messages.
func (t *threads) begin() *Thread {
	t.count++
	return &Thread{Number: t.count}
}

// answers returns the place of the first known envelope that env correlates to,
// preferring envelopes in a thread; the zero place if none is known.
func (t *threads) answers(env *protocol.Envelope) place {
	var found place
	for _, id := range env.Correlation.IDs {
		p, known := t.at(id)
		switch {
		case known && p.thread != nil:
			return p
		case known && found.from == "":
			found = p
		}
	}
	return found
}

// note finds the thread of an envelope and stores it. A top-level chat that
// answers nothing begins a thread.
func (t *threads) note(env *protocol.Envelope) *Thread {
	if p, ok := t.at(env.ID); ok {
		return p.thread
	}
	p := t.answers(env)
	if p.thread == nil && env.Context != "" {
		p, _ = t.at(rootOf(env.Context))
	}
	if p.thread == nil && env.Kind == protocol.KindChat && env.Context == "" {
		p.thread = t.begin()
		p.thread.root = env.ID
	}
	t.put(env.ID, place{p.thread, env.From})
	t.putName(rootOf(env.Context), p, env.From)
	t.putName(protocol.ID(env.Context.Last()), p, env.From)
	return p.thread
}

// putName stores the place of a context under its name: a correlation to the
// name leads to the first envelope in the context.
func (t *threads) putName(name protocol.ID, p place, from protocol.ParticipantID) {
	if _, known := t.at(name); name != "" && !known {
		t.put(name, place{p.thread, from})
	}
}

// rootOf returns the id of the outermost context of a path.
func rootOf(c protocol.ContextPath) protocol.ID {
	for c.Depth() > 1 {
		c = c.Parent()
	}
	return protocol.ID(c)
}

// newThread makes the next message begin a thread.
func (m *Model) newThread(string) {
	m.threads.active = nil
	m.printLines(NoticeBlock, "Your next message starts a new thread.")
}

// sendTo sends a message to some participants only.
func (m *Model) sendTo(args string) {
	who, text, _ := strings.Cut(args, " ")
	text = strings.TrimSpace(text)
	if text == "" {
		m.printLines(ErrorBlock, "Usage: /to WHO[,WHO] MESSAGE.")
		return
	}
	var to []protocol.ParticipantID
	for name := range strings.SplitSeq(who, ",") {
		id := protocol.ParticipantID(strings.TrimPrefix(name, "@"))
		if !protocol.ValidParticipantID(string(id)) {
			m.Restore = "/to " + args
			m.printLines(ErrorBlock, termsafe.Exact(name)+" is not a valid name of a participant.")
			return
		}
		to = append(to, id)
	}
	m.queueMessage(text, to)
}

// lastQuestion returns this participant's last message that was not refused.
func (m *Model) lastQuestion() *Block {
	for _, b := range slices.Backward(m.scrollback.blocks) {
		if b.Chat != nil && b.Chat.From == m.You && b.Chat.State != Refused && b.Chat.Context == "" {
			return b
		}
	}
	return nil
}

// exportThread writes the active thread into a file.
func (m *Model) exportThread(file string) {
	t := m.threads.active
	if t == nil || t.root == "" {
		m.printLines(ErrorBlock, "Nothing to export: the thread has no messages.")
		return
	}
	if file == "" {
		file = fmt.Sprintf("meup-%s-%s.md", m.Space, t.root)
	}
	m.do(Export{t.root, file})
}

func (m *Model) showExport(e Exported) {
	switch {
	case errors.Is(e.Err, os.ErrExist):
		m.printLines(ErrorBlock, "Not exported: "+e.File+" already exists.")
	case e.Err != nil:
		m.printLines(ErrorBlock, "Not exported: "+errorText(e.Err))
	default:
		m.printLines(NoticeBlock, "Exported to "+e.File+" ("+textutil.Count(e.Size, "byte")+").")
	}
}

// maxContextDepth is the deepest path that may be typed; the gateway's bound is
// lower.
const maxContextDepth = 32

// filterContext shows one context only, or everything.
func (m *Model) filterContext(path string) {
	if path == "" {
		m.Filter = ""
		m.printLines(NoticeBlock, "Showing everything.")
		return
	}
	p, ok := protocol.ParseContextPath(path, maxContextDepth)
	known := slices.ContainsFunc(m.contexts.list, func(c protocol.ContextPath) bool { return c.Within(p) })
	if !ok || !known {
		m.printLines(ErrorBlock, "Unknown context: "+termsafe.Exact(textutil.Shorten(path, 300))+". Tab completes the known ones.")
		return
	}
	m.Filter = p
	m.printLines(NoticeBlock, "Showing only the context "+string(p)+". /context shows everything.")
}

// contexts holds the recently seen contexts, oldest first.
type contexts struct{ list []protocol.ContextPath }

// maxContexts bounds them.
const maxContexts = 256

func (c *contexts) note(path protocol.ContextPath) {
	if path == "" || slices.Contains(c.list, path) {
		return
	}
	c.list = append(c.list, path)
	if len(c.list) > maxContexts {
		c.list = slices.Delete(c.list, 0, 1)
	}
}
