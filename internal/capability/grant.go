package capability

import (
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of grants, which participants make. The memory of a capability is its
// text and 64 bytes for each instruction of its regexps.
const (
	maxChain    = 8   // grants between a participant and a configured right
	maxPerGrant = 64  // capabilities in one grant or revocation
	maxGranted  = 512 // granted capabilities of one participant
	maxInSpace  = 100_000
	maxRevoked  = 256 // revoked capabilities of one participant; with more, all are revoked
	MaxTTL      = 100 * 365 * 24 * time.Hour

	maxPerGrantMemory = 64 << 10
	maxGrantedMemory  = 256 << 10
	maxInSpaceMemory  = 64 << 20
)

// Change is an input of a [Ledger]: a [Grant] or a [Revocation].
type Change interface{ at() time.Time }

// Grant gives capabilities to a participant, by capability.grant or with an
// invitation. Section 2.
type Grant struct {
	ID        protocol.ID // the envelope's; the grant_id
	Grantor   protocol.ParticipantID
	Recipient protocol.ParticipantID
	// Capabilities of the grant. Deny rules among them limit this grant only,
	// not other rights of the recipient.
	Capabilities []*Capability
	At           time.Time
	ExpiresAt    time.Time // zero: never
	Reason       string
	// Invitation: the recipient comes with a token of the invitation. It then
	// has none of the rights that an issuer's tokens bring.
	Invitation bool
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
