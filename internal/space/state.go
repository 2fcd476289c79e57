package space

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/pmap"
	"github.com/meup-protocol/meup/protocol"
)

// KindSystemMember marks the hidden entry that makes a guest known to a space.
const KindSystemMember protocol.Kind = "system.member"

// State holds the rights in a space: a fold over the state entries of its log,
// the same on every gateway. A State is immutable. Folding an entry returns a new
// one in O(log n), since its maps share unchanged parts.
type State struct {
	cfg    *Config      // in force
	seq    protocol.Seq // of the last state entry that was folded
	ledger *capability.Ledger

	kicked      pmap.Map[protocol.ParticipantID, struct{}]   // kicked and not invited since
	pauses      pmap.Map[protocol.ParticipantID, time.Time]  // end of the pause; zero: until resumed
	members     pmap.Map[protocol.ParticipantID, membership] // without the configured ones
	invitations pmap.Map[string, Invitation]                 // by the hash of the token
	expiry      pmap.Map[string, string]                     // hashes of the ones that expire, by pmap.TimeKey
}

// origin is how a participant that is not configured became known.
type origin uint8

const (
	originGuest origin = iota + 1
	originInvited
)

// membership describes a participant that is not configured. The fields about
// invitations are zero for guests.
type membership struct {
	origin  origin
	inviter protocol.ParticipantID // of the first invitation
	token   string                 // hash of the last invitation's token, the only valid one
	at      protocol.Seq           // of the last invitation
}

// Invitation is the effect of an invitation's token.
type Invitation struct {
	Participant protocol.ParticipantID
	Expires     time.Time    // zero: never
	At          protocol.Seq // of the invitation; see [Viewer]
}

func newState(cfg *Config) *State {
	return &State{cfg: cfg, ledger: cfg.ledger()}
}

// rightsOf returns the configured capabilities in the form that the ledger needs.
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
	next.cfg, next.ledger = cfg, st.ledger.WithConfiguredOf(cfg.ledger())
	return &next
}

func (st *State) isKicked(id protocol.ParticipantID) bool { return st.kicked.Has(id) }
func (st *State) known(id protocol.ParticipantID) bool    { return st.members.Has(id) }
func (st *State) invited(id protocol.ParticipantID) bool {
	return st.member(id).origin == originInvited
}

func (st *State) member(id protocol.ParticipantID) membership {
	m, _ := st.members.Get(id)
	return m
}

func (st *State) paused(id protocol.ParticipantID, now time.Time) bool {
	until, ok := st.pauses.Get(id)
	return ok && (until.IsZero() || now.Before(until))
}

func (st *State) observes(id protocol.ParticipantID, now time.Time) bool {
	return st.ledger.Effective(id, now).Observes()
}

// visibility returns the visibility of a viewer, from its rights and the
// configuration.
func (st *State) visibility(who Viewer, now time.Time) Visibility {
	return Visibility{who, st.cfg.Everyone, st.observes(who.ID, now)}
}

// sameRights reports whether a participant has the same rights in both states.
func (st *State) sameRights(other *State, id protocol.ParticipantID, now time.Time) bool {
	return sameList(st.ledger.Display(id, now), other.ledger.Display(id, now))
}

func sameList(a, b []json.RawMessage) bool {
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] {
		return true // the same cached list
	}
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return string(x) == string(y) })
}

// expiredBetween reports whether a grant expired between the two times.
func (st *State) expiredBetween(last, now time.Time) bool {
	at, ok := st.ledger.NextExpiry(last)
	return ok && !at.After(now)
}

// apply returns the state with one more entry. The entry was checked when it was
// admitted; after an error only the seq has changed.
func (st *State) apply(e *journal.Entry) (*State, error) {
	next := *st
	return &next, next.fold(e)
}

// fold folds one entry into a state that is not shared yet.
func (st *State) fold(e *journal.Entry) error {
	st.seq = e.Envelope.Seq
	payload := e.Payload()
	if !payload.Exists() {
		return fmt.Errorf("payload of %s is not JSON", e.Envelope.ID)
	}
	switch e.Envelope.Kind {
	case protocol.KindCapabilityGrant:
		return st.grant(&e.Envelope, payload)
	case protocol.KindCapabilityRevoke:
		return st.revoke(&e.Envelope, payload)
	case protocol.KindSpaceInvite:
		return st.invite(e, payload)
	case protocol.KindSpaceKick:
		st.kicked = st.kicked.Set(participantIn(payload, "participant_id"), struct{}{})
	case protocol.KindParticipantPause:
		st.pause(&e.Envelope, payload)
	case protocol.KindParticipantResume:
		for _, id := range e.Envelope.To {
			st.pauses = st.pauses.Delete(id)
		}
	case KindSystemMember:
		if id := participantIn(payload, "participant_id"); !st.known(id) {
			st.members = st.members.Set(id, membership{origin: originGuest})
		}
	}
	return nil
}

func (st *State) grant(e *protocol.Envelope, payload protocol.Value) error {
	g, err := capability.ReadGrant(e.ID, e.From, payload, e.TS)
	if err != nil {
		return err
	}
	st.ledger = st.ledger.Apply(g)
	return nil
}

func (st *State) revoke(e *protocol.Envelope, payload protocol.Value) error {
	r, err := capability.ReadRevocation(payload, e.TS)
	if err != nil {
		return err
	}
	st.ledger = st.ledger.Apply(r)
	return nil
}

// invite folds an invitation. It retires the token of an earlier invitation of
// the same participant. An invitation without a token readmits a guest, which has
// a token of the issuer.
func (st *State) invite(e *journal.Entry, payload protocol.Value) error {
	digest, g, err := readInvitation(&e.Envelope, payload, e.Private)
	if err != nil {
		return err
	}
	st.dropExpired(e.Envelope.TS)
	st.kicked = st.kicked.Delete(g.Recipient)
	if digest == ([32]byte{}) {
		g.Invitation = false
		st.ledger = st.ledger.Apply(g)
		return nil
	}
	m, hash := st.member(g.Recipient), string(digest[:])
	st.retire(m.token)
	if m.inviter == "" {
		m.inviter = e.Envelope.From
	}
	m.origin, m.token, m.at = originInvited, hash, e.Envelope.Seq
	st.members = st.members.Set(g.Recipient, m)
	st.invitations = st.invitations.Set(hash, Invitation{g.Recipient, g.ExpiresAt, m.at})
	if !g.ExpiresAt.IsZero() {
		st.expiry = st.expiry.Set(pmap.TimeKey(g.ExpiresAt, hash), hash)
	}
	st.ledger = st.ledger.Apply(g)
	return nil
}

// retire drops the invitation whose token has this hash, if there is one.
func (st *State) retire(hash string) {
	i, ok := st.invitations.Get(hash)
	if !ok {
		return
	}
	st.invitations = st.invitations.Delete(hash)
	if !i.Expires.IsZero() {
		st.expiry = st.expiry.Delete(pmap.TimeKey(i.Expires, hash))
	}
}

// dropExpired drops expired invitations.
func (st *State) dropExpired(now time.Time) {
	for {
		key, hash, ok := st.expiry.After("")
		if !ok || key >= pmap.TimeKey(now, "") {
			return
		}
		st.expiry = st.expiry.Delete(key)
		st.invitations = st.invitations.Delete(hash)
	}
}

func (st *State) pause(e *protocol.Envelope, payload protocol.Value) {
	var until time.Time
	if d := protocol.PauseDuration(payload); d > 0 {
		until = e.TS.Add(d)
	}
	for _, id := range e.To {
		st.pauses = st.pauses.Set(id, until)
	}
}

func participantIn(payload protocol.Value, key string) protocol.ParticipantID {
	return protocol.ParticipantID(payload.Get(key).Text())
}

// Kicked reports whether the participant was removed from the space.
func (s *Space) Kicked(id protocol.ParticipantID) bool { return s.state.Load().isKicked(id) }

// Invited reports whether the participant was invited, rather than configured
// or a guest.
func (s *Space) Invited(id protocol.ParticipantID) bool { return s.state.Load().invited(id) }

// LookupInvitation returns the invitation whose token has this hash.
func (s *Space) LookupInvitation(hash [32]byte) (Invitation, bool) {
	return s.state.Load().invitations.Get(string(hash[:]))
}
