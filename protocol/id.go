package protocol

import (
	"strconv"
	"strings"
)

// ID identifies an envelope within its space.
type ID string

// ParticipantID identifies a participant of a space.
type ParticipantID string

// GatewayID is the sender of the gateway's own envelopes.
const GatewayID ParticipantID = "system:gateway"

// IsReserved reports whether the id is reserved for the gateway: whether it
// begins with "system:" in any case, because people read System:gateway as the
// gateway.
func (id ParticipantID) IsReserved() bool {
	const prefix = "system:"
	return len(id) >= len(prefix) && strings.EqualFold(string(id[:len(prefix)]), prefix)
}

// MaxIDBytes bounds the id of an envelope, the id of a participant and a
// segment of a context.
const MaxIDBytes = 128

// Seq is a position in a space's log. It increases strictly and may have gaps.
// The zero Seq precedes the first entry.
type Seq uint64

// String returns the decimal form used in JSON and in queries.
func (s Seq) String() string { return strconv.FormatUint(uint64(s), 10) }

// ParseSeq parses a decimal Seq.
func ParseSeq(s string) (Seq, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return Seq(n), err
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '.' || c == '_' || c == ':' || c == '-'
}

// ValidID reports whether s is valid as an envelope's id or a segment of a
// context: 1 to 128 of A-Z a-z 0-9 . _ : -
func ValidID(s string) bool {
	if s == "" || len(s) > MaxIDBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isIDByte(s[i]) {
			return false
		}
	}
	return true
}

// InvitedPrefix begins the ids of invited participants in a space that trusts a
// token issuer; an issuer's token cannot name such an id. Otherwise an
// invitation could take the id of a user of the issuer that has not joined the
// space yet.
const InvitedPrefix = "invited:"

// ValidParticipantID reports whether s is valid as a participant's id. In
// addition to the characters of an id it may contain '@', '+' and '|', which
// occur in the subjects of identity providers.
func ValidParticipantID(s string) bool {
	if s == "" || len(s) > MaxIDBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isIDByte(c) && c != '@' && c != '+' && c != '|' {
			return false
		}
	}
	return true
}

// ValidSpaceName reports whether s is valid as a space's name; the rule is the
// same as for ids.
func ValidSpaceName(s string) bool { return ValidID(s) }
