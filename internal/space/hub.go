package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Hub holds the spaces of this gateway. A space is opened on first use.
type Hub struct {
	services Services
	draining atomic.Bool
	invites  authority.Invitations

	spaces    sync.Map // name to *Space; changed under mu
	buckets   authority.BucketPool
	creations authority.Creations
	rings     ring.Budget
	failures  admission.Failures
	// streamBytes is the size of the texts of streams in memory.
	streamBytes atomic.Int64
	// toolBytes is the size of the schemas of tools in memory.
	toolBytes atomic.Int64

	mu     sync.Mutex
	config func(name string) (*authority.Config, bool)
	// generation counts the configurations, so that a space that is opened during
	// a reload detects it.
	generation int

	recheck chan struct{} // a token when Run is to call Recheck
}

// NewHub returns a hub over the services. config resolves a space's name; Reload
// replaces it.
func NewHub(services Services, config func(name string) (*authority.Config, bool)) *Hub {
	if services.Clock == nil {
		services.Clock = time.Now
	}
	if services.Observer == nil {
		services.Observer = noObserver{}
	}
	if services.Logger == nil {
		services.Logger = slog.New(slog.DiscardHandler)
	}
	services.RingEntries = cmp.Or(services.RingEntries, 4096)
	services.RingBytes = cmp.Or(services.RingBytes, 8<<20)
	services.RingTotal = cmp.Or(services.RingTotal, 128<<20)
	h := &Hub{services: services, config: config, recheck: make(chan struct{}, 1)}
	h.rings.Max = services.RingTotal
	services.Journal.Follow(h.deliver, h.replaced)
	return h
}

func (h *Hub) newID() protocol.ID { return h.services.NewID() }

// deliver is the journal's sink.
func (h *Hub) deliver(name string, entries []*journal.Entry) {
	if name == journal.GatewayLog {
		select {
		case h.recheck <- struct{}{}: // a user may have signed out at any gateway
		default:
		}
		return
	}
	for _, e := range entries {
		h.invites.Add(name, e)
	}
	s := h.lookup(name)
	if s == nil {
		return
	}
	s.deliverMu.Lock()
	if s.loading {
		s.keepPending(entries)
	} else {
		s.deliver(entries)
	}
	s.deliverMu.Unlock()
	h.reclaimRings()
}

// reclaimRings evicts entries when the rings of all spaces exceed their budget.
func (h *Hub) reclaimRings() {
	h.rings.Reclaim(func() []*ring.Ring {
		var list []*ring.Ring
		for _, s := range h.openSpaces() {
			list = append(list, s.ring)
		}
		return list
	})
}

// lookup returns the space of this name, which may still be opening; nil: not
// found.
func (h *Hub) lookup(name string) *Space {
	s, _ := h.spaces.Load(name)
	found, _ := s.(*Space)
	return found
}

// ErrNoSpace: the configuration has no space of that name.
var ErrNoSpace = errors.New("no such space")

// Space returns the space of this name and opens it on the first call. The error
// is ErrNoSpace, or the log's.
func (h *Hub) Space(ctx context.Context, name string) (*Space, error) {
	h.mu.Lock()
	s := h.lookup(name)
	ok := s != nil
	if !ok {
		cfg, found := h.config(name)
		if !found {
			h.mu.Unlock()
			return nil, fmt.Errorf("%w: %s", ErrNoSpace, name)
		}
		s = &Space{
			name:         name,
			hub:          h,
			log:          h.services.Logger.With("space", name),
			opened:       make(chan struct{}),
			loading:      true,
			participants: make(map[protocol.ParticipantID]*participant),
			contexts:     ring.NewContexts(),
			generation:   h.generation,
		}
		s.state.Store(authority.NewState(cfg))
		s.texts.Total = &h.streamBytes
		s.tools.Total = &h.toolBytes
		h.spaces.Store(name, s)
	}
	s.used.Store(h.services.Clock().UnixNano())
	h.mu.Unlock()
	if !ok {
		h.open(ctx, s)
	}
	select {
	case <-s.opened:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return s, s.openErr
}

// SpaceFor returns the space of this name for a participant, like Space. A space
// that a glob matches and that has no log yet is charged to the participant. The
// error may also be a *protocol.Error: too_many_requests.
func (h *Hub) SpaceFor(ctx context.Context, name string, who protocol.ParticipantID) (*Space, error) {
	if h.lookup(name) != nil {
		return h.Space(ctx, name)
	}
	h.mu.Lock()
	cfg, ok := h.config(name)
	h.mu.Unlock()
	if !ok || !strings.Contains(cfg.PatternName(), "*") {
		return h.Space(ctx, name)
	}
	_, newest, err := h.services.Journal.Bounds(ctx, name)
	if err != nil {
		return nil, err
	}
	if newest == 0 && !h.creations.Allow(authority.BucketKey{Space: cfg.PatternName(), Participant: who}, h.services.Clock()) {
		refused := protocol.Errorf(protocol.CodeTooMany, "You make new spaces too fast; wait a moment before the next one.")
		refused.RetryAfterMS = int64(1000 / authority.CreationRate)
		return nil, refused
	}
	return h.Space(ctx, name)
}

// Open returns the spaces that are open, sorted by name.
func (h *Hub) Open() []*Space {
	list := h.openSpaces()
	slices.SortFunc(list, func(a, b *Space) int { return cmp.Compare(a.name, b.name) })
	return list
}

// Reload applies another configuration. Changed capabilities and limits apply
// from the next envelope on, and participants that it no longer names are
// disconnected.
func (h *Hub) Reload(config func(name string) (*authority.Config, bool)) {
	h.mu.Lock()
	h.config = config
	h.generation++
	h.mu.Unlock()
	for _, s := range h.Open() {
		cfg, ok := config(s.name)
		if !ok {
			cfg = &authority.Config{Name: s.name}
		}
		s.reconfigure(cfg)
	}
}

// Configured reports whether the configuration has a space of this name.
func (h *Hub) Configured(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.config(name)
	return ok
}

// Recheck closes the connections whose token is valid no more.
func (h *Hub) Recheck() {
	for _, s := range h.openSpaces() {
		for _, m := range s.members() {
			s.recheck(m)
		}
	}
}

// Lookup returns the space of this name if it is open, otherwise nil.
func (h *Hub) Lookup(name string) *Space {
	if s := h.lookup(name); s != nil && s.isOpen() {
		return s
	}
	return nil
}

// Run does the work beside requests until ctx ends: it closes connections whose session has
// ended, expires tokens and grants, retires idle spaces, and retries loading the invitations.
func (h *Hub) Run(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	last := h.services.Clock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.recheck:
			h.Recheck()
		case <-t.C:
			now := h.services.Clock()
			if !h.invites.Loaded() {
				if err := h.LoadInvitations(ctx); err != nil {
					h.services.Logger.Warn("tokens of invitations cannot be checked", "error", err)
				}
			}
			for _, s := range h.openSpaces() {
				s.expire(last, now)
				s.announceDue(now)
				s.releaseClaims(ctx, now)
				s.ring.Expire(now.Add(-ringAge))
				h.retire(s, now)
			}
			h.creations.Sweep(now)
			last = now
		}
	}
}

// ringAge is how long a ring keeps entries; spaceAge is how long an idle space
// stays open.
const (
	ringAge  = time.Minute
	spaceAge = 10 * time.Minute
)

// replaced is called by the journal when logs were lost or replaced. It drops
// their spaces with all state folded from the old log, so that the next request
// opens them from the new one, and closes their members with a code that makes
// them resume.
func (h *Hub) replaced(affected func(space string) bool) {
	h.mu.Lock()
	var dropped []*Space
	for s := range h.allSpaces() {
		if affected(s.name) {
			s.retired.Store(true)
			h.spaces.Delete(s.name)
			dropped = append(dropped, s)
		}
	}
	h.mu.Unlock()
	h.invites.Forget(affected)
	for _, s := range dropped {
		s.log.Warn("the log was lost, replaced or cut back; the space is opened again from the log that is there now")
		s.mu.Lock() // later joins see that the space is retired
		members := s.members()
		s.mu.Unlock()
		for _, m := range members {
			m.Close(Closing{Code: protocol.CloseGoingAway, Reason: "the log of the space was replaced; connect again", Now: true})
		}
		for _, c := range s.cursors.All() {
			c.wake()
		}
		select {
		case <-s.opened:
			s.release()
		default: // open sees that it is retired
		}
	}
}

// retire closes a space that was idle for a while. The next request opens it
// again.
func (h *Hub) retire(s *Space, now time.Time) {
	h.mu.Lock()
	if s.retired.Load() || len(s.members()) > 0 || now.Sub(time.Unix(0, s.used.Load())) < spaceAge {
		h.mu.Unlock()
		return
	}
	s.retired.Store(true)
	h.spaces.CompareAndDelete(s.name, s)
	h.mu.Unlock()
	s.release()
	for _, c := range s.cursors.All() {
		c.wake()
	}
}

// settleTime is how long Drain waits for envelopes that are being admitted, before
// it closes connections. If the log hangs, their senders send them again.
const settleTime = 3 * time.Second

// Drain rejects new connections and envelopes, delivers every admitted envelope to
// the members, and closes them with 1001. It returns when the last one has left or
// ctx ends.
func (h *Hub) Drain(ctx context.Context) error {
	h.draining.Store(true)
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	settle := time.NewTimer(settleTime)
	defer settle.Stop()
	overdue := false
	for {
		left := 0
		for _, s := range h.Open() {
			admitting := s.admission.IsAdmitting()
			for _, m := range s.members() { // including late joins
				if overdue || !admitting && !m.Answering.Load() {
					m.Close(Closing{Code: protocol.CloseGoingAway, Reason: "gateway going down"})
				}
				left++
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-t.C:
		case <-settle.C:
			overdue = true
		case <-ctx.Done():
			return fmt.Errorf("drain: %d connections left: %w", left, context.Cause(ctx))
		}
	}
}

// InvitedTo returns the space that a token of this digest is an invitation to,
// see [authority.Invitations.Lookup].
func (h *Hub) InvitedTo(hash [32]byte) (space string, expires time.Time, ok bool, err error) {
	return h.invites.Lookup(hash)
}

// LoadInvitations reads the invitations of all spaces from the log.
func (h *Hub) LoadInvitations(ctx context.Context) error {
	return h.invites.Load(ctx, h.services.Journal, h.services.Clock(), h.services.Logger)
}

// allSpaces yields the spaces, including ones that are still opening, in no
// order.
func (h *Hub) allSpaces() iter.Seq[*Space] {
	return func(yield func(*Space) bool) {
		h.spaces.Range(func(_, s any) bool { return yield(s.(*Space)) }) //nolint:forcetypeassert // the map holds nothing else
	}
}

// openSpaces returns the open spaces, in no order.
func (h *Hub) openSpaces() []*Space {
	var list []*Space
	for s := range h.allSpaces() {
		if s.isOpen() {
			list = append(list, s)
		}
	}
	return list
}

// recordTimeout bounds how long record waits for the log of one space.
const recordTimeout = 10 * time.Second

// RecordGuests records the guests that are connected, or have made a request, before
// they are forgotten. It is called once a minute: joins and requests do not wait for it.
func (h *Hub) RecordGuests(ctx context.Context) {
	h.record(ctx, "record guests again", func(ctx context.Context, s *Space) error {
		for _, m := range s.members() {
			s.admission.NoteGuest(m.ID)
		}
		return s.admission.RecordGuests(ctx)
	})
}

// EndPromotions records the end of promotions of reviewers that the configuration has ended.
// It is called after a reload, and once a minute for what the log did not take.
func (h *Hub) EndPromotions(ctx context.Context) {
	h.record(ctx, "end promotions of reviewers", func(ctx context.Context, s *Space) error { return s.admission.EndPromotions(ctx) })
}

// record records something in each open space, until the log is unavailable; the next call tries
// again.
func (h *Hub) record(ctx context.Context, what string, inSpace func(context.Context, *Space) error) {
	for _, s := range h.openSpaces() {
		within, cancel := context.WithTimeout(ctx, recordTimeout)
		if err := inSpace(within, s); err != nil {
			s.log.Warn(what, "error", err)
		}
		cancel()
		if h.services.Journal.Ready() != nil || ctx.Err() != nil {
			return
		}
	}
}

// SaveSnapshots stores the states of the open spaces until ctx ends, and then once
// more, so that opening a space reads only the state entries after its snapshot.
func (h *Hub) SaveSnapshots(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-t.C:
		}
		for _, s := range h.openSpaces() {
			err := s.stored.Save(s.state.Load(), h.services.Clock())
			if err == nil || errors.Is(err, journal.ErrReplaced) || s.unstored {
				continue
			}
			s.unstored = true
			s.log.Warn("the state is not stored; until it is, opening the space reads more state entries", "error", err)
		}
	}
}

// ReceiveLive delivers a live envelope from another gateway. Its sender may have
// seen log entries that have not arrived here; it is delivered early then,
// because it is advisory and waiting would need a queue.
func (h *Hub) ReceiveLive(name string, message []byte) {
	s := h.Lookup(name)
	if s == nil {
		return
	}
	e, err := journal.DecodeEntry(message)
	if err != nil {
		s.log.Warn("read a live envelope of another gateway", "error", err)
		return
	}
	e.Envelope.Seq = 0
	s.putLive(ring.NewEntry(e))
}

// SetRemote sets the participants that are connected to a space at the other
// gateways.
func (h *Hub) SetRemote(name string, there []Connected) {
	if s := h.Lookup(name); s != nil {
		s.setRemote(there)
	}
}

// TakeSpent returns the tokens that participants spent from their buckets at this gateway
// since the last call, and ChargeSpent charges what they spent at another one.
func (h *Hub) TakeSpent() []authority.Spending { return h.buckets.TakeSpent() }

// ChargeSpent charges what participants spent at another gateway; see TakeSpent.
func (h *Hub) ChargeSpent(list []authority.Spending) { h.buckets.Charge(h.services.Clock(), list) }
