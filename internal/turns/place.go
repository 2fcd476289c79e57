package turns

import (
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// place says where an entry belongs, and begins the thread, the turn or the
// job that begins with it.
func (p *Projection) place(e *Entry, it *item) (ref, bool) {
	env := e.Envelope
	if env.From == protocol.Gateway {
		return ref{}, false
	}
	if env.Context != "" {
		return p.placeInside(env)
	}
	found, ok := p.answered(env)
	switch env.Kind {
	case protocol.KindChat:
		return p.placeChat(e, it, found, ok), true
	case protocol.KindReasoningStart:
		if !ok {
			found = p.beginJob(env.ID, env)
		}
		p.contexts.put(string(env.ID), found)
		p.reasons(env.From, found)
		return found, true
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		if ok && it != nil && it.call && p.decides(env, found) {
			p.reasons(env.From, found)
		}
	}
	return found, ok
}

// placeInside places what stands in a context. A context that is not known
// belongs to what the first one to write into it answers.
func (p *Projection) placeInside(env *protocol.Envelope) (ref, bool) {
	root, _, _ := strings.Cut(string(env.Context), "/")
	at, known := p.contexts.get(root)
	if known && !p.alive(at) {
		return ref{}, false
	}
	if !known {
		if at, known = p.answered(env); !known && !opens(env.Kind) {
			return ref{}, false
		}
		if !known {
			at = p.beginJob(protocol.ID(root), env)
		}
		p.contexts.put(root, at)
		if opens(env.Kind) {
			p.reasons(env.From, at)
		}
	}
	if env.Kind == protocol.KindReasoningStart {
		p.reasons(env.From, at)
	}
	return at, true
}

// opens reports whether who writes a kind into a context that nobody has
// opened is thereby taken for its opener.
func opens(k protocol.Kind) bool {
	switch k {
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		return true
	}
	return k.IsReasoning() && k != protocol.KindReasoningCancel
}

// answered returns where the first correlated envelope belongs that is known;
// one in a thread comes before one in a job.
func (p *Projection) answered(env *protocol.Envelope) (found ref, ok bool) {
	for i, id := range env.Correlation.IDs {
		if i == protocol.MaxCorrelations {
			break
		}
		at, known := p.chats.get(string(id))
		if !known {
			at, known = p.others.get(string(id))
		}
		if !known || !p.alive(at) {
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

// decides reports whether somebody calls a tool for a chat of others, without
// having opened a context for it. (Who makes a call that was proposed answers a
// proposal.)
func (p *Projection) decides(env *protocol.Envelope, at ref) bool {
	th := p.index.threads[at.root]
	if at.isJob() || th == nil || th.roles[env.From] == asker {
		return false
	}
	for _, id := range env.Correlation.IDs {
		if _, chat := p.chats.get(string(id)); chat {
			return true
		}
	}
	return false
}

// alive reports whether what a name belongs to is still in the index. A job
// always is: whether its contents are in memory must not decide what belongs
// where.
func (p *Projection) alive(at ref) bool {
	return at.isJob() || p.index.threads[at.root] != nil
}

// reasons notes that somebody has opened a context.
func (p *Projection) reasons(who protocol.ParticipantID, at ref) {
	p.agents.put(string(who), ref{})
	if th := p.index.threads[at.root]; th != nil && !at.isJob() {
		p.index.cast(th, who, agent)
	}
}

// placeChat begins a thread or a turn with a chat of the main conversation,
// unless it is an agent's word.
func (p *Projection) placeChat(e *Entry, it *item, found ref, ok bool) ref {
	env := e.Envelope
	if !ok || found.isJob() {
		th := p.index.begin(env, it.text)
		return p.beginTurn(th, e)
	}
	th := p.index.threads[found.root]
	switch th.roles[env.From] {
	case agent:
		return found
	case nobody:
		if _, reasoning := p.agents.get(string(env.From)); reasoning {
			return found
		}
	}
	return p.beginTurn(th, e)
}

func (p *Projection) beginTurn(th *thread, e *Entry) ref {
	p.index.cast(th, e.Envelope.From, asker)
	tu := p.index.beginTurn(th, e)
	tu.warm = &warm{turn: tu, live: newReading()}
	p.cache.put(tu.warm)
	return ref{root: th.seq, turn: th.last()}
}

// job is what was reasoned although no chat asked for it. It lives in the
// cache alone.
type job struct {
	seq  protocol.Seq
	id   protocol.ID // the first segment of its contexts
	size             // of what it holds
	warm *warm
}

func (p *Projection) beginJob(id protocol.ID, env *protocol.Envelope) ref {
	j := &job{seq: env.Seq, id: id}
	j.warm = &warm{job: j, live: newReading()}
	p.jobs[j.seq] = j
	p.cache.put(j.warm)
	return ref{root: j.seq}
}

// noteJob adds an entry to its job.
func (p *Projection) noteJob(at ref, e *Entry, it *item) []Event {
	j := p.jobs[at.root]
	if j == nil || !j.admits(e) {
		return nil
	}
	j.add(e)
	ended := p.cache.add(j.warm, it, weigh(e))
	items := j.warm.snapshot()
	p.shrink()
	if ended == nil {
		return nil
	}
	return []Event{{Name: JobReasoning, Seq: e.Envelope.Seq, agent: ended.from, items: items, bytes: j.bytes, job: j.id}}
}
