package turns

import "github.com/meup-protocol/meup/protocol"

// TurnOf returns the thread and the number of the turn that an envelope
// belongs to. It reports false when it belongs to none, or is too old to be
// known by its id. It says nothing of who may see that turn: ask [Projection.Turn]
// for it.
func (p *Projection) TurnOf(id protocol.ID) (thread protocol.ID, turn int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, known := p.chats.get(string(id))
	if !known {
		at, known = p.others.get(string(id))
	}
	if !known || at.isJob() {
		return "", 0, false
	}
	th := p.index.threads[at.root]
	if th == nil || th.turn(at.turn) == nil {
		return "", 0, false
	}
	return th.id, at.turn, true
}
