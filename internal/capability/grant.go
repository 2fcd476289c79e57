package capability

import (
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of grants, since a stranger makes them.
const (
	MaxPerGrant    = 64  // capabilities in one grant or revocation
	MaxGranted     = 512 // granted capabilities that one participant holds
	MaxExceptions  = 256 // deny rules that one granted capability carries
	MaxTTL         = 100 * 365 * 24 * time.Hour
	compactHistory = 1024
)

// Change is what a [Ledger] folds: a [Grant] or a [Revocation].
type Change interface{ at() time.Time }

// Grant gives capabilities to a participant, by capability.grant or with an
// invitation. Section 2.
type Grant struct {
	ID        protocol.ID // the envelope's; the grant_id
	Granter   protocol.ParticipantID
	Recipient protocol.ParticipantID
	// Capabilities are what is given. Deny rules among them limit this grant
	// alone, not what the recipient holds besides.
	Capabilities []*Capability
	At           time.Time
	ExpiresAt    time.Time // zero: never
	Reason       string
	// Invitation: the recipient comes with a token of the invitation. It then
	// has none of the rights that an issuer's tokens bring.
	Invitation bool

	// Parents are the grants that it was derived from, so that it ends with
	// them; empty where the granter's configured rights suffice. A Ledger
	// sets them.
	Parents []protocol.ID
}

func (g Grant) at() time.Time { return g.At }

// expired reports whether the grant has ended at now.
func (g *Grant) expired(now time.Time) bool {
	return !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt)
}

// Revocation takes rights away. Section 2.
type Revocation struct {
	Recipient protocol.ParticipantID
	// GrantID names the grant to take back, if not empty.
	GrantID protocol.ID
	// Capabilities are taken from all that the recipient holds at this
	// moment, configured rights included; a later grant gives them again.
	Capabilities []*Capability
	At           time.Time
}

func (r Revocation) at() time.Time { return r.At }

// earlier returns the earlier of two ends; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
