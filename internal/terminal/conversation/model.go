package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// Model is the state of the space and of the conversation in it. One goroutine
// uses it.
type Model struct {
	Space string
	You   protocol.ParticipantID
	now   func() time.Time
	newID func() protocol.ID
	style block.Style

	participants participants
	threads      threads
	answers      *exchange.Answers
	reasonings   reasonings
	proposals    proposals
	questions    questions
	scrollback   scrollback
	numbered     numbered
	outbox       outbox
	silence      *silence // nil: none

	pendingCancels []pendingCancel // whose reasoning has not ended yet

	Link     Link
	Filter   protocol.ContextPath // of the blocks that are shown; "": everything
	contexts contexts
	head     protocol.Seq // the head of the log at the time of connecting
	skew     skew

	// Epoch is incremented when all blocks have to be laid out again: the
	// active thread, the filter or the state of the connection changed.
	Epoch int
	// Restore is a refused message, to be put back into the prompt.
	Restore string
	warned  bool // the person wants to leave, and not everything is sent
	leaving bool // leave once everything is sent

	effects []Effect
	news    []News
	Err     error // why the session had to end
	Over    bool
}

// Options are the parameters of a Model apart from the space.
type Options struct {
	Style block.Style        // of the texts about reasoning
	Now   func() time.Time   // the clock
	NewID func() protocol.ID // ids of envelopes
}

// New returns the model of a participant that has just connected.
func New(w protocol.Welcome, opts Options) *Model {
	m := &Model{
		Space: w.Space.Name, You: w.You.ID, now: opts.Now, newID: opts.NewID, style: opts.Style, head: w.Space.Seq,
		threads: threads{young: make(map[protocol.ID]place)}, answers: exchange.NewAnswers(),
		reasonings: reasonings{byPath: make(map[protocol.ContextPath]*Block)}, outbox: outbox{asked: make(map[protocol.ID]request)},
		Link: Link{Phase: client.Connected}, skew: skew{known: true, by: -w.Clock},
	}
	m.participants.welcome(w)
	m.printLines(NoticeBlock, "Joined "+m.Space+" as "+string(m.You)+". /help lists the commands.")
	return m
}

// Apply handles an event.
func (m *Model) Apply(e Event) {
	active, filter, lost := m.threads.active, m.Filter, m.Link.Lost
	switch e := e.(type) {
	case Typed:
		m.enter(e.Text)
	case Received:
		m.receive(&e.Envelope)
	case Recalled:
		if t := m.threads.active; t != nil && len(t.To) > 0 { // the thread that is continued is not public
			m.printLines(NoticeBlock, fmt.Sprintf("You continue thread %d: only %s will get your messages. /new begins a thread with all participants.", t.Number, Names(t.To)))
		}
	case Missed:
		m.printLines(NoticeBlock, "Some envelopes are missing: "+e.Err.Error()+".")
	case Linked:
		m.handleLink(e.State)
	case Ended:
		m.Link.Phase = client.Closed
		m.Over, m.Err = true, e.Err // the conversation stays on the screen until the person leaves
		m.printLines(ErrorBlock, "Disconnected: "+errorText(e.Err))
	case Sent:
		m.sent(e.ID, e.Err)
	case TurnRead:
		m.showTurn(e)
	case HistoryRead:
		m.showHistory(e)
	case EnvelopeRead:
		m.showEnvelope(e)
	case Searched:
		m.showHits(e)
	case Exported:
		m.showExport(e)
	case ParticipantsRead:
		m.listParticipants(e)
	case ProposalRead:
		m.learn(e)
	case ScopesRead:
		m.approveFor(e)
	case GrantsRead:
		m.revokeAll(e)
	case Ticked:
		for _, b := range m.reasonings.inProgress() {
			b.Reasoning.Beat++
			b.Change()
		}
		m.forceCancel()
		now := m.GatewayTime()
		for _, b := range slices.Clone(m.proposals.pending) {
			p := b.Proposal
			switch {
			case !p.deciding && !p.expires.IsZero() && !now.Before(p.expires):
				m.settleProposal(b, "expired: no decision in time")
			case !p.from.IsZero() && !now.Before(p.from): // now this participant may decide
				p.mayDecide, p.from = true, time.Time{}
				m.changed(b)
			}
		}
		m.endSilence(nil)
	}
	if active != m.threads.active || filter != m.Filter || lost != m.Link.Lost {
		m.Epoch++
	}
}

func (m *Model) receive(env *protocol.Envelope) {
	m.skew.note(m.now(), env.TS)
	if q := m.answers.Apply(env); q != "" && !env.Correlation.Names(q) {
		env.Correlation.IDs = append([]protocol.ID{q}, env.Correlation.IDs...) // displayed as if it correlated to the question
	}
	m.endSilence(env)
	switch {
	case env.Kind == protocol.KindSystemWelcome:
		m.handleWelcome(env)
	case env.Kind == protocol.KindSystemPresence:
		m.presence(env)
	case env.Kind == protocol.KindChat:
		m.handleChat(env)
	case env.Kind == protocol.KindChatCancel:
		m.threads.note(env)
		for _, id := range env.Correlation.IDs {
			if b := m.scrollback.chats[id]; b != nil {
				b.Chat.WithdrawnBy = string(env.From)
				m.changed(b)
			}
		}
	case env.Kind == protocol.KindFeedback:
		m.showFeedback(env)
	case env.Kind.IsReasoning(), env.Kind == protocol.KindMCPRequest, env.Kind == protocol.KindMCPResponse,
		env.Kind == protocol.KindMCPProposal, env.Kind == protocol.KindMCPReject, env.Kind == protocol.KindMCPWithdraw:
		m.threads.note(env)
		m.contexts.note(env.Context)
		if path, opens := env.Opens(); opens {
			m.contexts.note(path)
		}
		m.handleReasoning(env)
		m.decide(env)
		m.question(env)
	case env.Kind == protocol.KindStreamOpen, env.Kind == protocol.KindStreamData, env.Kind == protocol.KindStreamClose:
		m.handleStream(env)
	default:
		m.showStateEntry(env)
	}
}

func (m *Model) do(e Effect) { m.effects = append(m.effects, e) }

// TakeEffects returns the effects since the last call, in order.
func (m *Model) TakeEffects() []Effect {
	list := m.effects
	m.effects = nil
	return list
}

// Busy reports whether the model needs ticks: reasoning is in progress, a proposal expires or
// waits for its time, or a message has no reaction yet.
func (m *Model) Busy() bool {
	return m.silence != nil || len(m.reasonings.inProgress()) > 0 ||
		slices.ContainsFunc(m.proposals.pending, func(b *Block) bool { return !b.Proposal.expires.IsZero() || !b.Proposal.from.IsZero() })
}

// GatewayTime returns the estimated time of the gateway's clock.
func (m *Model) GatewayTime() time.Time { return m.now().Add(-m.skew.by) }

// Unsent returns the typed messages that are not acknowledged, oldest first.
func (m *Model) Unsent() []*Block { return m.outbox.queue }

// PendingProposals returns the number of proposals that wait for a decision.
func (m *Model) PendingProposals() int { return len(m.proposals.pending) }

// ActiveThread returns the thread of the next message; nil: a new one.
func (m *Model) ActiveThread() *Thread { return m.threads.active }

// Others returns the other connected participants, sorted by name.
func (m *Model) Others() []protocol.ParticipantID {
	var list []protocol.ParticipantID
	for _, p := range m.participants.connected {
		if p.ID != m.You {
			list = append(list, p.ID)
		}
	}
	return list
}

// Leave ends the program, although messages may not be sent.
func (m *Model) Leave() { m.do(Leave{}) }

// payload decodes a payload into a struct; a payload of another form leaves it
// zero.
func payload[T any](env *protocol.Envelope) (p T) {
	_ = json.Unmarshal(env.Payload, &p)
	return p
}

// skew estimates how far the gateway's clock lags the local clock: the least
// difference to the timestamp of an envelope, since transit only increases it.
type skew struct {
	known bool
	by    time.Duration
}

func (s *skew) note(now, ts time.Time) {
	if ts.IsZero() {
		return
	}
	if d := now.Sub(ts); !s.known || d < s.by {
		s.known, s.by = true, d
	}
}
