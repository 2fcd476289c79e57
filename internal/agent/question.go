package agent

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/meup-protocol/meup/internal/agent/addressing"
	"github.com/meup-protocol/meup/internal/agent/catchup"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/remarks"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the texts that the agent sends, in bytes.
const (
	maxThought = 4000
	maxAnswer  = 60_000
)

// question is a chat that is being answered, or a part that another agent gave
// to this one.
type question struct {
	chat    protocol.Envelope
	text    string
	history []llm.Message // earlier chats
	root    *problem

	// private are the participants of a private question except the agent: the
	// asker, and the other addressees. All envelopes about the question are
	// addressed to them. It is empty for a question to all.
	private []protocol.ParticipantID

	// earlier are the tool calls of attempts to answer the question before the
	// agent was restarted.
	earlier []catchup.Call

	// part: chat is the reasoning.start of another agent, whose context the
	// root problem is in. The answer is the conclusion.
	part bool

	refs remarks.Refs // envelopes that the planner may refer to

	batches atomic.Int64 // parallel groups so far

	mu       sync.Mutex
	problems map[protocol.ContextPath]*problem // in progress, by context
}

// problem is the reasoning in one context: the question itself, or a part of it
// in a nested context.
type problem struct {
	q     *question
	path  protocol.ContextPath // ends with the id of reasoning.start
	depth int                  // 0 for the question
	text  string
	cause protocol.ID // correlation of the start: the chat, or a thought

	ctx    context.Context
	cancel context.CancelCauseFunc

	open bool // reasoning.start is in the log and the context is not closed

	plan    planner.Plan // given by the planner of the outer problem
	remarks remarks.Box
	asked   []protocol.ID // remarks that ask and got no reply; owned by the goroutine of the problem
}

func (a *Agent) newQuestion(chat protocol.Envelope) *question {
	q := &question{
		chat: chat, text: addressing.ChatText(&chat), history: a.conversation.before(&chat),
		problems: make(map[protocol.ContextPath]*problem),
	}
	q.private = audience(&chat, a.you)
	q.root = q.enter(a.runtime.Work, &problem{path: protocol.ContextPath(newID()), text: q.text, cause: chat.ID})
	return q
}

// audience returns the participants of a private chat except you, the sender
// first. It is nil for a chat to all.
func audience(chat *protocol.Envelope, you protocol.ParticipantID) []protocol.ParticipantID {
	if len(chat.To) == 0 {
		return nil
	}
	var list []protocol.ParticipantID
	for _, id := range append([]protocol.ParticipantID{chat.From}, chat.To...) {
		if id != you && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// within opens a problem for a part of another problem.
func (a *Agent) within(ctx context.Context, p *problem, text string, plan planner.Plan, cause protocol.ID) *problem {
	return p.q.enter(ctx, &problem{path: p.path.Child(newID()), depth: p.depth + 1, text: text, plan: plan, cause: cause})
}

func (q *question) enter(ctx context.Context, p *problem) *problem {
	p.q = q
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.problems[p.path] = p
	return p
}

func (q *question) leave(p *problem) {
	p.cancel(nil)
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.problems, p.path)
}

// closedBy returns the problems that a reasoning.cancel closes: the problem of
// its context, or, at top level, the problems whose start it correlates to. It
// also ends a part of the context that it closes.
func (q *question) closedBy(env *protocol.Envelope) []*problem {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*problem
	for path, p := range q.problems {
		if env.Context == path || env.Context == "" && env.Correlation.Names(p.startID()) || q.part && env.Context != "" && path.Within(env.Context) {
			list = append(list, p)
		}
	}
	return list
}

func (q *question) paths() []protocol.ContextPath {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []protocol.ContextPath
	for path := range q.problems {
		list = append(list, path)
	}
	return list
}

// startID returns the id of the problem's reasoning.start.
func (p *problem) startID() protocol.ID { return protocol.ID(p.path.Last()) }

// start builds the reasoning.start that opens the context: at top level for the
// question, within the parent's context for a part.
func (p *problem) start(approach string) protocol.Envelope {
	fields := []field{
		{"message", "Looking into: " + textutil.ShortenChars(p.text, 200)},
		{"metadata", metadata(approach, p.plan)},
	}
	if p.depth == 0 && len(p.q.earlier) > 0 {
		fields = append(fields, field{"references", requestsOf(p.q.earlier)})
	}
	return protocol.Envelope{
		ID: p.startID(), To: p.q.private, Kind: protocol.KindReasoningStart, Context: p.path.Parent(),
		Correlation: protocol.CorrelateTo(p.cause), Payload: object(fields...),
	}
}

// inside builds an envelope within the context. For a private question it
// correlates to the start, so that it belongs to the asker's thread.
func (p *problem) inside(kind protocol.Kind, fields ...field) protocol.Envelope {
	env := protocol.Envelope{To: p.q.private, Kind: kind, Context: p.path, Payload: object(fields...)}
	if len(p.q.private) > 0 {
		env.Correlation = protocol.CorrelateTo(p.startID())
	}
	return env
}

// reply builds the chat that answers the question.
func (q *question) reply(markdown string, more ...field) protocol.Envelope {
	return protocol.Envelope{
		To: q.private, Kind: protocol.KindChat, Correlation: protocol.CorrelateTo(q.chat.ID),
		Payload: object(append([]field{{"message", textutil.ShortenChars(markdown, maxAnswer)}, {"format", "markdown"}}, more...)...),
	}
}

// Bounds of the stored conversation.
const (
	maxChats     = 40   // messages
	maxHistory   = 16   // messages for one question
	maxChatChars = 4000 // characters per message
)

// conversation stores the recent chats of the main conversation, oldest first.
// Only the goroutine of Run uses it.
type conversation struct {
	you   protocol.ParticipantID
	chats []protocol.Envelope
}

// note stores a chat of the main conversation.
func (t *conversation) note(env *protocol.Envelope) {
	if env.Kind != protocol.KindChat || env.Context != "" {
		return
	}
	t.chats = append(t.chats, *env)
	t.drop(len(t.chats) - maxChats)
}

// drop removes the n oldest messages.
func (t *conversation) drop(n int) { t.chats = slices.Delete(t.chats, 0, max(0, n)) }

// bytesPerToken approximates the bytes per token of English text.
const bytesPerToken = 4

// tokens estimates the tokens of the conversation.
func (t *conversation) tokens() int {
	bytes := 0
	for i := range t.chats {
		bytes += min(len(addressing.ChatText(&t.chats[i])), maxChatChars)
	}
	return (bytes + bytesPerToken - 1) / bytesPerToken
}

// before returns the chats before a question that every recipient of the answer
// has received: a private chat of two participants is not disclosed to a third.
func (t *conversation) before(question *protocol.Envelope) []llm.Message {
	var list []llm.Message
	for i := range t.chats {
		env := &t.chats[i]
		if env.ID == question.ID || env.Seq >= question.Seq && question.Seq != 0 || !t.shared(env, question) {
			continue
		}
		text := textutil.ShortenChars(addressing.ChatText(env), maxChatChars)
		if text == "" {
			continue
		}
		if env.From == t.you {
			list = append(list, llm.Message{Role: llm.Assistant, Text: text})
			continue
		}
		list = append(list, llm.Message{Role: llm.User, Text: string(env.From) + ": " + text})
	}
	return list[max(0, len(list)-maxHistory):]
}

// shared reports whether a chat may be used to answer a question: a chat to
// all, and, for a private question, a chat sent or received by the agent that
// every recipient of the answer also sent or received.
func (t *conversation) shared(env, question *protocol.Envelope) bool {
	if len(env.To) == 0 {
		return true
	}
	if len(question.To) == 0 || env.From != t.you && !env.AddressedTo(t.you) {
		return false
	}
	return !slices.ContainsFunc(audience(question, t.you), func(id protocol.ParticipantID) bool {
		return env.From != id && !env.AddressedTo(id)
	})
}
