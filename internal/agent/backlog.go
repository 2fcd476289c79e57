package agent

import (
	"context"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

const (
	// maxBacklog bounds the old questions that are answered; older ones are
	// left.
	maxBacklog = 64
	// backlogQuiet ends the backlog when nothing more comes of it: the end of
	// the log may be an envelope that this agent may not see.
	backlogQuiet = time.Second
)

// backlog is what was said before the agent came, while it is being read.
type backlog struct {
	head  protocol.Seq        // where it ends
	chats []protocol.Envelope // questions without an answer, oldest first
	open  map[protocol.ContextPath]bool
	done  bool
}

func newBacklog(head protocol.Seq) *backlog {
	return &backlog{head: head, open: make(map[protocol.ContextPath]bool), done: head == 0}
}

// note takes in one envelope and reports whether it is an old one; done is set
// once there are no more.
func (b *backlog) note(env *protocol.Envelope, you protocol.ParticipantID, t *attention) bool {
	if env.Kind == "" || b.done { // nothing came for a while
		b.done = true
		return env.Kind == ""
	}
	if env.Seq == 0 || env.Seq > b.head {
		b.done = env.Seq != 0
		return false
	}
	b.done = env.Seq == b.head
	mine := env.From == you
	switch env.Kind {
	case protocol.KindChat:
		if mine {
			b.settle(env.Correlation)
		} else if t.wants(env) {
			b.chats = append(b.chats, *env)
			b.chats = b.chats[max(0, len(b.chats)-maxBacklog):]
		}
	case protocol.KindChatCancel:
		b.settle(env.Correlation)
	case protocol.KindReasoningStart:
		if path, ok := env.Opens(); ok && mine {
			b.open[path] = true
		}
	case protocol.KindReasoningConclusion, protocol.KindReasoningCancel:
		delete(b.open, env.Context)
	}
	return true
}

// settle forgets questions that were answered or withdrawn.
func (b *backlog) settle(c protocol.Correlation) {
	kept := b.chats[:0]
	for _, chat := range b.chats {
		if !c.Names(chat.ID) {
			kept = append(kept, chat)
		}
	}
	b.chats = kept
}

// catchUp ends the backlog: contexts that the agent left open when it went are
// closed, and what is still without an answer is answered.
func (a *Agent) catchUp(work context.Context) {
	b := a.backlog
	a.backlog = nil
	a.log.Info("caught up", "questions", len(b.chats), "left_open", len(b.open))
	for path := range b.open {
		a.errand(work, protocol.Envelope{
			Kind: protocol.KindReasoningCancel, Context: path,
			Payload: object(field{"reason", "the agent was restarted"}),
		})
	}
	for _, chat := range b.chats {
		a.take(work, chat)
	}
}
