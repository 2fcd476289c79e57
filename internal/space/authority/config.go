package authority

import (
	"cmp"
	"encoding/json"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
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
	Deciders         Deciders
	// Participants are the configured participants.
	Participants map[protocol.ParticipantID]ParticipantConfig
	// Guests applies to participants with a token of the space's issuer; nil:
	// there are none.
	Guests *ParticipantConfig
	// Invited applies to invited participants, in addition to the grants of the
	// invitation.
	Invited ParticipantConfig
	// Budget is of all participants together, and Loops what counts as a loop.
	Budget Budget
	Loops  Loops

	// Administers checks a change against the configuration file, which takes
	// precedence; it is set for the administrative space alone. made: the directory
	// of the space has made the space of the change.
	Administers func(c DirectoryChange, made bool) error
	// Held returns what a participant holds in a space by grants and invitations, which
	// the directory does not have; it is set with Administers. Error: it is not known.
	Held func(space string, id protocol.ParticipantID) ([]json.RawMessage, error)

	// Of a pattern, computed once for all its spaces: the rights before any state entry,
	// and the digest of the policy.
	base   func() *capability.Ledger
	policy func() string
}

// Shared returns the function that makes the configuration of each space of one
// pattern. The configurations share everything but the name, so the cost of a
// space does not depend on the number of configured participants.
func (c *Config) Shared() func(name string) *Config {
	c.base = sync.OnceValue(func() *capability.Ledger { return capability.NewLedger(rightsOf(c)) })
	c.policy = sync.OnceValue(c.digest)
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

func (c *Config) policyDigest() string {
	if c.policy != nil {
		return c.policy()
	}
	return c.digest()
}

// PatternName returns the name under which the space is configured.
func (c *Config) PatternName() string { return cmp.Or(c.Pattern, c.Name) }

// ParticipantConfig is the configuration of a participant.
type ParticipantConfig struct {
	Capabilities []*capability.Capability
	// Description says what the participant does.
	Description string
	// Root is the folder that relative paths of its capabilities and of the calls to it
	// are relative to; "": unknown.
	Root string
	// Limits are shown in the welcome. The space itself enforces connections,
	// open contexts and context depth.
	Limits protocol.Limits
	// Budget is what it may use in a day before its calls have to be proposed.
	Budget Budget
	// NewLimiter makes the participant's buckets; on a reload it receives the
	// ones in use. nil: no limits.
	NewLimiter func(old Limiter) Limiter
}

// Limiter holds the token buckets of one participant, for all its connections.
// Its methods may be called concurrently.
type Limiter interface {
	// Envelope charges one envelope, admitted or not.
	Envelope(now time.Time) error
	// Join charges one connection that the participant opens.
	Join(now time.Time) error
	// Work rejects work beyond the participant's share: inspections, and scans of
	// the log.
	Work(now time.Time) error
	// Worked charges work that was done, in bytes scanned.
	Worked(now time.Time, bytes int)
	// Reserve charges the bytes and the buckets of the kind. The reservation
	// returns them; it is nil when nothing was charged.
	Reserve(now time.Time, kind protocol.Kind, bytes int) (Reservation, error)
	// Read charges a read request.
	Read(now time.Time) error
	// TakeSpent returns the tokens charged since the last call, for the other
	// gateways; nil: nothing. Charge charges what was spent at another gateway.
	TakeSpent() map[string]int
	Charge(now time.Time, spent map[string]int)
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

// Unlimited is the Limiter of a participant without limits.
type Unlimited struct{}

// Envelope charges nothing.
func (Unlimited) Envelope(time.Time) error { return nil }

// Join charges nothing.
func (Unlimited) Join(time.Time) error { return nil }

// Work rejects nothing.
func (Unlimited) Work(time.Time) error { return nil }

// Worked charges nothing.
func (Unlimited) Worked(time.Time, int) {}

// Reserve charges nothing.
func (Unlimited) Reserve(time.Time, protocol.Kind, int) (Reservation, error) { return nil, nil }

// Read charges nothing.
func (Unlimited) Read(time.Time) error { return nil }

// TakeSpent returns nothing.
func (Unlimited) TakeSpent() map[string]int { return nil }

// Charge charges nothing.
func (Unlimited) Charge(time.Time, map[string]int) {}

// Refused charges nothing.
func (Unlimited) Refused(time.Time, int) time.Duration { return 0 }
