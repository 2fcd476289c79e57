package tui

import (
	"encoding/json"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/answers"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/protocol"
)

// model is what is known of a space and of the conversation in it. It is used
// by one goroutine.
type model struct {
	space string
	you   protocol.ParticipantID
	now   func() time.Time
	newID func() protocol.ID
	style blockrender.Style

	people  people
	threads threads
	answers *answers.Tracker
	minds   minds
	work    proposals
	scroll  scrollback
	outbox  outbox

	calledOff []calledOff // not ended yet

	link     link
	filter   protocol.ContextPath // what is shown; "": everything
	contexts contexts
	head     protocol.Seq // up to which the log was there when we came
	skew     skew

	// epoch is raised when all blocks may look otherwise: another thread is the
	// active one, another filter holds, the connection has come or gone.
	epoch int
	// restore is a message that was refused, for the prompt.
	restore string
	warned  bool // the person wants to leave, and not everything is sent
	leaving bool // as soon as it is

	effects []effect
	news    []news
	err     error // why the session had to end
	over    bool
}

// newModel makes the model of somebody who has just come in.
func newModel(w protocol.Welcome, opts Options) *model {
	m := &model{
		space: w.Space.Name, you: w.You.ID, now: opts.Now, newID: opts.NewID, head: w.Space.Seq,
		threads: newThreads(), answers: answers.NewTracker(), minds: newMinds(), work: newProposals(), outbox: newOutbox(),
	}
	if !opts.NoColor {
		m.style = blockrender.Colours()
	}
	m.link = link{phase: client.Connected}
	m.people.welcome(w)
	m.say(noticeBlock, "You are "+string(m.you)+" in "+m.space+". /help lists the commands.")
	return m
}

// apply takes in an event.
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
		m.say(noticeBlock, "Some of what was said is missing here: "+e.err.Error()+".")
	case linked:
		m.relink(e.state)
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
		m.who(e)
	case grantsRead:
		m.revokeAll(e)
	case ticked:
		m.minds.tick(m)
		m.insist()
	}
}

// receive takes in an envelope.
func (m *model) receive(env *protocol.Envelope) {
	m.skew.note(m.now(), env.TS)
	if q := m.answers.Apply(env); q != "" && !env.Correlation.Names(q) {
		env.Correlation.IDs = append([]protocol.ID{q}, env.Correlation.IDs...) // shown as if it named the question
	}
	switch {
	case env.Kind == protocol.KindSystemWelcome:
		m.rewelcome(env)
	case env.Kind == protocol.KindSystemPresence:
		m.presence(env)
	case env.Kind == protocol.KindChat:
		m.hear(env)
	case env.Kind == protocol.KindChatCancel:
		m.withdrawn(env)
	case env.Kind.IsReasoning(), env.Kind == protocol.KindMCPRequest, env.Kind == protocol.KindMCPResponse,
		env.Kind == protocol.KindMCPProposal, env.Kind == protocol.KindMCPReject, env.Kind == protocol.KindMCPWithdraw:
		m.threads.note(env)
		m.contexts.note(env.Context)
		if path, opens := env.Opens(); opens {
			m.contexts.note(path)
		}
		m.think(env)
		m.decide(env)
	case env.Kind == protocol.KindStreamOpen, env.Kind == protocol.KindStreamData, env.Kind == protocol.KindStreamClose:
		m.grow(env)
	default:
		m.tellState(env)
	}
}

// do asks for an effect.
func (m *model) do(e effect) { m.effects = append(m.effects, e) }

func (m *model) takeEffects() []effect {
	list := m.effects
	m.effects = nil
	return list
}

// busy reports whether the time is of interest: somebody thinks.
func (m *model) busy() bool { return m.minds.running() > 0 }

// payload reads a payload into a struct; one of another form leaves it empty.
func payload[T any](env *protocol.Envelope) (p T) {
	_ = json.Unmarshal(env.Payload, &p)
	return p
}

// skew is how far the gateway's clock is behind ours, as far as is known: the
// least of what the envelopes say, which the way here makes later.
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

// gateway returns what the gateway's clock says now.
func (s *skew) gateway(now time.Time) time.Time { return now.Add(-s.by) }
