package authority

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/kit/pmap"
	"github.com/meup-protocol/meup/protocol"
)

// The stored form of a directory, in a snapshot.
type (
	stored struct {
		Spaces []storedSpace `json:"spaces,omitempty"`
		Ended  []storedEnded `json:"ended,omitempty"`
	}
	storedEnded struct {
		By      protocol.ParticipantID `json:"by"`
		Digests []byte                 `json:"sha256"` // of 32 bytes each, in the order in which they ended
	}
	storedSpace struct {
		Name         string                 `json:"name"`
		Made         bool                   `json:"made,omitempty"`
		By           protocol.ParticipantID `json:"by,omitempty"`
		At           time.Time              `json:"at,omitzero"`
		Dialect      string                 `json:"dialect,omitempty"`
		Everyone     bool                   `json:"everyone,omitempty"`
		Explicit     bool                   `json:"explicit,omitempty"`
		Limits       DirectoryLimits        `json:"limits,omitzero"`
		Participants []storedParticipant    `json:"participants,omitempty"`
	}
	storedParticipant struct {
		ID           protocol.ParticipantID `json:"id"`
		By           protocol.ParticipantID `json:"by"`
		At           time.Time              `json:"at"`
		Capabilities []string               `json:"capabilities,omitempty"` // texts, to be restored byte for byte
		Limits       DirectoryLimits        `json:"limits,omitzero"`
		Tokens       []directoryToken       `json:"tokens,omitempty"`
	}
	directoryToken struct {
		ID      protocol.ID            `json:"id"`
		By      protocol.ParticipantID `json:"by"`
		At      time.Time              `json:"at"`
		Hash    string                 `json:"sha256"`
		Expires time.Time              `json:"expires,omitzero"`
	}
)

// Encode returns the directory as a text for Decode; "" if it is empty. Two equal
// directories have the same text.
func (d Directory) Encode() string {
	if d.Len() == 0 {
		return ""
	}
	var x stored
	for s := range d.Spaces {
		x.Spaces = append(x.Spaces, s.stored())
	}
	for by, e := range d.ended.All() {
		var digests []byte
		for _, digest := range e.digests.All() {
			digests = append(digests, digest...)
		}
		x.Ended = append(x.Ended, storedEnded{by, digests})
	}
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // the texts of capabilities are JSON, and nothing else can fail
	}
	return string(text)
}

func (s *DirectorySpace) stored() storedSpace {
	out := storedSpace{
		Name: s.Name, Made: s.Made, By: s.By, At: s.At, Everyone: s.Settings.Everyone,
		Explicit: s.Settings.DecideExplicitly, Limits: s.Settings.Limits,
	}
	if s.Made {
		out.Dialect = s.Settings.Dialect.String()
	}
	for p := range s.Participants {
		q := storedParticipant{ID: p.ID, By: p.By, At: p.At, Limits: p.Limits}
		for _, c := range p.Capabilities {
			q.Capabilities = append(q.Capabilities, c.String())
		}
		for _, t := range p.Tokens {
			q.Tokens = append(q.Tokens, directoryToken{t.ID, t.By, t.At, hex.EncodeToString(t.Hash[:]), t.Expires})
		}
		out.Participants = append(out.Participants, q)
	}
	return out
}

// DecodeDirectory returns the directory that Encode encoded.
func DecodeDirectory(text string) (d Directory, err error) {
	if text == "" {
		return d, nil
	}
	var all stored
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return d, fmt.Errorf("decode the directory: %w", err)
	}
	pairs := make([]pmap.Pair[string, *DirectorySpace], 0, len(all.Spaces))
	var digests []pmap.Pair[string, struct{}]
	if !ascending(all.Spaces, func(x storedSpace) string { return x.Name }) || !ascending(all.Ended, func(x storedEnded) string { return string(x.By) }) {
		return Directory{}, errUnsorted
	}
	for _, x := range all.Spaces {
		s, err := x.space(&digests)
		if err != nil {
			return Directory{}, err
		}
		pairs = append(pairs, pmap.Pair[string, *DirectorySpace]{Key: s.Name, Value: s})
		for p := range s.Participants {
			d.participants++
			d.bytes += size(p.Capabilities)
		}
	}
	d.tokens = len(digests)
	for _, x := range all.Ended {
		e, err := x.ended(&digests)
		if err != nil {
			return Directory{}, err
		}
		d.ended = d.ended.Set(x.By, e)
	}
	d.spaces = pmap.Of(pairs)
	d.digests = pmap.Of(digests)
	return d, nil
}

func (x *storedEnded) ended(digests *[]pmap.Pair[string, struct{}]) (e ended, err error) {
	if len(x.Digests)%sha256.Size != 0 {
		return e, errDigest
	}
	var pairs []pmap.Pair[uint64, string]
	for digest := range slices.Chunk(x.Digests, sha256.Size) {
		pairs = append(pairs, pmap.Pair[uint64, string]{Key: uint64(len(pairs)), Value: string(digest)})
		*digests = append(*digests, pmap.Pair[string, struct{}]{Key: string(digest)})
	}
	e.digests = pmap.Of(pairs)
	return e, nil
}

var (
	errUnsorted = errors.New("decode the directory: its names are not sorted")
	errDigest   = errors.New("decode the directory: a digest is damaged")
)

// ascending reports whether each name is greater than the one before it.
func ascending[T any](list []T, name func(T) string) bool {
	for i := 1; i < len(list); i++ {
		if name(list[i-1]) >= name(list[i]) {
			return false
		}
	}
	return true
}

func (x *storedSpace) space(digests *[]pmap.Pair[string, struct{}]) (*DirectorySpace, error) {
	s := &DirectorySpace{Name: x.Name, Made: x.Made, By: x.By, At: x.At, Settings: SpaceSettings{Everyone: x.Everyone, DecideExplicitly: x.Explicit, Limits: x.Limits}}
	if x.Dialect != "" {
		dialect, ok := protocol.ParseDialect(x.Dialect)
		if !ok {
			return nil, fmt.Errorf("decode the directory: unknown dialect %q", x.Dialect)
		}
		s.Settings.Dialect = dialect
	}
	var pairs []pmap.Pair[protocol.ParticipantID, *DirectoryParticipant]
	if !ascending(x.Participants, func(y storedParticipant) string { return string(y.ID) }) {
		return nil, errUnsorted
	}
	for _, y := range x.Participants {
		p := &DirectoryParticipant{ID: y.ID, By: y.By, At: y.At, Limits: y.Limits}
		for _, text := range y.Capabilities {
			c, err := capability.ParseJSON([]byte(text))
			if err != nil {
				return nil, fmt.Errorf("decode the directory: %w", err)
			}
			p.Capabilities = append(p.Capabilities, c)
		}
		for _, z := range y.Tokens {
			t := DirectoryToken{ID: z.ID, By: z.By, At: z.At, Expires: z.Expires}
			raw, err := hex.DecodeString(z.Hash)
			if err != nil || len(raw) != len(t.Hash) {
				return nil, errDigest
			}
			t.Hash = [32]byte(raw)
			p.Tokens = append(p.Tokens, t)
			*digests = append(*digests, pmap.Pair[string, struct{}]{Key: digestKey(t.Hash)})
		}
		pairs = append(pairs, pmap.Pair[protocol.ParticipantID, *DirectoryParticipant]{Key: p.ID, Value: p})
	}
	s.participants = pmap.Of(pairs)
	return s, nil
}
