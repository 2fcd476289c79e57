package turns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a Store.
const (
	// DefaultSpaces is how many spaces are tracked at once.
	DefaultSpaces = 64
	// storeIndexBytes bounds the index of one space: about 200,000 turns.
	storeIndexBytes = 64 << 20
	// storeCacheBytes bounds the cached contents of all spaces together. A space
	// has an equal share, DefaultCacheBytes at most.
	storeCacheBytes = 64 << 20
)

// ErrClosed: the gateway is shutting down.
var ErrClosed = errors.New("the turn store is closed: the gateway is shutting down")

// errDropped: the tailer was closed to make room for another space. The Store has
// a new one for the next request.
var errDropped = errors.New("the turns of the space were dropped")

// StoreOptions configures a Store.
type StoreOptions struct {
	// Mask removes secrets from shown texts; nil: texts are shown as logged.
	Mask Masker
	// Spaces is how many spaces are tracked at once; 0: DefaultSpaces.
	Spaces int
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
}

// Store tracks the turns of spaces. For each space in use one goroutine follows
// the log and feeds a [Tracker]. The number of spaces is bounded: the one that
// was not used for longest is dropped, and is built again from its log when it is
// used again. The methods of a Store may be called concurrently.
type Store struct {
	opts StoreOptions
	ctx  context.Context //nolint:containedctx // ends with Close
	stop context.CancelFunc
	wait sync.WaitGroup // tailers

	mu      sync.Mutex
	tailers map[string]*tailer
	closed  bool
}

// NewStore returns a Store. Close must be called.
func NewStore(o StoreOptions) *Store {
	if o.Spaces <= 0 {
		o.Spaces = DefaultSpaces
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Store{opts: o, ctx: ctx, stop: stop, tailers: make(map[string]*tailer)}
}

// Close stops all tailers and waits for them. Pending requests get ErrClosed.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wait.Wait()
}

// tailer returns the tailer of a space, and makes it follow the log.
func (s *Store) tailer(sp *space.Space) (*tailer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tailerLocked(sp)
}

// Listen returns a listener for a participant that has received the events up to
// a Seq. wake is called when there may be more; it must be quick and must not
// call back. Close must be called.
func (s *Store) Listen(sp *space.Space, who space.Viewer, after protocol.Seq, wake func()) (*Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tailerLocked(sp)
	if err != nil {
		return nil, err
	}
	l := &Listener{tailer: t, space: sp, who: who, wake: wake, sent: after}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners[l] = struct{}{}
	return l, nil
}

// Remask applies changed rules of the mask to all answers from now on.
func (s *Store) Remask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range maps.Values(s.tailers) {
		t.tracker.Remask()
	}
}

func (s *Store) tailerLocked(sp *space.Space) (*tailer, error) {
	if s.closed {
		return nil, ErrClosed
	}
	t := s.tailers[sp.Name()]
	if t != nil && t.logID != sp.LogID() {
		t.log.Warn("the log was replaced; its turns are built again")
		s.dropLocked(t)
		t = nil
	}
	if t == nil {
		s.makeRoomLocked()
		t = newTailer(sp, s.opts)
		s.tailers[sp.Name()] = t
		s.shareCacheLocked()
	}
	t.used = s.opts.Clock()
	t.follow(s, sp)
	return t, nil
}

func (s *Store) dropLocked(t *tailer) {
	delete(s.tailers, t.name)
	t.drop()
}

// makeRoomLocked drops the space that was not used for longest while there are
// too many. A space with a pending request or a listener is kept.
func (s *Store) makeRoomLocked() {
	for len(s.tailers) >= s.opts.Spaces {
		idle := slices.DeleteFunc(slices.Collect(maps.Values(s.tailers)), (*tailer).inUse)
		if len(idle) == 0 {
			return
		}
		s.dropLocked(slices.MinFunc(idle, func(a, b *tailer) int { return a.used.Compare(b.used) }))
	}
}

// shareCacheLocked divides the cache among the spaces.
func (s *Store) shareCacheLocked() {
	share := min(DefaultCacheBytes, storeCacheBytes/len(s.tailers))
	for _, t := range s.tailers {
		t.tracker.limitCache(share)
	}
}

func followError(sp *space.Space, err error) error {
	return fmt.Errorf("follow the log of space %s: %w", sp.Name(), err)
}
