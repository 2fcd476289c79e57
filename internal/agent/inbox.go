package agent

import (
	"strings"
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// Inbox delivers envelopes that correlate to the agent's own requests and
// proposals to the goroutines that wait for them. The zero Inbox is empty. It is
// safe for concurrent use.
type Inbox struct {
	mu    sync.Mutex
	boxes map[protocol.ID]*box
}

// box receives the envelopes that correlate to one envelope.
type box struct {
	in chan protocol.Envelope
	// follow are the received requests. Their responses are expected too, from
	// the time each request is received.
	follow []protocol.ID
}

// maxUnread bounds the queue of one box: a few responses, and notices in between, which
// leave half of it free. If the queue is full, envelopes are dropped; the reader has its
// own timeout.
const maxUnread = 16

// Expect opens a box for envelopes that correlate to id. Call it before sending
// the envelope, so that no response is missed.
func (in *Inbox) Expect(id protocol.ID) <-chan protocol.Envelope {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.expectLocked(id).in
}

func (in *Inbox) expectLocked(id protocol.ID) *box {
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

// Release closes a box and the boxes of the requests received in it. It returns the envelopes
// in the box that were not read.
func (in *Inbox) Release(id protocol.ID) (unread []protocol.Envelope) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := in.boxes[id]
	if b == nil {
		return nil
	}
	for _, request := range b.follow {
		delete(in.boxes, request)
	}
	delete(in.boxes, id)
	for {
		select {
		case env := <-b.in:
			unread = append(unread, env)
		default:
			return unread
		}
	}
}

// Deliver passes an envelope to the boxes that it correlates to, the steps and the end of a
// context to the box of its reasoning.start, and presence and welcomes to every box. It
// reports whether a box accepted it as an answer. It does not block.
func (in *Inbox) Deliver(env *protocol.Envelope) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if env.Kind == protocol.KindSystemPresence || env.Kind == protocol.KindSystemWelcome {
		for _, b := range in.boxes {
			b.put(env)
		}
		return false
	}
	taken := false
	ends := env.Kind == protocol.KindReasoningConclusion || env.Kind == protocol.KindReasoningCancel
	notice := env.Kind.IsReasoning() && !ends || env.Kind == protocol.KindMCPRequest && strings.HasPrefix(env.ParsePayload().Get("method").Text(), "notifications/")
	if env.Kind.IsReasoning() {
		if b := in.boxes[protocol.ID(env.Context.Last())]; b != nil && !env.Correlation.Names(protocol.ID(env.Context.Last())) && (ends || len(b.in) < maxUnread/2) {
			b.put(env) // of a part that another agent took
		}
	}
	for _, id := range env.Correlation.IDs {
		b := in.boxes[id]
		if b == nil || notice && len(b.in) >= maxUnread/2 || !b.put(env) {
			continue
		}
		taken = true
		if env.Kind != protocol.KindMCPRequest || notice {
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
