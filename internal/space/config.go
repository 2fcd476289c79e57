package space

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Config is the configuration of one space.
type Config struct {
	Name string
	// Pattern is the configured name, which may be a glob that Name matches; "":
	// Name itself.
	Pattern string
	Dialect protocol.Dialect // of connections that do not name one
	// Everyone makes addressed envelopes visible to all participants; then `to`
	// only names who should act.
	Everyone bool
	// DecideExplicitly requires the capability decide to settle a proposal;
	// otherwise the right to make the proposed call is enough.
	DecideExplicitly bool
	// Participants are the configured participants.
	Participants map[protocol.ParticipantID]ParticipantConfig
	// Guests applies to participants with a token of the space's issuer; nil:
	// there are none.
	Guests *ParticipantConfig
	// Invited applies to invited participants, in addition to the grants of the
	// invitation.
	Invited ParticipantConfig

	base func() *capability.Ledger // the rights before any state entry, computed once
}

// Shared returns the function that makes the configuration of each space of one
// pattern. The configurations share everything but the name, so the cost of a
// space does not depend on the number of configured participants.
func (c *Config) Shared() func(name string) *Config {
	c.base = sync.OnceValue(func() *capability.Ledger { return capability.NewLedger(rightsOf(c)) })
	return func(name string) *Config {
		named := *c
		named.Name = name
		return &named
	}
}

func (c *Config) ledger() *capability.Ledger {
	if c.base != nil {
		return c.base()
	}
	return capability.NewLedger(rightsOf(c))
}

// pattern returns the name under which the space is configured.
func (c *Config) pattern() string { return cmp.Or(c.Pattern, c.Name) }

// ParticipantConfig is the configuration of a participant.
type ParticipantConfig struct {
	Capabilities []*capability.Capability
	// Limits are shown in the welcome. The space itself enforces connections,
	// open contexts and context depth.
	Limits protocol.Limits
	// NewLimiter makes the participant's buckets; on a reload it receives the
	// ones in use. nil: no limits.
	NewLimiter func(old Limiter) Limiter
}

// Limiter holds the token buckets of one participant, for all its connections.
// Its methods may be called concurrently.
type Limiter interface {
	// Envelope charges one envelope, admitted or not.
	Envelope(now time.Time) *protocol.Error
	// Join charges one connection that the participant opens.
	Join(now time.Time) *protocol.Error
	// Work rejects work beyond the participant's share: inspections, and scans of
	// the log.
	Work(now time.Time) *protocol.Error
	// Worked charges work that was done, in bytes scanned.
	Worked(now time.Time, bytes int)
	// Reserve charges the bytes and the buckets of the kind. The reservation
	// returns them; it is nil when nothing was charged.
	Reserve(now time.Time, kind protocol.Kind, bytes int) (Reservation, *protocol.Error)
	// Read charges a read request.
	Read(now time.Time) *protocol.Error
	// Refused charges bytes of rejected envelopes and returns how long the sender
	// must pause; 0: not at all.
	Refused(now time.Time, bytes int) time.Duration
}

// Reservation is a charge that can be returned.
type Reservation interface {
	// Cancel returns the whole charge.
	Cancel(now time.Time)
	// CancelKinds returns the tokens of the kinds, not the bytes.
	CancelKinds(now time.Time)
}

// Redactor masks payloads before they become durable. Its methods may be called
// concurrently.
type Redactor interface {
	// Applies reports whether payloads of the kind are inspected.
	Applies(kind protocol.Kind) bool
	// Envelope returns the masked form of a payload and of the fields that the
	// protocol does not define, an object or absent. An error rejects the
	// envelope. It may wait for other inspections to end.
	Envelope(ctx context.Context, kind protocol.Kind, payload, extra protocol.Value) (Redaction, *protocol.Error)
	// Stream returns a redactor of one stream.
	Stream() StreamRedactor
}

// Redaction is the result of masking a payload. For a rejected payload only Work
// is set.
type Redaction struct {
	Payload []byte   // the form to store; nil: unchanged
	Extra   []byte   // the same for the unknown fields, without braces
	Blocked []string // names of rules that removed text
	Warned  []string // names of rules that only log
	Work    int      // bytes scanned
}

// Peers carries live, unlogged data between the gateways of a cluster.
type Peers interface {
	// Publish sends a message to the other gateways, at most once.
	Publish(space string, message []byte) error
	// SetRoster reports the participants that are connected to this gateway.
	SetRoster(space string, here []Connected)
	// Remote returns the participants that are connected to the other gateways.
	Remote(space string) []Connected
}

// Observer counts events. Its methods may be called concurrently and must be
// quick.
type Observer interface {
	Admitted(kind protocol.Kind)
	Refused(code protocol.Code)
	Delivered(entries int, lag time.Duration)
	FromRing(entries int)
	FromJournal(entries int)
	LiveDropped(entries int)
	Connections(delta int)
}

// Services are the dependencies of spaces on the rest of the gateway.
type Services struct {
	Journal  journal.Journal
	Validate func(kind protocol.Kind, payload protocol.Value) *protocol.Error
	Safety   Redactor         // nil: nothing is masked
	Peers    Peers            // nil: a single gateway
	Observer Observer         // nil: nothing is counted
	Clock    func() time.Time // nil: time.Now
	NewID    func() protocol.ID
	NewToken func() (token string, hash [32]byte) // for invitations
	Logger   *slog.Logger                         // nil: discards

	// RingEntries and RingBytes bound the memory of a space's ring; 0: 4096
	// entries, 8 MiB.
	RingEntries int
	RingBytes   int
	// RingTotal bounds the rings of all spaces together, in bytes; 0: 128 MiB.
	RingTotal int64
}

func (s *Services) fill() {
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.Observer == nil {
		s.Observer = noObserver{}
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.RingEntries == 0 {
		s.RingEntries = 4096
	}
	if s.RingBytes == 0 {
		s.RingBytes = 8 << 20
	}
	if s.RingTotal == 0 {
		s.RingTotal = 128 << 20
	}
}

type noObserver struct{}

func (noObserver) Admitted(protocol.Kind)       {}
func (noObserver) Refused(protocol.Code)        {}
func (noObserver) Delivered(int, time.Duration) {}
func (noObserver) FromRing(int)                 {}
func (noObserver) FromJournal(int)              {}
func (noObserver) LiveDropped(int)              {}
func (noObserver) Connections(int)              {}
