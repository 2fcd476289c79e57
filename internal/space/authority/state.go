// Package authority decides who may do what in a space, by the [Config] of its
// participants and the [State] that is folded from the log.
//
// The state of the administrative space has a [Directory]: spaces and participants that
// were made while the gateways run. A [BucketPool] has the token buckets of participants.
package authority

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/pmap"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// KindSystemMember marks the hidden entry that makes a guest known to a space.
const KindSystemMember protocol.Kind = "system.member"

// State holds the rights in a space: a fold over the state entries of its log,
// the same on every gateway. A State is immutable. Folding an entry returns a new
// one in O(log n), since its maps share unchanged parts.
type State struct {
	Config *Config      // in force
	Policy string       // digest of the policy in Config
	Seq    protocol.Seq // of the last state entry that was folded
	Ledger *capability.Ledger

	last   protocol.ID // of that entry
	folded uint64      // number of state entries
	clock  time.Time   // of that entry: one that was ahead must not last

	kicked      pmap.Map[protocol.ParticipantID, struct{}]   // kicked and not invited since
	pauses      pmap.Map[protocol.ParticipantID, time.Time]  // end of the pause; zero: until resumed
	members     pmap.Map[protocol.ParticipantID, Membership] // without the configured ones
	modes       pmap.Map[protocol.ParticipantID, ModeChange] // the last one of each reviewer
	invitations pmap.Map[string, Invitation]                 // by the hash of the token
	expiry      pmap.Map[string, string]                     // hashes of the ones that expire, by pmap.TimeKey
	extended    pmap.Map[protocol.ParticipantID, Extension]  // budgets; "": of the space
	claims      claims
	// Directory is what the administrative space has made; empty in other spaces.
	Directory Directory
}

// Origin is how a participant that is not configured became known.
type Origin uint8

// The origins; zero: the participant is configured or not known.
const (
	guest Origin = iota + 1
	invited
)

// Membership describes a participant that is not configured. The fields about
// invitations are zero for guests.
type Membership struct {
	Origin  Origin
	seen    time.Time              // of a guest: its last entry of kind KindSystemMember
	Inviter protocol.ParticipantID // of the first invitation
	token   string                 // hash of the last invitation's token, the only valid one
	At      protocol.Seq           // of the last invitation
}

// Invitation is the effect of an invitation's token.
type Invitation struct {
	Participant protocol.ParticipantID
	Expires     time.Time    // zero: never
	At          protocol.Seq // of the invitation; see [ring.Viewer]
}

// NewState returns the state before any state entry.
func NewState(cfg *Config) *State {
	return &State{Config: cfg, Policy: cfg.policyDigest(), Ledger: cfg.ledger()}
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

// WithConfig returns the state under another configuration.
func (st *State) WithConfig(cfg *Config) *State {
	next := *st
	next.Config, next.Policy, next.Ledger = cfg, cfg.policyDigest(), st.Ledger.WithConfiguredOf(cfg.ledger())
	return &next
}

// IsKicked reports whether the participant was kicked and not invited since.
func (st *State) IsKicked(id protocol.ParticipantID) bool { return st.kicked.Has(id) }

// CheckKicked returns the rejection of a participant that was kicked; nil if it was
// not.
func (st *State) CheckKicked(id protocol.ParticipantID) error {
	if st.IsKicked(id) {
		return protocol.Errorf(protocol.CodeKicked, "You were removed from this space and have to be invited again.")
	}
	return nil
}

// GuestAge is how long a guest is known after it was recorded. It is recorded again
// while it is connected or makes requests, after a third of that.
const GuestAge = 90 * 24 * time.Hour

// isForgotten reports whether a membership is of a guest that has not been seen
// for GuestAge, by the clock of the log. One that was kicked is remembered, and one that
// has grants, so that they can be revoked and its id cannot be given to another by invitation.
func (st *State) isForgotten(id protocol.ParticipantID, m Membership) bool {
	return m.Origin == guest && st.clock.Sub(m.seen) >= GuestAge && !st.kicked.Has(id) && !st.Ledger.HasGrants(id)
}

// IsGuestDue reports whether a guest that is known has to be recorded again.
func (st *State) IsGuestDue(id protocol.ParticipantID, now time.Time) bool {
	m := st.Member(id)
	return m.Origin == guest && now.Sub(m.seen) >= GuestAge/3
}

// HasJoined reports whether the participant is known by an invitation or as a guest.
func (st *State) HasJoined(id protocol.ParticipantID) bool { return st.Member(id).Origin != 0 }

// IsInvited reports whether the participant was invited.
func (st *State) IsInvited(id protocol.ParticipantID) bool {
	return st.Member(id).Origin == invited
}

// Member returns the membership of a participant that is not configured; zero if it is
// not known.
func (st *State) Member(id protocol.ParticipantID) Membership {
	m, _ := st.members.Get(id)
	if st.isForgotten(id, m) {
		return Membership{}
	}
	return m
}

// IsPaused reports whether the participant is paused.
func (st *State) IsPaused(id protocol.ParticipantID, now time.Time) bool {
	until, ok := st.pauses.Get(id)
	return ok && (until.IsZero() || now.Before(until))
}

// Paused returns the paused participants.
func (st *State) Paused(now time.Time) []protocol.ParticipantID {
	list := []protocol.ParticipantID{}
	for id := range st.pauses.All() {
		if st.IsPaused(id, now) {
			list = append(list, id)
		}
	}
	return list
}

// Observes reports whether the participant may see all envelopes.
func (st *State) Observes(id protocol.ParticipantID, now time.Time) bool {
	return st.Ledger.Effective(id, now).Observes()
}

// Rights reports whether a participant may send an envelope: by its capabilities, or a call by
// a rule of the deciders, which also reject proposals. named: it may without further question,
// by a rule, or by a capability that names the participant as the recipient.
func (st *State) Rights(id protocol.ParticipantID, e *protocol.Envelope, now time.Time) (allowed, named bool) {
	payload := e.ParsePayload()
	rights, r := st.Ledger.Effective(id, now), st.Request(id, e, payload, now)
	d := rights.Decide(&r)
	switch {
	case d.Allowed && e.Kind == protocol.KindMCPProposal:
		d.Allowed = st.Config.RejectsProposal(id, e, payload) == ""
	case !d.Allowed && e.Kind == protocol.KindMCPRequest && len(st.Config.Deciders.Rules) > 0 && (d.By == nil || !d.By.Deny()):
		verdict, _ := st.Config.Ask(rights, r)
		return verdict == Allowed, verdict == Allowed
	}
	return d.Allowed, d.Allowed && d.By.NamesRecipient(id)
}

// MayDecide reports whether a participant may decide on a proposal that it can see: reject it, or
// make the call at the host that it names. The proposer must be in the space.
func (st *State) MayDecide(u *Usage, id protocol.ParticipantID, p *protocol.Envelope, now time.Time) bool {
	if id == p.From || st.IsGone(p.From) {
		return false
	}
	proposed := p.ParsePayload()
	call := st.Config.ProposedCall(p.From, p, proposed, HostOf(proposed))
	_, err := st.CheckDecision(u, id, p, &call, false, now)
	return err == nil
}

// ErrNotDecider means that the rights of a participant do not allow it to decide on a proposal.
const ErrNotDecider = NotDecider("You may not decide on this proposal: none of your capabilities for decide matches it.")

// CheckDecision checks whether a participant that can see a proposal may decide on it, by its
// rights, the deciders, and the budgets and loops in u (nil: none). It returns which sort of decider
// it is; "": the space has no deciders. changed: it decides by making another call than the
// proposed one. The error is a NotDecider.
func (st *State) CheckDecision(u *Usage, id protocol.ParticipantID, p *protocol.Envelope, call *capability.Request, changed bool, now time.Time) (ring.Decider, error) {
	if !st.Config.JudgeDecision(st.Ledger.Effective(id, now), p, call).Allowed {
		return "", ErrNotDecider
	}
	decider, err := st.checkDecider(id, p, call, changed, now)
	if err != nil || u == nil || st.IsPerson(id, now) {
		return decider, err
	}
	because := st.AskedBecause(u, p, call.Payload, now)
	if because == "" && (changed || IsToolCall(call.Payload)) {
		ask := st.askForBudget(u, id, 0, now) // an approval is a call of its own
		if ask == nil && decider == ring.DeciderReviewer {
			ask = st.Ask(u, p, call.Payload, 0, now) // else no budget would hold up one that only proposes
		}
		if ask != nil {
			because = ask.Text
		}
	}
	if because != "" { // others would pass on what people are asked about
		return "", NotDecider("Only people decide on this call, because " + because + ": those who may send budget.extend, and the people of deciders.")
	}
	return decider, nil
}

// JudgeDecision returns what rights say about a decision on the proposal of a call. It is allowed
// if the capability decide matches the proposal, or the holder could itself send the call and the
// space does not require decide.
func (c *Config) JudgeDecision(rights capability.Rights, p *protocol.Envelope, call *capability.Request) capability.Decision {
	decide := *call
	decide.Kind, decide.To = capability.Decide, p.To
	d := rights.Decide(&decide)
	if d.Allowed || c.DecideExplicitly {
		return d
	}
	return rights.Decide(call)
}

// ProposedCall returns what patterns match of a call that a participant proposes, made to these
// participants.
func (c *Config) ProposedCall(from protocol.ParticipantID, p *protocol.Envelope, proposed protocol.Value, to []protocol.ParticipantID) capability.Request {
	return c.Request(from, &protocol.Envelope{Kind: protocol.KindMCPRequest, To: to, Context: p.Context}, proposed)
}

// Request returns what capabilities match of an envelope that a participant sends.
func (c *Config) Request(from protocol.ParticipantID, e *protocol.Envelope, payload protocol.Value) capability.Request {
	r := capability.Request{Kind: e.Kind, Payload: payload, To: e.To, Context: e.Context}
	switch e.Kind {
	case protocol.KindMCPRequest:
		r.Place = c.place(from, e.To, payload)
	case protocol.KindMCPProposal:
		r.Place = c.place(from, HostOf(payload), payload)
	}
	return r
}

// place returns the folders of the paths in a call, which is for one participant: its
// configured root. The working directory that the sender names counts for calls to itself
// alone, since no other host runs them there.
func (c *Config) place(from protocol.ParticipantID, to []protocol.ParticipantID, call protocol.Value) argument.Place {
	if len(to) != 1 {
		return argument.Place{}
	}
	return capability.PlaceOf(c.Participants[to[0]].Root, call, to[0] == from)
}

// Scopes returns the capabilities that a participant can grant to the proposer of a call, for calls
// to a host, the least general first.
func (st *State) Scopes(id protocol.ParticipantID, p *protocol.Envelope, host protocol.ParticipantID, now time.Time) []capability.Scope {
	proposed := p.ParsePayload()
	r := st.Config.ProposedCall(p.From, p, proposed, []protocol.ParticipantID{host})
	dir := ""
	if host == p.From {
		dir = capability.WorkingDirectory(proposed)
	}
	return slices.DeleteFunc(capability.Scopes(&r, dir), func(s capability.Scope) bool {
		payload := protocol.AppendString([]byte(`{"recipient":`), string(p.From))
		payload = fmt.Appendf(payload, `,"capabilities":[%s]}`, s.Capability)
		return !st.MayGrant(id, p.From, payload, now)
	})
}

// MayGrant reports whether a participant may send a capability.grant with this payload to
// another one.
func (st *State) MayGrant(id, recipient protocol.ParticipantID, payload []byte, now time.Time) bool {
	grant := &protocol.Envelope{From: id, Kind: protocol.KindCapabilityGrant, To: []protocol.ParticipantID{recipient}, TS: now, Payload: payload}
	allowed, _ := st.Rights(id, grant, now)
	return id != recipient && allowed && st.CheckGrant(grant, grant.ParsePayload()) == nil
}

// HostOf returns the participant that a proposal names for its call; nil: none.
func HostOf(proposed protocol.Value) []protocol.ParticipantID {
	if host := protocol.ParticipantIn(proposed, "participant_id"); host != "" {
		return []protocol.ParticipantID{host}
	}
	return nil
}

// Visibility returns the visibility of a viewer, from its rights and the
// configuration.
func (st *State) Visibility(who ring.Viewer, now time.Time) ring.Visibility {
	return ring.Visibility{Viewer: who, Everyone: st.Config.Everyone, Observes: st.Observes(who.ID, now)}
}

// SameRights reports whether a participant has the same rights in this state at
// one time and in another state at another time.
func (st *State) SameRights(at time.Time, id protocol.ParticipantID, other *State, then time.Time) bool {
	a, b := st.Ledger.Display(id, at), other.Ledger.Display(id, then)
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] {
		return true // the same cached list
	}
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return string(x) == string(y) })
}

// GrantsExpired reports whether a grant expired between the two times, or is in force
// again because the wall clock was set back.
func (st *State) GrantsExpired(last, now time.Time) bool {
	last, now = last.Round(0), now.Round(0)
	if now.Before(last) {
		last, now = now, last
	}
	at, ok := st.Ledger.NextExpiry(last)
	return ok && !at.After(now)
}

// Apply returns the state with one more entry. The entry was checked when it was
// admitted; after an error only the seq has changed.
func (st *State) Apply(e *journal.Entry) (*State, error) {
	next := *st
	return &next, next.Fold(e)
}

// Fold folds one entry into a state that is not shared yet.
func (st *State) Fold(e *journal.Entry) error {
	st.Seq, st.last = e.Envelope.Seq, e.Envelope.ID
	st.folded++
	st.clock = e.Envelope.TS
	payload := e.Payload()
	if !payload.Exists() {
		return fmt.Errorf("payload of %s is not JSON", e.Envelope.ID)
	}
	switch e.Envelope.Kind {
	case protocol.KindCapabilityGrant:
		g, err := capability.ReadGrant(e.Envelope.ID, e.Envelope.From, payload, e.Envelope.TS)
		if err != nil {
			return err
		}
		st.dropForgotten(g.Recipient)
		st.Ledger = st.Ledger.Apply(g)
	case protocol.KindCapabilityRevoke:
		r, err := capability.ReadRevocation(payload, e.Envelope.TS)
		if err != nil {
			return err
		}
		st.Ledger = st.Ledger.Apply(r)
	case protocol.KindSpaceInvite:
		return st.invite(e, payload)
	case protocol.KindSpaceKick:
		id := protocol.ParticipantIn(payload, "participant_id")
		st.dropForgotten(id)
		st.kicked = st.kicked.Set(id, struct{}{})
		st.dropClaims(id)
	case protocol.KindClaim:
		return st.claim(&e.Envelope, payload)
	case protocol.KindRelease:
		return st.release(&e.Envelope, payload)
	case protocol.KindParticipantPause:
		var until time.Time
		if d := protocol.PauseDuration(payload); d > 0 {
			until = e.Envelope.TS.Add(d)
		}
		for _, id := range e.Envelope.To {
			st.pauses = st.pauses.Set(id, until)
		}
	case protocol.KindParticipantResume:
		for _, id := range e.Envelope.To {
			st.pauses = st.pauses.Delete(id)
		}
	case protocol.KindReviewerPromote, protocol.KindReviewerDemote:
		st.setMode(e, payload)
	case protocol.KindBudgetExtend:
		return st.extend(&e.Envelope, payload)
	case KindSystemMember:
		if id := protocol.ParticipantIn(payload, "participant_id"); !st.IsInvited(id) {
			st.members = st.members.Set(id, Membership{Origin: guest, seen: e.Envelope.TS})
		}
	default:
		if e.Envelope.Kind.IsAdministrative() {
			change, err := ReadDirectoryChange(&e.Envelope, payload)
			if err == nil {
				st.Directory, err = st.Directory.Apply(change)
			}
			return err
		}
	}
	return nil
}

// dropForgotten deletes the membership of a guest that was forgotten, which a snapshot
// may not have. A kick or a grant that follows does not restore it.
func (st *State) dropForgotten(id protocol.ParticipantID) {
	if !st.HasJoined(id) {
		st.members = st.members.Delete(id)
	}
}

// invite folds an invitation. It retires the token of an earlier invitation of
// the same participant. An invitation without a token readmits a guest, which has
// a token of the issuer.
func (st *State) invite(e *journal.Entry, payload protocol.Value) error {
	digest, g, err := ReadInvitation(&e.Envelope, payload, e.Private)
	if err != nil {
		return err
	}
	st.DropExpired(e.Envelope.TS)
	st.dropForgotten(g.Recipient)
	st.kicked = st.kicked.Delete(g.Recipient)
	if digest == ([32]byte{}) {
		g.Invitation = false
		st.Ledger = st.Ledger.Apply(g)
		return nil
	}
	m, hash := st.Member(g.Recipient), string(digest[:])
	before, isValid := st.invitations.Get(m.token)
	if isValid {
		st.invitations = st.invitations.Delete(m.token)
		if !before.Expires.IsZero() {
			st.expiry = st.expiry.Delete(pmap.TimeKey(before.Expires, m.token))
		}
	}
	if m.Inviter == "" {
		m.Inviter = e.Envelope.From
	}
	m.Origin, m.token, m.At = invited, hash, e.Envelope.Seq
	st.members = st.members.Set(g.Recipient, m)
	st.invitations = st.invitations.Set(hash, Invitation{g.Recipient, g.ExpiresAt, m.At})
	if !g.ExpiresAt.IsZero() {
		st.expiry = st.expiry.Set(pmap.TimeKey(g.ExpiresAt, hash), hash)
	}
	st.Ledger = st.Ledger.Apply(g)
	return nil
}

// DropExpired drops expired invitations.
func (st *State) DropExpired(now time.Time) {
	for {
		key, hash, ok := st.expiry.After("")
		if !ok || key >= pmap.TimeKey(now, "") {
			return
		}
		st.expiry = st.expiry.Delete(key)
		st.invitations = st.invitations.Delete(hash)
	}
}

// Settings returns the configuration of a participant.
func (st *State) Settings(id protocol.ParticipantID) ParticipantConfig {
	cfg := st.Config
	if p, ok := cfg.Participants[id]; ok {
		return p
	}
	if st.IsInvited(id) || cfg.Guests == nil {
		return cfg.Invited
	}
	return *cfg.Guests
}

// IsKnown reports whether the participant is configured, invited, or a guest that
// has connected before.
func (st *State) IsKnown(id protocol.ParticipantID) bool {
	_, configured := st.Config.Participants[id]
	return configured || st.HasJoined(id)
}

// Admits reports whether the configuration and the invitations admit the
// participant.
func (st *State) Admits(id protocol.ParticipantID) bool {
	_, configured := st.Config.Participants[id]
	return configured || st.IsInvited(id) || st.Config.Guests != nil
}

// IsGone reports whether the participant was kicked, or the configuration and the
// invitations no longer admit it.
func (st *State) IsGone(id protocol.ParticipantID) bool { return st.IsKicked(id) || !st.Admits(id) }

// Invitation returns the invitation whose token has this hash.
func (st *State) Invitation(hash [32]byte) (Invitation, bool) {
	return st.invitations.Get(string(hash[:]))
}
