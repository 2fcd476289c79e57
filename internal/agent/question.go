package agent

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what the agent sends; of texts, in bytes.
const (
	maxThought = 4000
	maxAnswer  = 60_000

	maxModelName  = 100
	maxModelNames = 4 // a server may name another model in each answer
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
	earlier []intake.AbandonedCall

	// part: chat is the reasoning.start of another agent, whose context the
	// root problem is in. The answer is the conclusion.
	part bool

	refs    intake.EnvelopeRefs // envelopes that the planner may refer to
	replyID protocol.ID         // of the answer; "": any

	batches  atomic.Int64 // parallel groups so far
	withheld atomic.Bool  // the planner wanted a tool of others, which a private question may not use
	first    firstStart   // of the processes of this participant
	place    *participant.Place

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
	meter   llm.Meter    // of the models' answers for the problem, without its parts
	remarks intake.RemarkBox
	asked   []protocol.ID // remarks that ask and got no reply; owned by the goroutine of the problem
}

func (a *Agent) newQuestion(chat protocol.Envelope, history []llm.Message) *question {
	q := a.questionOf(chat, history)
	q.root = q.enter(a.runtime.Work, &problem{path: protocol.ContextPath(newID()), text: q.text, cause: chat.ID})
	return q
}

// questionOf returns a question without a problem.
func (a *Agent) questionOf(chat protocol.Envelope, history []llm.Message) *question {
	return &question{
		chat: chat, text: intake.ChatText(&chat), history: history, private: intake.ChatAudience(&chat, a.you),
		first: make(firstStart), place: participant.NewPlace(a.turns), problems: make(map[protocol.ContextPath]*problem),
	}
}

// OldestQuestion returns the position of the oldest question that is in progress or
// queued; 0: there is none.
func (a *Agent) OldestQuestion() (oldest protocol.Seq) {
	for _, q := range a.questions.All() {
		if oldest == 0 || q.chat.Seq < oldest {
			oldest = q.chat.Seq
		}
	}
	return oldest
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

// startID returns the id of the problem's reasoning.start.
func (p *problem) startID() protocol.ID { return protocol.ID(p.path.Last()) }

// start builds the reasoning.start that opens the context: at top level for the
// question, within the parent's context for a part.
func (p *problem) start(approach, text string) protocol.Envelope {
	fields := []field{
		{"message", "Looking into: " + textutil.ShortenChars(text, 200)},
		{"metadata", metadata(approach, p.plan)},
	}
	if p.depth == 0 && len(p.q.earlier) > 0 {
		fields = append(fields, field{"references", intake.RequestIDs(p.q.earlier)})
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

// stopped builds the chat that explains why the question gets no answer.
func (q *question) stopped(cause error) protocol.Envelope {
	return q.reply("I have stopped looking into this: " + explainCause(cause) + ".")
}

// field is one member of an object; members keep their order.
type field struct {
	name  string
	value any
}

// object builds a JSON object. A value that cannot be marshaled becomes null;
// the callers pass none.
func object(fields ...field) json.RawMessage {
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = protocol.AppendString(out, f.name)
		out = append(out, ':')
		raw, err := json.Marshal(f.value)
		if err != nil {
			raw = []byte("null")
		}
		out = append(out, raw...)
	}
	return append(out, '}')
}

// describe returns the span attributes of a problem.
func (a *Agent) describe(p *problem) []attribute.KeyValue {
	return []attribute.KeyValue{
		telemetry.ConversationID.String(a.space.Name), telemetry.AgentName.String(string(a.you)),
		attribute.String("meup.context", string(p.path)), attribute.String("meup.question", string(p.q.chat.ID)),
	}
}
