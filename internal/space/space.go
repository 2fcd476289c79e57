package space

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Space is one space on this gateway.
type Space struct {
	name string
	hub  *Hub
	log  *slog.Logger
	ring *ring.Ring

	logID string // of the log that was read when the space was opened

	state    atomic.Pointer[authority.State] // state and configuration, changed together
	stored   *authority.Stored               // used by SaveSnapshots alone once the space is open
	unstored bool                            // SaveSnapshots has logged that the state is not stored
	contexts *ring.Contexts
	streams  ring.Streams
	texts    ring.StreamTexts
	usage    atomic.Pointer[authority.Usage] // nil: nothing is limited
	tools    ring.Tools

	admission *admission.View // of the parts above; nil until the log has been read

	generation int // of the configuration that it was opened with

	used    atomic.Int64 // Unix nanoseconds of the last request for the space
	retired atomic.Bool  // closed: it was idle, or its log was replaced

	// opened is closed when the log has been read; openErr is the result.
	opened  chan struct{}
	openErr error

	deliverMu sync.Mutex // orders the entries of the ring

	// While the space is being opened; guarded by deliverMu.
	loading      bool
	pending      []*journal.Entry // durable since the opening began, without gaps
	pendingBytes int
	dropped      protocol.Seq // the last entry that was not buffered in pending

	mu           sync.Mutex // never held across I/O
	participants map[protocol.ParticipantID]*participant
	remote       map[protocol.ParticipantID]Connected // connected to other gateways
	presence     PresenceTracker
	roster       struct { // for the other gateways
		reported time.Time // when it was last sent
		due      bool
	}

	claimants map[protocol.ParticipantID]time.Time // when each was seen last; used by releaseClaims alone

	connected readSet[*Member]
	cursors   readSet[*Cursor]
}

// Name returns the space's name.
func (s *Space) Name() string { return s.name }

// Dialect returns the dialect of connections that do not name one.
func (s *Space) Dialect() protocol.Dialect { return s.config().Dialect }

// LogID returns the id of the log from which the space was opened.
func (s *Space) LogID() string { return s.logID }

// Head returns the Seq of the newest delivered entry.
func (s *Space) Head() protocol.Seq {
	return s.ring.Head()
}

// Delivered returns how many entries the space has received since it was opened,
// to measure rates.
func (s *Space) Delivered() uint64 {
	_, pos, _ := s.ring.Position()
	return pos
}

func (s *Space) config() *authority.Config { return s.state.Load().Config }
func (s *Space) journal() journal.Journal  { return s.hub.services.Journal }
func (s *Space) observer() Observer        { return s.hub.services.Observer }

// now returns a reading of the clock. Two readings are compared by real time, which a wall
// clock that is set does not change; a reading and a time of the log by the wall clock.
func (s *Space) now() time.Time { return s.hub.services.Clock() }

func (s *Space) members() []*Member { return s.connected.All() }

// settings returns the configuration of a participant.
func (s *Space) settings(id protocol.ParticipantID) authority.ParticipantConfig {
	return s.state.Load().Settings(id)
}

// IsKnown reports whether the participant is known here: configured, invited, or
// a guest that has connected before.
func (s *Space) IsKnown(id protocol.ParticipantID) bool { return s.state.Load().IsKnown(id) }

// Kicked reports whether the participant was kicked and not invited since.
func (s *Space) Kicked(id protocol.ParticipantID) bool { return s.state.Load().IsKicked(id) }

// IsGone reports whether the participant was kicked, or the configuration and the
// invitations no longer admit it.
func (s *Space) IsGone(id protocol.ParticipantID) bool { return s.state.Load().IsGone(id) }

// Invited reports whether the participant was invited, rather than configured
// or a guest.
func (s *Space) Invited(id protocol.ParticipantID) bool { return s.state.Load().IsInvited(id) }

// Held returns the capabilities that a participant holds by grants and invitations, and
// by the configuration. The caller may append to it.
func (s *Space) Held(id protocol.ParticipantID) []json.RawMessage {
	return slices.Clone(s.state.Load().Ledger.Display(id, s.now()))
}

// Rights reports whether the capabilities of a participant allow it to send an
// envelope, and whether the one that does names the participant as the
// recipient.
func (s *Space) Rights(id protocol.ParticipantID, e *protocol.Envelope) (allowed, named bool) {
	return s.state.Load().Rights(id, e, s.now())
}

// MaySend reports whether the capabilities of a participant may allow it to send some
// envelope of a kind.
func (s *Space) MaySend(id protocol.ParticipantID, kind protocol.Kind) bool {
	return s.state.Load().Ledger.Effective(id, s.now()).Possible(kind)
}

// MaySendTo is MaySend for envelopes to one participant, as named and other of [capability.Rights.PossibleTo].
func (s *Space) MaySendTo(id protocol.ParticipantID, kind protocol.Kind, to protocol.ParticipantID) (named, other bool) {
	return s.state.Load().Ledger.Effective(id, s.now()).PossibleTo(kind, to)
}

// Directory returns what the space has made, if it is the administrative space.
func (s *Space) Directory() authority.Directory { return s.state.Load().Directory }

// MayDecide reports whether the rights of a participant allow it to decide on a proposal.
func (s *Space) MayDecide(id protocol.ParticipantID, p *protocol.Envelope) bool {
	return s.state.Load().MayDecide(s.usage.Load(), id, p, s.now())
}

// DecidesFrom returns when a participant of a later stage may decide on a proposal; zero: it may by
// now, or never.
func (s *Space) DecidesFrom(id protocol.ParticipantID, p *protocol.Envelope) time.Time {
	return s.state.Load().DecidesFrom(s.usage.Load(), id, p, s.now())
}

// RejectsProposal returns why a rule of the deciders rejects a proposal of a participant, as a
// sentence; "": none does.
func (s *Space) RejectsProposal(id protocol.ParticipantID, p *protocol.Envelope) string {
	return s.config().RejectsProposal(id, p, p.ParsePayload())
}

// Scopes returns the capabilities that a participant can grant to the proposer of a call, for calls
// to a host, the least general first.
func (s *Space) Scopes(id protocol.ParticipantID, p *protocol.Envelope, host protocol.ParticipantID) []capability.Scope {
	return s.state.Load().Scopes(id, p, host, s.now())
}

// MayGrant reports whether a participant may send a capability.grant with this payload to
// another one.
func (s *Space) MayGrant(id, recipient protocol.ParticipantID, payload []byte) bool {
	return s.state.Load().MayGrant(id, recipient, payload, s.now())
}

// Policy returns the digest of the policy in force.
func (s *Space) Policy() string { return s.state.Load().Policy }

// Judge returns what the rights of a participant say about a call to these participants,
// and the capability that allows or denies it; nil: none.
func (s *Space) Judge(id protocol.ParticipantID, to []protocol.ParticipantID, at protocol.ContextPath, call protocol.Value) (authority.Verdict, *capability.Capability) {
	return s.state.Load().Judge(id, to, at, call, s.now())
}

// Paused returns the paused participants, connected or not.
func (s *Space) Paused() []protocol.ParticipantID { return s.state.Load().Paused(s.now()) }

// LookupInvitation returns the invitation whose token has this hash.
func (s *Space) LookupInvitation(hash [32]byte) (authority.Invitation, bool) {
	return s.state.Load().Invitation(hash)
}

// VisibilityOf returns the current visibility of a viewer, from its rights and
// the configuration.
func (s *Space) VisibilityOf(who ring.Viewer) ring.Visibility {
	return s.state.Load().Visibility(who, s.now())
}

// SeesRights reports whether a participant may read the rights of all others: it observes,
// or may change rights.
func (s *Space) SeesRights(id protocol.ParticipantID) bool {
	return s.state.Load().Observes(id, s.now()) || s.MaySend(id, protocol.KindCapabilityGrant) || s.MaySend(id, protocol.KindCapabilityRevoke)
}

// Sender returns a sender without a connection. The error is a *protocol.Error.
func (s *Space) Sender(ctx context.Context, from ring.Viewer) (*admission.Sender, error) {
	if err := s.admission.AdmitGuest(ctx, from.ID); err != nil {
		return nil, err
	}
	if err := s.state.Load().CheckKicked(from.ID); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &admission.Sender{Viewer: from, Space: s.admission, Buckets: s.participantLocked(from.ID).buckets}, nil
}

// ChargeRead charges a read request to a participant. The error is a
// *protocol.Error: rate_limited.
func (s *Space) ChargeRead(id protocol.ParticipantID) error { return s.limiterOf(id).Read(s.now()) }

// limiterOf returns the buckets of a participant.
func (s *Space) limiterOf(id protocol.ParticipantID) authority.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.participantLocked(id).buckets.Get()
}

func (s *Space) reconfigure(cfg *authority.Config) {
	s.countFrom(cfg)
	s.deliverMu.Lock()
	before := s.state.Load()
	after := before.WithConfig(cfg)
	s.state.Store(after)
	for _, m := range s.members() { // before the next envelope is delivered
		m.refreshVisibility()
	}
	s.deliverMu.Unlock()

	s.mu.Lock()
	for id, p := range s.participants {
		s.hub.buckets.Update(p.buckets, s.settings(id).NewLimiter)
	}
	s.mu.Unlock()
	for _, m := range s.members() {
		s.recheck(m)
	}
	s.refreshRights(before, after, "")
}

// expire closes connections whose token has expired, and sends a new welcome to
// members whose grants have.
func (s *Space) expire(last, now time.Time) {
	state := s.state.Load()
	grantsEnded := state.GrantsExpired(last, now)
	for _, m := range s.members() {
		if !m.Expires.IsZero() && now.After(m.Expires) {
			m.Close(Closing{Code: protocol.CloseTokenExpired, Reason: "token expired", Now: true})
			continue
		}
		if grantsEnded && !state.SameRights(last, m.ID, state, now) {
			m.refreshVisibility()
			m.welcomeAgain()
		}
	}
}
