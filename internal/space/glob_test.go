package space_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// few is a limiter that admits a fixed number of envelopes.
type few struct {
	authority.Unlimited
	left atomic.Int64
}

func (l *few) Envelope(time.Time) error {
	if l.left.Add(-1) < 0 {
		return protocol.Errorf(protocol.CodeRateLimited, "enough")
	}
	return nil
}

// globHub returns a hub whose spaces all match the glob team-*.
func globHub(t *testing.T, participants map[protocol.ParticipantID]authority.ParticipantConfig, change func(*space.Services)) *space.Hub {
	t.Helper()
	shared := (&authority.Config{Pattern: "team-*", Participants: participants}).Shared()
	services := space.Services{Journal: journal.NewMemory(journal.MemoryOptions{}), Validate: noSchema, NewID: ids(), NewToken: tokens()}
	if change != nil {
		change(&services)
	}
	return space.NewHub(services, func(name string) (*authority.Config, bool) { return shared(name), true })
}

func anything(t *testing.T) []*capability.Capability {
	t.Helper()
	c, err := capability.ParseJSON([]byte(`"*"`))
	if err != nil {
		t.Fatal(err)
	}
	return []*capability.Capability{c}
}

func in(t *testing.T, h *space.Hub, name string) *room {
	t.Helper()
	s, err := h.Space(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return &room{Space: s, t: t, hub: h}
}

func TestBuckets_SharedBySpacesOfAGlob(t *testing.T) {
	const limit = 10
	p := authority.ParticipantConfig{Capabilities: anything(t), NewLimiter: func(old authority.Limiter) authority.Limiter {
		if old != nil {
			return old
		}
		l := &few{}
		l.left.Store(limit)
		return l
	}}
	h := globHub(t, map[protocol.ParticipantID]authority.ParticipantConfig{"alice": p, "bob": p}, nil)
	admitted := 0
	for i := range 4 * limit {
		if o := in(t, h, fmt.Sprint("team-", i)).say("alice", chat(fmt.Sprint("c", i)))[0]; o.Err == nil {
			admitted++
		}
	}
	if admitted != limit {
		t.Errorf("%d envelopes admitted over many spaces, want %d", admitted, limit)
	}
	if o := in(t, h, "team-0").say("bob", chat("b"))[0]; o.Err != nil {
		t.Errorf("another participant: %v", o.Err)
	}
}

func TestSpaceFor_NewSpacesAreBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	h := globHub(t, map[protocol.ParticipantID]authority.ParticipantConfig{"alice": {Capabilities: anything(t)}},
		func(s *space.Services) { s.Clock = func() time.Time { return now } })
	made := 0
	var refused *protocol.Error
	for i := range 1000 {
		_, err := h.SpaceFor(t.Context(), fmt.Sprint("team-", i), "alice")
		if err == nil {
			made++
		} else if !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
	if made > 200 || refused == nil || refused.Code != protocol.CodeTooMany || refused.RetryAfterMS <= 0 {
		t.Fatalf("made %d spaces, then %v", made, refused)
	}
	if _, err := h.SpaceFor(t.Context(), "team-0", "alice"); err != nil {
		t.Errorf("a space that is there: %v", err)
	}
	if _, err := h.SpaceFor(t.Context(), "team-x", "bob"); err != nil {
		t.Errorf("another participant: %v", err)
	}
	now = now.Add(refused.RetryAfter())
	if _, err := h.SpaceFor(t.Context(), "team-y", "alice"); err != nil {
		t.Errorf("when it was told to come back: %v", err)
	}
}

// The cost of a space does not depend on the number of participants that its
// pattern configures.
func TestSharedConfig_NothingForEachParticipant(t *testing.T) {
	participants := make(map[protocol.ParticipantID]authority.ParticipantConfig)
	for i := range 3001 {
		participants[protocol.ParticipantID(fmt.Sprint("p", i))] = authority.ParticipantConfig{Capabilities: anything(t)}
	}
	h := globHub(t, participants, nil)
	in(t, h, "team-first")
	const spaces = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range spaces {
		s := in(t, h, fmt.Sprint("team-", i))
		if _, refused := s.Sender(context.Background(), ring.Viewer{ID: "p7"}); refused != nil {
			t.Fatal(refused)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / spaces; each > 32<<10 {
		t.Errorf("a space takes %d bytes", each)
	}
}
