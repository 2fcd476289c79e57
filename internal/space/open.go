package space

import (
	"context"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
)

// open reads a space from its log. Entries that become durable meanwhile are
// buffered and delivered after it, or read from the log when they are too many.
func (h *Hub) open(ctx context.Context, s *Space) {
	ctx = context.WithoutCancel(ctx)
	err := s.load(ctx)
	for err == nil && !s.startDelivery() {
		err = s.readOn(ctx)
	}
	if err != nil {
		s.log.Error("open space", "error", err)
		s.openErr = fmt.Errorf("open space %s: %w", s.name, err)
		h.spaces.CompareAndDelete(s.name, s) // the next call tries again
		close(s.opened)
		return
	}
	close(s.opened)
	if s.retired.Load() {
		s.release()
	}
	h.mu.Lock()
	cfg, configured := h.config(s.name)
	changed := h.generation != s.generation
	h.mu.Unlock()
	if changed && configured {
		s.reconfigure(cfg)
	}
	if peers := h.services.Peers; peers != nil {
		s.setRemote(peers.Remote(s.name))
		s.mu.Lock()
		s.rosterChangedLocked()
		s.mu.Unlock()
	}
}

// recentEntries bounds the entries that are read when a space is opened, to
// rebuild its contexts.
const (
	recentEntries = 10_000
	recentBytes   = 32 << 20 // of payloads
)

func (s *Space) load(ctx context.Context) error {
	state, stored, err := authority.Load(ctx, s.journal(), s.name, s.config(), s.log)
	if err != nil {
		return err
	}
	s.state.Store(state)
	s.stored, s.logID = stored, stored.LogID()
	_, newest, err := s.journal().Bounds(ctx, s.name)
	if err != nil {
		return err
	}
	var recent []*journal.Entry
	size := 0
	q := journal.Query{Backwards: true, Limit: recentEntries, Before: newest + 1}
	for e, err := range s.journal().Range(ctx, s.name, q) {
		if err != nil {
			return err
		}
		recent = append(recent, e)
		size += len(e.Envelope.Payload)
		if size > recentBytes {
			break
		}
	}
	slices.Reverse(recent)
	if state.Config.Counts() { // the entries of today; delivery adds the later ones
		u := authority.NewUsage()
		if err := s.readDay(ctx, u, newest); err != nil {
			return err
		}
		s.usage.Store(u)
	}
	for _, e := range recent {
		s.usage.Load().Follow(e, state, s.now())
		s.track(ring.NewEntry(e), s.hub.services.Peers == nil) // without peers, the owner of every stream has left
	}
	s.ring = ring.New(s.hub.services.RingEntries, s.hub.services.RingBytes, newest, &s.hub.rings)
	h := s.hub
	s.admission = &admission.View{
		Journal: h.services.Journal, Validate: h.services.Validate, Safety: h.services.Safety, Observer: h.services.Observer,
		Now: h.services.Clock, NewID: h.services.NewID, NewToken: h.services.NewToken,
		Draining: &h.draining, Failures: &h.failures, Administered: h.services.Administered,

		State: &s.state, Ring: s.ring, Contexts: s.contexts, Streams: &s.streams, Texts: &s.texts, Usage: &s.usage, Tools: &s.tools,

		Name: s.name, Proof: s.proof, Log: s.log, Retired: &s.retired, IsPresent: s.IsPresent, PublishLive: s.publishLive,
	}
	return nil
}

// maxPending and maxPendingBytes, of payloads, bound the entries that are
// buffered while a space is being opened.
const (
	maxPending      = 1024
	maxPendingBytes = 4 << 20
)

// keepPending buffers entries until the space is open. Beyond the bounds it drops
// all of them; they are read from the log later.
func (s *Space) keepPending(entries []*journal.Entry) {
	for _, e := range entries {
		s.pendingBytes += len(e.Envelope.Payload)
	}
	if len(s.pending)+len(entries) > maxPending || s.pendingBytes > maxPendingBytes {
		s.pending, s.pendingBytes = nil, 0
		s.dropped = entries[len(entries)-1].Envelope.Seq
		return
	}
	s.pending = append(s.pending, entries...)
}

// startDelivery ends the opening: it puts the pending entries after the ones that
// were read. If pending entries were dropped, it returns false and the caller
// must read more of the log.
func (s *Space) startDelivery() bool {
	s.deliverMu.Lock()
	defer s.deliverMu.Unlock()
	if s.Head() < s.dropped && !s.retired.Load() {
		// Some of the pending entries may have been read too; the ring skips them.
		return false
	}
	s.loading = false
	s.deliver(s.pending)
	s.pending = nil
	return true
}

// readBatch is how many entries readOn puts at once.
const readBatch = 256

// readOn puts the entries of the log after the head.
func (s *Space) readOn(ctx context.Context) error {
	batch := make([]*journal.Entry, 0, readBatch)
	put := func() {
		s.deliverMu.Lock()
		s.deliver(batch)
		s.deliverMu.Unlock()
		batch = batch[:0]
	}
	for e, err := range s.journal().Range(ctx, s.name, journal.Query{After: s.Head()}) {
		if err != nil {
			return err
		}
		batch = append(batch, e)
		if len(batch) == readBatch {
			put()
		}
	}
	put()
	return nil
}

// isOpen reports whether the log has been read.
func (s *Space) isOpen() bool {
	select {
	case <-s.opened:
		return s.openErr == nil
	default:
		return false
	}
}

// release returns the resources that a retired space shares with others.
func (s *Space) release() {
	if s.ring != nil { // it was opened
		s.ring.Drop()
	}
	s.texts.Drop()
	s.tools.Drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.participants {
		s.hub.buckets.Release(p.buckets)
	}
	clear(s.participants)
}
