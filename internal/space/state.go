package space

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// KindSystemMember marks the hidden entry that makes a guest known to a space.
const KindSystemMember protocol.Kind = "system.member"

// State says who may do what in a space: a fold over the state entries of its
// log, the same on every gateway. A State never changes; applying an entry
// makes a new one.
type State struct {
	seq    protocol.Seq // of the last state entry that is folded in
	ledger *capability.Ledger

	out         map[protocol.ParticipantID]bool      // kicked and not invited since
	pauses      map[protocol.ParticipantID]time.Time // until when; zero: until resumed
	invitations map[[32]byte]invitation              // by the hash of the token
	members     map[protocol.ParticipantID]standing  // besides the configured ones

	// building: nobody else has the state yet, so that its maps are changed in
	// place and what is for the ledger is kept until the end.
	building bool
	changes  []capability.Change
}

// standing says how a participant that the configuration does not name came to
// be known.
type standing uint8

const (
	standingGuest standing = iota + 1
	standingInvited
)

type invitation struct {
	participant protocol.ParticipantID
	expires     time.Time // zero: never
}

func newState(cfg *Config) *State {
	return &State{ledger: capability.NewLedger(rightsOf(cfg))}
}

// rightsOf is what the configuration gives, as the ledger asks for it.
func rightsOf(cfg *Config) capability.Configured {
	c := capability.Configured{Participants: make(map[protocol.ParticipantID][]*capability.Capability, len(cfg.Participants))}
	for id, p := range cfg.Participants {
		c.Participants[id] = p.Capabilities
	}
	if cfg.Guests != nil {
		c.Issued = cfg.Guests.Capabilities
	}
	return c
}

func (st *State) withConfig(cfg *Config) *State {
	next := *st
	next.ledger = st.ledger.WithConfigured(rightsOf(cfg))
	return &next
}

func (st *State) kicked(id protocol.ParticipantID) bool  { return st.out[id] }
func (st *State) known(id protocol.ParticipantID) bool   { return st.members[id] != 0 }
func (st *State) invited(id protocol.ParticipantID) bool { return st.members[id] == standingInvited }

func (st *State) paused(id protocol.ParticipantID, now time.Time) bool {
	until, ok := st.pauses[id]
	return ok && (until.IsZero() || now.Before(until))
}

func (st *State) observes(id protocol.ParticipantID, now time.Time) bool {
	return st.ledger.Effective(id, now).Observes()
}

// sameRights reports whether a participant holds the same in both states.
func (st *State) sameRights(other *State, id protocol.ParticipantID, now time.Time) bool {
	return sameList(st.ledger.Display(id, now), other.ledger.Display(id, now))
}

func sameList(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return string(x) == string(y) })
}

// expiredBetween reports whether time alone has ended a grant in between.
func (st *State) expiredBetween(last, now time.Time) bool {
	at, ok := st.ledger.NextExpiry(last)
	return ok && !at.After(now)
}

// apply folds one state entry in. The entry was checked when it was admitted;
// an error leaves the state as it was, but for its seq.
func (st *State) apply(e *journal.Entry) (*State, error) {
	next := *st
	return &next, next.take(e)
}

// take folds one entry into the state itself, which nobody else may have yet.
func (st *State) take(e *journal.Entry) error {
	st.seq = e.Envelope.Seq
	doc, err := protocol.ParseJSON(e.Envelope.Payload, protocol.MaxDepth)
	if err != nil {
		return fmt.Errorf("payload of %s: %w", e.Envelope.ID, err)
	}
	payload := doc.Root()
	switch e.Envelope.Kind {
	case protocol.KindCapabilityGrant:
		return st.grant(&e.Envelope, payload)
	case protocol.KindCapabilityRevoke:
		return st.revoke(&e.Envelope, payload)
	case protocol.KindSpaceInvite:
		return st.invite(e)
	case protocol.KindSpaceKick:
		st.out = with(st, st.out, participantIn(payload, "participant_id"), true)
	case protocol.KindParticipantPause:
		st.pause(&e.Envelope, payload)
	case protocol.KindParticipantResume:
		for _, id := range e.Envelope.To {
			st.pauses = without(st, st.pauses, id)
		}
	case KindSystemMember:
		st.member(participantIn(payload, "participant_id"), standingGuest)
	}
	return nil
}

func (st *State) grant(e *protocol.Envelope, payload protocol.Value) error {
	g, err := capability.ReadGrant(e.ID, e.From, payload, e.TS)
	if err != nil {
		return err
	}
	st.change(g)
	return nil
}

// change notes what the ledger has to fold.
func (st *State) change(c capability.Change) {
	if st.building {
		st.changes = append(st.changes, c)
		return
	}
	st.ledger = st.ledger.Apply(c)
}

func (st *State) revoke(e *protocol.Envelope, payload protocol.Value) error {
	r, err := capability.ReadRevocation(payload, e.TS)
	if err != nil {
		return err
	}
	st.change(r)
	return nil
}

func (st *State) invite(e *journal.Entry) error {
	hash, g, err := readInvitation(e)
	if err != nil {
		return err
	}
	st.invitations = with(st, st.invitations, hash, invitation{g.Recipient, g.ExpiresAt})
	st.member(g.Recipient, standingInvited)
	st.out = without(st, st.out, g.Recipient)
	st.change(g)
	return nil
}

func (st *State) member(id protocol.ParticipantID, as standing) {
	st.members = with(st, st.members, id, max(as, st.members[id]))
}

func (st *State) pause(e *protocol.Envelope, payload protocol.Value) {
	var until time.Time
	if s, ok := payload.Get("timeout_seconds").Float(); ok && s > 0 {
		until = e.TS.Add(seconds(s))
	}
	for _, id := range e.To {
		st.pauses = with(st, st.pauses, id, until)
	}
}

// with returns m with k as v: a copy, unless the state is still being built.
func with[K comparable, V any](st *State, m map[K]V, k K, v V) map[K]V {
	if !st.building || m == nil {
		m = clone(m)
	}
	m[k] = v
	return m
}

// without returns m without k: a copy, unless the state is still being built.
func without[K comparable, V any](st *State, m map[K]V, k K) map[K]V {
	if _, there := m[k]; !there {
		return m
	}
	if !st.building {
		m = clone(m)
	}
	delete(m, k)
	return m
}

func clone[K comparable, V any](m map[K]V) map[K]V {
	next := make(map[K]V, len(m)+1)
	maps.Copy(next, m)
	return next
}

// fold builds a state from the log of a space at once: copying it for each
// entry would take a time that grows with the square of their number.
type fold struct{ st *State }

func newFold(cfg *Config) *fold {
	st := newState(cfg)
	st.building = true
	return &fold{st}
}

// add folds the next entry; an error leaves it out.
func (f *fold) add(e *journal.Entry) error { return f.st.take(e) }

// done returns what was built, without the invitations that have ended.
func (f *fold) done(now time.Time) *State {
	st := f.st
	st.ledger = st.ledger.Apply(st.changes...)
	st.building, st.changes = false, nil
	maps.DeleteFunc(st.invitations, func(_ [32]byte, i invitation) bool {
		return !i.expires.IsZero() && now.After(i.expires)
	})
	return st
}

func participantIn(payload protocol.Value, key string) protocol.ParticipantID {
	return protocol.ParticipantID(payload.Get(key).Text())
}

// maxSeconds bounds a time to live: about three hundred years would overflow.
const maxSeconds = 100 * 365 * 24 * 3600

func seconds(s float64) time.Duration {
	return time.Duration(min(s, maxSeconds) * float64(time.Second))
}

// Kicked reports whether the participant was removed from the space.
func (s *Space) Kicked(id protocol.ParticipantID) bool { return s.state.Load().kicked(id) }

// LookupInvitation returns who was invited with the token of this hash, and
// until when the token is good (zero: for ever).
func (s *Space) LookupInvitation(hash [32]byte) (protocol.ParticipantID, time.Time, bool) {
	i, ok := s.state.Load().invitations[hash]
	return i.participant, i.expires, ok
}

func (s *Space) observes(id protocol.ParticipantID) bool { return s.state.Load().observes(id, s.now()) }
