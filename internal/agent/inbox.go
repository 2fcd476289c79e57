package agent

import (
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// inbox hands what answers the agent's own requests and proposals to whoever
// waits for it.
type inbox struct {
	mu    sync.Mutex
	boxes map[protocol.ID]*box
}

// box takes what correlates to one envelope.
type box struct {
	in chan protocol.Envelope
	// follow are the requests that have come in: what answers them is expected
	// too, from the moment on in which they are seen.
	follow []protocol.ID
}

// maxUnread bounds what waits for one reader: an answer or two, and who comes
// and goes meanwhile. What finds no room is left out; the reader has a time
// limit of its own.
const maxUnread = 16

// expect opens a box for what correlates to id. It is called before that is
// sent, so that no answer can be too early.
func (in *inbox) expect(id protocol.ID) <-chan protocol.Envelope {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.expectLocked(id).in
}

func (in *inbox) expectLocked(id protocol.ID) *box {
	if b := in.boxes[id]; b != nil {
		return b
	}
	if in.boxes == nil {
		in.boxes = make(map[protocol.ID]*box)
	}
	b := &box{in: make(chan protocol.Envelope, maxUnread)}
	in.boxes[id] = b
	return b
}

// release closes a box, and those of the requests that came into it.
func (in *inbox) release(id protocol.ID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if b := in.boxes[id]; b != nil {
		for _, request := range b.follow {
			delete(in.boxes, request)
		}
		delete(in.boxes, id)
	}
}

// deliver hands an envelope to those who wait for what it answers, and
// presence to everybody. It reports whether anybody has taken it as an answer.
// It never waits.
func (in *inbox) deliver(env *protocol.Envelope) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if env.Kind == protocol.KindSystemPresence {
		for _, b := range in.boxes {
			b.put(env)
		}
		return false
	}
	taken := false
	for _, id := range env.Correlation.IDs {
		b := in.boxes[id]
		if b == nil || !b.put(env) {
			continue
		}
		if taken = true; env.Kind != protocol.KindMCPRequest {
			continue
		}
		in.expectLocked(env.ID)
		b.follow = append(b.follow, env.ID)
	}
	return taken
}

func (b *box) put(env *protocol.Envelope) bool {
	select {
	case b.in <- *env:
		return true
	default:
		return false
	}
}
