package authority

import (
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/kit/pmap"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a directory. Every gateway holds it in memory and makes its tables of
// it after each change, so it is as large as a large configuration file. A larger
// number of participants is a matter for an issuer of tokens (jwt).
const (
	MaxSpaces               = 2048
	MaxParticipants         = 8192
	MaxTokens               = 16384
	MaxTokensPerParticipant = 8
	MaxDirectoryBytes       = 4 << 20 // of the texts of all capabilities
	// MaxEnded bounds the digests that are remembered of tokens that were revoked,
	// have expired or were removed.
	MaxEnded = 65536
)

// Directory has what the administrative space has made: spaces, participants and the
// digests of their tokens, folded from its entries. It is immutable; the zero value is
// empty. Folding is pure: no clock, no I/O.
//
// [ReadDirectoryChange] decodes an administrative envelope into a [DirectoryChange],
// and [Directory.Apply] returns the directory after it. What the configuration file
// has takes precedence; the directory does not know the file.
type Directory struct {
	spaces       pmap.Map[string, *DirectorySpace]
	digests      pmap.Map[string, struct{}] // by digestKey; of the tokens, and of the ended ones
	ended        pmap.Map[protocol.ParticipantID, ended]
	participants int
	tokens       int
	bytes        int
}

// ended has the digests of tokens that have ended, all issued by one
// administrator: by the order in which they ended, from first on.
type ended struct {
	digests pmap.Map[uint64, string]
	first   uint64
}

// DirectorySpace is a space of a directory. It is immutable.
type DirectorySpace struct {
	Name string
	// Made: an admin.space.put made the space. Otherwise the configuration file
	// has it, and the directory has further participants.
	Made         bool
	By           protocol.ParticipantID // of the admin.space.put
	At           time.Time
	Settings     SpaceSettings
	participants pmap.Map[protocol.ParticipantID, *DirectoryParticipant]
}

// SpaceSettings are the settings of a space.
type SpaceSettings struct {
	Dialect          protocol.Dialect
	Everyone         bool
	DecideExplicitly bool
	Limits           DirectoryLimits
}

// DirectoryParticipant is a participant of a space. It is immutable.
type DirectoryParticipant struct {
	ID           protocol.ParticipantID
	By           protocol.ParticipantID // who put it last
	At           time.Time
	Capabilities []*capability.Capability
	Limits       DirectoryLimits
	Tokens       []DirectoryToken // in the order in which they were issued
}

// DirectoryToken is a token of a participant. Its id is the id of the envelope that issued it.
type DirectoryToken struct {
	ID      protocol.ID
	By      protocol.ParticipantID
	At      time.Time
	Hash    [32]byte
	Expires time.Time // zero: never
}

// DirectoryLimits override the limits of the level above; nil: not.
type DirectoryLimits struct {
	Rate           *float64 `json:"rate,omitempty"`
	Burst          *int     `json:"burst,omitempty"`
	BytesPerSecond *int64   `json:"bytes_per_second,omitempty"`
	MessageBytes   *int64   `json:"message_bytes,omitempty"`
	Connections    *int     `json:"connections,omitempty"`
	OpenContexts   *int     `json:"open_contexts,omitempty"`
	ContextDepth   *int     `json:"context_depth,omitempty"`
}

// Over returns the limits above, overridden by l.
func (l DirectoryLimits) Over(above limit.Limits) limit.Limits {
	override(&above.Rate, l.Rate)
	override(&above.Burst, l.Burst)
	override(&above.BytesPerSecond, l.BytesPerSecond)
	override(&above.MessageBytes, l.MessageBytes)
	override(&above.Connections, l.Connections)
	override(&above.OpenContexts, l.OpenContexts)
	override(&above.ContextDepth, l.ContextDepth)
	return above
}

func override[T any](to, by *T) {
	if by != nil {
		*to = *by
	}
}

// Spaces yields the spaces, sorted by name.
func (d Directory) Spaces(yield func(*DirectorySpace) bool) {
	for _, s := range d.spaces.All() {
		if !yield(s) {
			return
		}
	}
}

// Space returns the space of this name; nil: there is none.
func (d Directory) Space(name string) *DirectorySpace {
	s, _ := d.spaces.Get(name)
	return s
}

// Len is about the number of elements.
func (d Directory) Len() int { return d.spaces.Len() + d.participants + d.digests.Len() }

// Participants yields the participants, sorted by id.
func (s *DirectorySpace) Participants(yield func(*DirectoryParticipant) bool) {
	for _, p := range s.participants.All() {
		if !yield(p) {
			return
		}
	}
}

// Participant returns the participant of this id; nil: there is none.
func (s *DirectorySpace) Participant(id protocol.ParticipantID) *DirectoryParticipant {
	if s == nil {
		return nil
	}
	p, _ := s.participants.Get(id)
	return p
}

// NextExpiry returns the earliest time after now at which a token expires; zero:
// none does.
func (d Directory) NextExpiry(now time.Time) (next time.Time) {
	for _, s := range d.spaces.All() {
		for _, p := range s.participants.All() {
			for _, t := range p.Tokens {
				if t.Expires.After(now) && (next.IsZero() || t.Expires.Before(next)) {
					next = t.Expires
				}
			}
		}
	}
	return next
}

// digestKey is the key of a token in the index of digests. A digest is issued once: all
// administrators can read it in the log, and could otherwise lead a client that still uses
// the token into another space.
func digestKey(hash [32]byte) string { return string(hash[:]) }

func size(list []*capability.Capability) (bytes int) {
	for _, c := range list {
		bytes += len(c.String())
	}
	return bytes
}
