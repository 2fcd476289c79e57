package tui

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// newThread makes the next message begin a thread.
func (m *model) newThread(string) {
	m.threads.active = nil
	m.printLines(noticeBlock, "Your next message begins a new thread.")
}

// sendTo sends a message to some participants only.
func (m *model) sendTo(args string) {
	who, text, _ := strings.Cut(args, " ")
	text = strings.TrimSpace(text)
	if text == "" {
		m.printLines(errorBlock, "Say to whom and what: /to WHO[,WHO] MESSAGE.")
		return
	}
	var to []protocol.ParticipantID
	for name := range strings.SplitSeq(who, ",") {
		id := protocol.ParticipantID(strings.TrimPrefix(name, "@"))
		if !protocol.ValidParticipantID(string(id)) {
			m.restore = "/to " + args
			m.printLines(errorBlock, termsafe.Exact(name)+" is no name of a participant.")
			return
		}
		to = append(to, id)
	}
	m.queueMessage(text, to)
}

// lastQuestion returns this participant's last message that was not refused.
func (m *model) lastQuestion() *block {
	for _, b := range slices.Backward(m.scroll.blocks) {
		if b.chat != nil && b.chat.from == m.you && b.chat.state != refused && b.chat.context == "" {
			return b
		}
	}
	return nil
}

// exportThread writes the active thread into a file.
func (m *model) exportThread(file string) {
	t := m.threads.active
	if t == nil || t.root == "" {
		m.printLines(errorBlock, "There is no thread to export yet.")
		return
	}
	if file == "" {
		file = fmt.Sprintf("meup-%s-%s.md", m.space, t.root)
	}
	m.do(export{t.root, file})
}

func (m *model) showExport(e exported) {
	switch {
	case errors.Is(e.err, os.ErrExist):
		m.printLines(errorBlock, "Not exported: there is a file "+e.file+" already.")
	case e.err != nil:
		m.printLines(errorBlock, "Not exported: "+errorText(e.err))
	default:
		m.printLines(noticeBlock, fmt.Sprintf("The thread is in %s (%d bytes).", e.file, e.size))
	}
}

// maxContextDepth is the deepest path that may be typed; the gateway's bound is
// lower.
const maxContextDepth = 32

// filterContext shows one context only, or everything.
func (m *model) filterContext(path string) {
	if path == "" {
		m.filter = ""
		m.printLines(noticeBlock, "Everything is shown.")
		return
	}
	p, ok := protocol.ParseContextPath(path, maxContextDepth)
	known := slices.ContainsFunc(m.contexts.list, func(c protocol.ContextPath) bool { return c.Within(p) })
	if !ok || !known {
		m.printLines(errorBlock, "No context "+termsafe.Exact(textutil.Shorten(path, 300))+" is known here. Tab completes those that are.")
		return
	}
	m.filter = p
	m.printLines(noticeBlock, "Only the context "+string(p)+" is shown. /context shows everything again.")
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
