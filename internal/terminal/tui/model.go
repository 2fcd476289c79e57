package tui

import (
	"encoding/json"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/answers"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/protocol"
)

// model is the state of the space and of the conversation in it. One goroutine
// uses it.
type model struct {
	space string
	you   protocol.ParticipantID
	now   func() time.Time
	newID func() protocol.ID
	style blockrender.Style

	people     people
	threads    threads
	answers    *answers.Tracker
	reasonings reasonings
	work       proposals
	scroll     scrollback
	outbox     outbox

	pendingCancels []pendingCancel // whose reasoning has not ended yet

	link     link
	filter   protocol.ContextPath // what is shown; "": everything
	contexts contexts
	head     protocol.Seq // the head of the log at the time of connecting
	skew     skew

	// epoch is incremented when all blocks have to be laid out again: the
	// active thread, the filter or the state of the connection changed.
	epoch int
	// restore is a refused message, to be put back into the prompt.
	restore string
	warned  bool // the person wants to leave, and not everything is sent
	leaving bool // leave once everything is sent

	effects []effect
	news    []news
	err     error // why the session had to end
	over    bool
}

// newModel returns the model of a participant that has just connected.
func newModel(w protocol.Welcome, opts Options) *model {
	m := &model{
		space: w.Space.Name, you: w.You.ID, now: opts.Now, newID: opts.NewID, head: w.Space.Seq,
		threads: newThreads(), answers: answers.NewTracker(), reasonings: newReasonings(), work: newProposals(), outbox: newOutbox(),
	}
	if !opts.NoColor {
		m.style = blockrender.Colours()
	}
	m.link = link{phase: client.Connected}
	m.people.welcome(w)
	m.printLines(noticeBlock, "You are "+string(m.you)+" in "+m.space+". /help lists the commands.")
	return m
}

// apply handles an event.
func (m *model) apply(e event) {
	active, filter, lost := m.threads.active, m.filter, m.link.lost
	m.take(e)
	if active != m.threads.active || filter != m.filter || lost != m.link.lost {
		m.epoch++
	}
}

func (m *model) take(e event) {
	switch e := e.(type) {
	case typed:
		m.enter(e.text)
	case received:
		m.receive(&e.env)
	case missed:
		m.printLines(noticeBlock, "Some of what was said is missing here: "+e.err.Error()+".")
	case linked:
		m.handleLink(e.state)
	case ended:
		m.finish(e.err)
	case answered:
		m.sent(e.id, e.err)
	case turnRead:
		m.showTurn(e)
	case historyRead:
		m.showHistory(e)
	case exported:
		m.showExport(e)
	case peopleRead:
		m.listParticipants(e)
	case grantsRead:
		m.revokeAll(e)
	case ticked:
		m.reasonings.tick(m)
		m.forceCancel()
	}
}

// receive handles an envelope.
func (m *model) receive(env *protocol.Envelope) {
	m.skew.note(m.now(), env.TS)
	if q := m.answers.Apply(env); q != "" && !env.Correlation.Names(q) {
		env.Correlation.IDs = append([]protocol.ID{q}, env.Correlation.IDs...) // displayed as if it correlated to the question
	}
	switch {
	case env.Kind == protocol.KindSystemWelcome:
		m.handleWelcome(env)
	case env.Kind == protocol.KindSystemPresence:
		m.presence(env)
	case env.Kind == protocol.KindChat:
		m.handleChat(env)
	case env.Kind == protocol.KindChatCancel:
		m.withdrawn(env)
	case env.Kind.IsReasoning(), env.Kind == protocol.KindMCPRequest, env.Kind == protocol.KindMCPResponse,
		env.Kind == protocol.KindMCPProposal, env.Kind == protocol.KindMCPReject, env.Kind == protocol.KindMCPWithdraw:
		m.threads.note(env)
		m.contexts.note(env.Context)
		if path, opens := env.Opens(); opens {
			m.contexts.note(path)
		}
		m.handleReasoning(env)
		m.decide(env)
	case env.Kind == protocol.KindStreamOpen, env.Kind == protocol.KindStreamData, env.Kind == protocol.KindStreamClose:
		m.handleStream(env)
	default:
		m.showStateEntry(env)
	}
}

// do adds an effect.
func (m *model) do(e effect) { m.effects = append(m.effects, e) }

func (m *model) takeEffects() []effect {
	list := m.effects
	m.effects = nil
	return list
}

// busy reports whether the model needs ticks: reasoning is in progress.
func (m *model) busy() bool { return m.reasonings.running() > 0 }

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

// gateway returns the current time by the gateway's clock.
func (s *skew) gateway(now time.Time) time.Time { return now.Add(-s.by) }
