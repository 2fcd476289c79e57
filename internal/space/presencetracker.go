// Package presence decides which changes of the presence of participants in a space are
// announced, and when: rapid ones later, if they still apply then. A participant that
// connects again and again can stay present in between.
package space

import (
	"time"

	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of presence frames to the members of a space: in a burst and per second,
// of one participant and of all. Further changes are announced later, if they
// still apply then.
const (
	burst      = 10
	rate       = 1
	spaceBurst = 1000
	spaceRate  = 500
)

// A participant that lingers is present for Linger after its last connection: those of
// adapters last for one request each. Further participants than maxLingering leave at once.
const (
	PresenceLinger = time.Minute
	maxLingering   = 1024
)

// Presence tracks the announced presence of the participants of a space. The caller
// serializes all calls. The zero value is a space without participants.
type Presence struct {
	known     map[protocol.ParticipantID]*announced
	due       []protocol.ParticipantID // participants whose last frame is outdated, or may be
	all       authority.Allowance
	lingering map[protocol.ParticipantID]time.Time // the time at which each leaves
}

// announced is the last announced presence of a participant.
type announced struct {
	present bool
	due     bool
	frames  authority.Allowance
}

// Announces reports whether a frame about the presence of a participant is sent now: it
// differs from the announced one, and the limits allow it. A frame that they do not allow
// is due later.
func (t *Presence) Announces(id protocol.ParticipantID, present bool, now time.Time) bool {
	a := t.known[id]
	if a == nil {
		if !present {
			return false
		}
		if t.known == nil {
			t.known = make(map[protocol.ParticipantID]*announced)
		}
		a = &announced{}
		t.known[id] = a
	}
	if a.present == present {
		return false
	}
	if !a.frames.Allow(now, rate, burst) || !t.all.Allow(now, spaceRate, spaceBurst) {
		if !a.due {
			a.due, t.due = true, append(t.due, id)
		}
		return false
	}
	a.present = present
	return true
}

// Announced reports whether a participant is present by the last frame about it, if a
// further one is delayed; otherwise it returns present.
func (t *Presence) Announced(id protocol.ParticipantID, present bool) bool {
	if a := t.known[id]; a != nil && a.due {
		return a.present
	}
	return present
}

// Delayed returns the participants whose next frame is delayed. It is valid until the
// next call.
func (t *Presence) Delayed() []protocol.ParticipantID { return t.due }

// Due returns the participants whose presence may have to be announced: changes that
// were delayed, and participants that linger no longer or were removed. It drops the
// state of participants that left.
func (t *Presence) Due(now time.Time, isGone func(protocol.ParticipantID) bool) []protocol.ParticipantID {
	list := t.due
	t.due = nil
	for _, id := range list {
		t.known[id].due = false
	}
	for id, end := range t.lingering {
		if !now.Before(end) || isGone(id) {
			delete(t.lingering, id)
			list = append(list, id)
		}
	}
	for id, a := range t.known {
		if !a.present && !a.due && a.frames.Full(now, rate) {
			delete(t.known, id)
		}
	}
	return list
}

// Linger keeps a participant present that has no connection any more.
func (t *Presence) Linger(id protocol.ParticipantID, now time.Time) {
	if _, lingers := t.lingering[id]; !lingers && len(t.lingering) >= maxLingering {
		return
	}
	if t.lingering == nil {
		t.lingering = make(map[protocol.ParticipantID]time.Time)
	}
	t.lingering[id] = now.Add(PresenceLinger)
}

// Lingers reports whether a participant is present without a connection.
func (t *Presence) Lingers(id protocol.ParticipantID) bool {
	_, lingers := t.lingering[id]
	return lingers
}

// Lingering returns the participants that linger.
func (t *Presence) Lingering() []protocol.ParticipantID {
	list := make([]protocol.ParticipantID, 0, len(t.lingering))
	for id := range t.lingering {
		list = append(list, id)
	}
	return list
}
