package space

import (
	"slices"
	"sync"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// publishLive delivers an envelope that the log does not keep, behind
// everything that is in the log already. It returns the head, which is where
// the envelope stands for an acknowledgement.
func (s *Space) publishLive(d *journal.Draft) protocol.Seq {
	e := &journal.Entry{Envelope: d.Envelope, Thread: d.Thread, Note: d.Note}
	s.putLive(newEntry(e))
	head := s.Head()
	if peers := s.hub.services.Peers; peers != nil {
		if err := peers.Publish(s.name, journal.AppendEntry(nil, e)); err != nil {
			s.log.Debug("pass a live envelope on to the other gateways", "envelope", d.Envelope.ID, "error", err)
		}
	}
	return head
}

func (s *Space) putLive(list ...*Entry) {
	s.deliverMu.Lock()
	s.ring.put(list)
	s.deliverMu.Unlock()
	s.hub.reclaimRings()
	s.rouse()
}

// receiveLive takes a live envelope from another gateway. One that would
// overtake the log (its sender had seen more than has arrived here) is put in
// all the same: it is advisory, and waiting would need a queue.
func (s *Space) receiveLive(message []byte) {
	e, err := journal.DecodeEntry(message)
	if err != nil {
		s.log.Warn("read a live envelope of another gateway", "error", err)
		return
	}
	e.Envelope.Seq = 0
	s.putLive(newEntry(e))
}

// streams knows who opened which stream, so that nobody writes into or closes
// somebody else's.
type streams struct {
	mu    sync.Mutex
	owner map[string]protocol.ParticipantID
}

// maxStreams bounds how many open streams of a space are remembered.
const maxStreams = 4096

func (t *streams) note(e *protocol.Envelope) {
	if e.Kind != protocol.KindStreamOpen && e.Kind != protocol.KindStreamClose {
		return
	}
	id := streamID(e)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Kind == protocol.KindStreamClose {
		delete(t.owner, id)
		return
	}
	if t.owner == nil {
		t.owner = make(map[string]protocol.ParticipantID)
	}
	if _, taken := t.owner[id]; !taken && id != "" && len(t.owner) < maxStreams {
		t.owner[id] = e.From
	}
}

// check refuses what a participant says about somebody else's stream.
func (t *streams) check(from protocol.ParticipantID, kind protocol.Kind, payload protocol.Value) *protocol.Error {
	switch kind {
	case protocol.KindStreamOpen, protocol.KindStreamData, protocol.KindStreamClose:
	default:
		return nil
	}
	id := payload.Get("stream_id").Text()
	t.mu.Lock()
	owner, open := t.owner[id]
	t.mu.Unlock()
	if open && owner != from {
		return protocol.Errorf(protocol.CodeIdentityMismatch, "The stream %s is %s's.", id, owner)
	}
	return nil
}

// of returns the streams that a participant has open, sorted.
func (t *streams) of(id protocol.ParticipantID) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for stream, owner := range t.owner {
		if owner == id {
			list = append(list, stream)
		}
	}
	slices.Sort(list)
	return list
}

// drop removes streams that a participant owns.
func (t *streams) drop(id protocol.ParticipantID, list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, stream := range list {
		if t.owner[stream] == id {
			delete(t.owner, stream)
		}
	}
}

func streamID(e *protocol.Envelope) string {
	doc, err := protocol.ParseJSON(e.Payload, protocol.MaxDepth)
	if err != nil {
		return ""
	}
	return doc.Root().Get("stream_id").Text()
}
