package turns

import (
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// locate returns the turn of an entry, and begins the thread, the turn or the job
// that begins with it.
func (t *Tracker) locate(e *Entry, it *reduce.Item) (ref, bool) {
	env := e.Envelope
	if env.From == protocol.GatewayID {
		return ref{}, false
	}
	if env.Kind == protocol.KindFeedback { // where what it is about belongs, in a context or not
		return t.answered(env)
	}
	question, taken := t.question(env)
	if env.Context != "" {
		return t.locateInContext(e, it, question, taken)
	}
	if taken && env.Kind == protocol.KindChat {
		return question, true
	}
	found, ok := t.answered(env)
	switch env.Kind {
	case protocol.KindChat: // it begins a thread or a turn, unless an agent sent it
		if !ok || found.isJob() {
			th := t.index.begin(false, env.ID, env.Seq, t.sessionOf(it, env.ID), it.Beginning(maxTitle))
			return t.beginTurn(th, e), true
		}
		th := t.index.thread(found.root)
		switch th.roles[env.From] {
		case agent:
			return found, true
		case noRole:
			if _, reasoning := t.agents.get(string(env.From)); reasoning {
				return found, true
			}
		}
		return t.beginTurn(th, e), true
	case protocol.KindReasoningStart:
		if !ok {
			found, ok = question, taken
		}
		if !ok {
			found = t.beginJob(env.ID, e, it)
		}
		t.contexts.put(string(env.ID), place{ref: found})
		t.recordAgent(env.From, found)
		return found, true
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		if ok && it != nil && it.IsCall() && t.decides(env, found) {
			t.recordAgent(env.From, found)
		}
	}
	return found, ok
}

// question returns where the chat belongs that a chat answers, or that a context
// is opened for, by the rules of [exchange.Answers].
func (t *Tracker) question(env *protocol.Envelope) (ref, bool) {
	id := t.answers.Apply(env)
	if id == "" {
		return ref{}, false
	}
	at, known := t.envelopes.get(string(id))
	return at.ref, known && at.chat && t.isIndexed(at.ref)
}

// locateInContext returns the turn of an entry in a context. An unknown context
// belongs to the turn of the first entry's correlation, else to the question that
// it is opened for.
func (t *Tracker) locateInContext(e *Entry, it *reduce.Item, question ref, taken bool) (ref, bool) {
	env := e.Envelope
	root := string(env.Context.Root())
	in, known := t.contexts.get(root)
	at := in.ref
	if known && !t.isIndexed(at) {
		return ref{}, false
	}
	if !known {
		at, known = t.answered(env)
		if !known {
			at, known = question, taken
		}
		if !known && !exchange.OpensQuestion(env.Kind) {
			return ref{}, false
		}
		if !known {
			at = t.beginJob(protocol.ID(root), e, it)
		}
		t.contexts.put(root, place{ref: at})
		if exchange.OpensQuestion(env.Kind) {
			t.recordAgent(env.From, at)
		}
	}
	if env.Context.Depth() > 1 {
		t.contexts.put(nestedName(env.Context.Last()), place{ref: at})
	}
	if env.Kind == protocol.KindReasoningStart {
		t.recordAgent(env.From, at)
	}
	return at, true
}

// nestedName is the key of a nested context in the table of contexts.
func nestedName(name string) string { return "/" + name }

// answered returns where the first correlated envelope belongs that is known;
// one in a thread comes before one in a job. An id of no known envelope may be
// the name of a context.
func (t *Tracker) answered(env *protocol.Envelope) (found ref, ok bool) {
	for i, id := range env.Correlation.IDs {
		if i == protocol.MaxCorrelations {
			break
		}
		at, known := t.find(id)
		if !known || !t.isIndexed(at) {
			continue
		}
		if !at.isJob() {
			return at, true
		}
		if !ok {
			found, ok = at, true
		}
	}
	return found, ok
}

// find returns where the envelope with an id belongs, or the context with that
// name: an outermost one, else the last nested one that was written into.
func (t *Tracker) find(id protocol.ID) (ref, bool) {
	p, known := t.envelopes.get(string(id))
	if !known {
		p, known = t.contexts.get(string(id))
	}
	if !known {
		p, known = t.contexts.get(nestedName(string(id)))
	}
	return p.ref, known
}

// decides reports whether the sender calls a tool for another participant's chat
// without a context. (A call that fulfills a proposal correlates to the
// proposal.)
func (t *Tracker) decides(env *protocol.Envelope, at ref) bool {
	th := t.index.thread(at.root)
	if at.isJob() || th == nil || th.roles[env.From] == asker {
		return false
	}
	for _, id := range env.Correlation.IDs {
		if p, known := t.envelopes.get(string(id)); known && p.chat {
			return true
		}
	}
	return false
}

// isIndexed reports whether the thread or job of a reference is in the index.
func (t *Tracker) isIndexed(at ref) bool { return t.index.thread(at.root) != nil }

// recordAgent records that a participant opened a context.
func (t *Tracker) recordAgent(who protocol.ParticipantID, at ref) {
	t.agents.put(string(who), place{})
	if th := t.index.thread(at.root); th != nil && !at.isJob() {
		t.index.setRole(th, who, agent)
	}
}

func (t *Tracker) beginTurn(th *thread, e *Entry) ref {
	t.index.setRole(th, e.Envelope.From, asker)
	tu := t.index.beginTurn(th, e)
	t.cache.put(tu, nil, reduce.NewBuilder())
	return tu.at
}

// sessionOf returns the session of a thread or a job that begins with an item: the
// one that it names, else one of its own.
func (t *Tracker) sessionOf(it *reduce.Item, id protocol.ID) string {
	if it.Session != "" {
		return it.Session
	}
	return SessionID(t.opts.Space, id)
}

// beginJob begins a job. It has no title if its first entry is addressed.
func (t *Tracker) beginJob(id protocol.ID, e *Entry, it *reduce.Item) ref {
	var about reduce.Excerpt
	if e.Envelope.Kind == protocol.KindReasoningStart && len(e.Envelope.To) == 0 {
		about = it.Beginning(maxTitle)
	}
	th := t.index.begin(true, id, e.Envelope.Seq, t.sessionOf(it, id), about)
	t.cache.put(t.index.beginTurn(th, e), nil, reduce.NewBuilder())
	return ref{root: th.seq}
}

// ref identifies a turn of a thread, or a job.
type ref struct {
	root protocol.Seq // of the first entry of the thread, or of the job
	turn int          // from 1; 0: a job
}

func (r ref) isJob() bool { return r.turn == 0 }
