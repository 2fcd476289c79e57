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

// Config is what an operator has said about one space.
type Config struct {
	Name string
	// Pattern is the name that the operator has configured, which may be a glob
	// that Name matches; "": Name itself.
	Pattern string
	Dialect protocol.Dialect // of connections that name none
	// Everyone lets everybody see what is addressed to others; then `to` only
	// says who should act.
	Everyone bool
	// DecideExplicitly: only the capability decide lets a participant settle a
	// proposal; otherwise the right to make the proposed call does as well.
	DecideExplicitly bool
	// Participants are those that the configuration names.
	Participants map[protocol.ParticipantID]ParticipantConfig
	// Guests is what holds for participants with a token of the space's
	// issuer; nil: there are none.
	Guests *ParticipantConfig
	// Invited is what holds for invited participants, besides what the
	// invitation grants.
	Invited ParticipantConfig

	base func() *capability.Ledger // the rights before any state entry, made once
}

// Shared returns the function that makes the configuration of each space of one
// pattern. Nothing in them but the name is made for a space of its own, however
// many participants are configured.
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

// pattern is under which name the operator has configured the space.
func (c *Config) pattern() string { return cmp.Or(c.Pattern, c.Name) }

// ParticipantConfig is what an operator has said about a participant.
type ParticipantConfig struct {
	Capabilities []*capability.Capability
	// Limits are shown in the welcome; of them the space itself enforces
	// connections, open contexts and context depth.
	Limits protocol.Limits
	// NewLimiter makes the participant's buckets; on a reload it is given the
	// ones in use. nil: no limits.
	NewLimiter func(old Limiter) Limiter
}

// Limiter holds the token buckets of one participant, for all its connections.
// Its methods may be called concurrently.
type Limiter interface {
	// Envelope charges one envelope, whatever becomes of it.
	Envelope(now time.Time) *protocol.Error
	// Join charges one connection that the participant opens.
	Join(now time.Time) *protocol.Error
	// Work refuses work for the participant beyond its share: inspections, and
	// scans of the log.
	Work(now time.Time) *protocol.Error
	// Worked charges work that was done, in bytes that were looked at.
	Worked(now time.Time, bytes int)
	// Reserve charges the bytes and the buckets of the kind. What it returns
	// gives them back; it is nil when there was nothing to charge.
	Reserve(now time.Time, kind protocol.Kind, bytes int) (Reservation, *protocol.Error)
	// Read charges a request that reads.
	Read(now time.Time) *protocol.Error
	// Refused charges bytes of refused envelopes, and returns how long the
	// sender has to keep quiet; 0: it may go on.
	Refused(now time.Time, bytes int) time.Duration
}

// Reservation is what a Limiter has charged and can give back.
type Reservation interface {
	// Cancel gives back everything.
	Cancel(now time.Time)
	// CancelKinds gives back the tokens of the kinds, not the bytes.
	CancelKinds(now time.Time)
}

// Redactor puts payloads right before anything is durable. Its methods may be
// called concurrently.
type Redactor interface {
	// Applies reports whether payloads of the kind are looked at.
	Applies(kind protocol.Kind) bool
	// Envelope returns a payload of the kind as it is to be kept, and with it the
	// fields that the protocol does not know, an object or absent. An error
	// refuses them. It may wait for other inspections to end.
	Envelope(ctx context.Context, kind protocol.Kind, payload, extra protocol.Value) (Redaction, *protocol.Error)
	// Stream returns a redactor of one stream.
	Stream() StreamRedactor
}

// Redaction is what a Redactor has done to a payload. Of a payload that it
// refuses, it is the work alone.
type Redaction struct {
	Payload []byte   // as it is to be kept; nil: as it came
	Extra   []byte   // the same of the fields beside it, without braces
	Blocked []string // names of rules for which a text was taken out
	Warned  []string // names of rules that are logged
	Work    int      // bytes that were run over for it
}

// Peers carries what is live and not logged between the gateways of a cluster.
type Peers interface {
	// Publish sends a message to the other gateways, at most once.
	Publish(space string, message []byte) error
	// SetRoster says who is connected to this gateway.
	SetRoster(space string, here []Connected)
	// Remote returns who is connected to the other gateways.
	Remote(space string) []Connected
}

// Observer counts what happens. Its methods may be called concurrently and
// must be quick.
type Observer interface {
	Admitted(kind protocol.Kind)
	Refused(code protocol.Code)
	Delivered(entries int, lag time.Duration)
	FromRing(entries int)
	FromJournal(entries int)
	LiveDropped(entries int)
	Connections(delta int)
}

// Services are what a space needs of the rest of the gateway.
type Services struct {
	Journal  journal.Journal
	Validate func(kind protocol.Kind, payload protocol.Value) *protocol.Error
	Safety   Redactor         // nil: nothing is masked
	Peers    Peers            // nil: a gateway of its own
	Observer Observer         // nil: nothing is counted
	Clock    func() time.Time // nil: time.Now
	NewID    func() protocol.ID
	NewToken func() (token string, hash [32]byte) // for invitations
	Logger   *slog.Logger                         // nil: silence

	// RingEntries and RingBytes bound what a space keeps in memory; 0: 4096
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
