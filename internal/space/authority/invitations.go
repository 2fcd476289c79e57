package authority

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Invitations is an index of all spaces' invitations by the digest of their
// tokens. It is separate from the state of the spaces, so that checking the token
// of an unauthenticated client opens no space.
//
// It is a hint. A token that is not in it is no invitation; for a token that is,
// the state of its space decides whether it is still valid.
type Invitations struct {
	mu      sync.RWMutex
	byHash  map[[32]byte]invitedTo
	sweepAt int // length at which the expired ones are dropped
	loaded  bool
	lost    int // how often forget was called
}

type invitedTo struct {
	space   string
	expires time.Time // zero: never
}

const minSweep = 1024

// Add records the invitation of a space's log entry, if it is one.
func (x *Invitations) Add(space string, e *journal.Entry) {
	if !e.State || e.Envelope.Kind != protocol.KindSpaceInvite {
		return
	}
	hash, g, err := ReadInvitation(&e.Envelope, e.Payload(), e.Private)
	if err != nil || hash == ([32]byte{}) {
		return // reported when the space is opened
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byHash == nil {
		x.byHash, x.sweepAt = make(map[[32]byte]invitedTo), minSweep
	}
	x.byHash[hash] = invitedTo{space, g.ExpiresAt}
	if len(x.byHash) < x.sweepAt {
		return
	}
	for h, i := range x.byHash {
		if !i.expires.IsZero() && i.expires.Before(e.Envelope.TS) {
			delete(x.byHash, h)
		}
	}
	x.sweepAt = max(minSweep, 2*len(x.byHash))
}

// addAll records the invitations of a state.
func (x *Invitations) addAll(space string, st *State) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byHash == nil {
		x.byHash, x.sweepAt = make(map[[32]byte]invitedTo), minSweep
	}
	for token, i := range st.invitations.All() {
		x.byHash[[32]byte([]byte(token))] = invitedTo{space, i.Expires}
	}
}

// Forget drops the invitations to some spaces and marks the index as not loaded.
func (x *Invitations) Forget(affected func(space string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.byHash, func(_ [32]byte, i invitedTo) bool { return affected(i.space) })
	x.loaded = false
	x.lost++
}

// Lookup returns the space that a token of this digest is an invitation to, and
// when it expires (zero: never). It reads only memory, and its cost does not depend
// on the number of spaces or invitations. The map's hash has a random seed, so the
// timing leaks nothing about stored digests. The error is set until the
// invitations have been read.
func (x *Invitations) Lookup(hash [32]byte) (space string, expires time.Time, ok bool, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, ok := x.byHash[hash]
	if !ok && !x.loaded {
		err = errNotLoaded
	}
	return i.space, i.expires, ok, err
}

var errNotLoaded = errors.New("the invitations have not been read yet")

// Load reads the invitations from the states of all spaces, and stores their
// snapshots, at a time. Later invitations are added as they are delivered.
func (x *Invitations) Load(ctx context.Context, log journal.Journal, now time.Time, logger *slog.Logger) error {
	x.mu.RLock()
	lost := x.lost
	x.mu.RUnlock()
	names, err := log.Spaces(ctx)
	if err != nil {
		return fmt.Errorf("read the invitations: %w", err)
	}
	for _, name := range names {
		logger := logger.With("space", name)
		st, stored, err := Load(ctx, log, name, &Config{Name: name}, logger)
		if err != nil {
			return fmt.Errorf("read the invitations of space %s: %w", name, err)
		}
		x.addAll(name, st)
		if err := stored.Save(st, now); err != nil {
			logger.Debug("store the state", "error", err)
		}
	}
	x.mu.Lock()
	x.loaded = x.lost == lost // else a log was replaced meanwhile: the next call reads it
	x.mu.Unlock()
	return nil
}

// Loaded reports whether the invitations have been read.
func (x *Invitations) Loaded() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.loaded
}

// ReadInvitation reads an envelope of kind space.invite; private is
// [journal.Entry.Private]. The hash is zero for an invitation that readmits a
// guest and has no token.
func ReadInvitation(e *protocol.Envelope, payload protocol.Value, private []byte) (hash [32]byte, g capability.Grant, err error) {
	g, err = capability.ReadInvite(e.ID, e.From, payload, e.TS)
	if err != nil {
		return hash, g, err
	}
	token, _, _ := bytes.Cut(private, []byte{'{'}) // a spelling may follow
	if len(token) != 0 && len(token) != hex.EncodedLen(len(hash)) {
		return hash, g, fmt.Errorf("invitation %s has no token", e.ID)
	}
	if _, err := hex.Decode(hash[:], token); err != nil {
		return hash, g, fmt.Errorf("invitation %s has no token", e.ID)
	}
	return hash, g, nil
}
