package protocol

import (
	"strconv"
	"strings"
)

// ID names an envelope, uniquely in its space.
type ID string

// ParticipantID names a participant of a space.
type ParticipantID string

// GatewayID is the sender of everything that the gateway says itself.
const GatewayID ParticipantID = "system:gateway"

// IsReserved reports whether the id is the gateway's own: whether it begins with
// "system:" in any case, since people read System:gateway as the gateway.
func (id ParticipantID) IsReserved() bool {
	const prefix = "system:"
	return len(id) >= len(prefix) && strings.EqualFold(string(id[:len(prefix)]), prefix)
}

// MaxIDBytes bounds an envelope's id, a participant's id and a segment of a
// context.
const MaxIDBytes = 128

// Seq is a position in a space's log. It grows strictly; gaps are normal. The
// zero Seq stands before the first entry.
type Seq uint64

// String returns the decimal form, as it stands in JSON and in queries.
func (s Seq) String() string { return strconv.FormatUint(uint64(s), 10) }

// ParseSeq reads a decimal Seq.
func ParseSeq(s string) (Seq, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return Seq(n), err
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '.' || c == '_' || c == ':' || c == '-'
}

// ValidID reports whether s may be an envelope's id or a segment of a context:
// 1 to 128 of A-Z a-z 0-9 . _ : -
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

// InvitedPrefix begins the ids of invited participants in a space that trusts an
// issuer of tokens, and no id that a token of an issuer can name. Otherwise an
// invitation could take the name of a user of the issuer that has not been in the
// space yet.
const InvitedPrefix = "invited:"

// ValidParticipantID reports whether s may name a participant. Besides the
// characters of an id it may hold '@', '+' and '|', which the subjects of
// identity providers are made of.
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

// ValidSpaceName reports whether s may name a space; the rule is that of ids.
func ValidSpaceName(s string) bool { return ValidID(s) }
