// Package turnstore follows the logs of the spaces in use and answers questions
// about their turns.
//
//	Store     one tailer for each space in use, which feeds a turns.Tracker
//	View      the turns of one space for one participant
//	Listener  steps of agents for one event stream
package turnstore

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a Store.
const (
	// DefaultSpaces is how many spaces are tracked at once.
	DefaultSpaces = 64
	// indexBytes bounds the index of one space: about 200,000 turns.
	indexBytes = 64 << 20
	// cacheBytes bounds the cached contents of all spaces together.
	cacheBytes = 64 << 20
)

// cacheShare is the cache of each of n spaces.
func cacheShare(n int) int { return min(turns.DefaultCacheBytes, cacheBytes/n) }

// ErrClosed: the gateway is shutting down.
var ErrClosed = errors.New("the turn store is closed: the gateway is shutting down")

// errDropped: the tailer was closed to make room for another space. The Store has
// a new one for the next request.
var errDropped = errors.New("the turns of the space were dropped")

// Options configures a Store.
type Options struct {
	// Mask removes secrets from shown texts; nil: texts are shown as logged.
	Mask turns.Masker
	// Spaces is how many spaces are tracked at once; 0: DefaultSpaces.
	Spaces int
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
}

// Store tracks the turns of spaces. For each space in use one goroutine follows
// the log and feeds a [turns.Tracker]. The number of spaces is bounded: the one
// that was not used for longest is dropped, and is built again from its log when
// it is used again. The methods of a Store may be called concurrently.
type Store struct {
	opts Options
	ctx  context.Context //nolint:containedctx // ends with Close
	stop context.CancelFunc
	wait sync.WaitGroup // tailers

	mu      sync.Mutex
	tailers map[string]*tailer
	closed  bool
}

// New returns a Store. Close must be called.
func New(o Options) *Store {
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

// View is the turns of a space for one participant: its Viewer is the argument of
// the Tracker's methods.
type View struct {
	*turns.Tracker
	Viewer turns.Viewer
}

// View returns the turns of a space for a participant, once the log as it is now
// has been applied, so that a writer finds its own envelopes. Errors: the log's,
// ctx's, space.ErrRetired, ErrClosed.
func (s *Store) View(ctx context.Context, sp *space.Space, who ring.Viewer) (*View, error) {
	for {
		t, err := s.tailer(sp, func(t *tailer) { t.waiting++ })
		if err != nil {
			return nil, err
		}
		err = t.waitApplied(ctx, sp.Head())
		t.mu.Lock()
		t.waiting--
		t.mu.Unlock()
		switch {
		case err == nil:
			return &View{t.tracker, viewerOf(sp, who)}, nil
		case errors.Is(err, space.ErrRetired) && s.ctx.Err() != nil:
			return nil, ErrClosed
		case !errors.Is(err, errDropped):
			return nil, err
		}
	}
}

func viewerOf(sp *space.Space, who ring.Viewer) turns.Viewer {
	visibility := sp.VisibilityOf(who)
	return turns.Viewer{
		Allows:  func(e *turns.Entry) bool { return visibility.Allows(e.Envelope, e.Thread) },
		Present: sp.IsPresent,
	}
}

// Listen returns a listener for a participant that has received the events up to
// a Seq. wake is called when there may be more; it must be quick and must not
// call back. Close must be called.
func (s *Store) Listen(sp *space.Space, who ring.Viewer, after protocol.Seq, wake func()) (*Listener, error) {
	l := &Listener{space: sp, who: who, wake: wake, sent: after}
	var err error
	l.tailer, err = s.tailer(sp, func(t *tailer) { t.listeners[l] = struct{}{} })
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Remask applies changed rules of the mask to all answers from now on.
func (s *Store) Remask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tailers {
		t.tracker.Remask()
	}
}

// tailer returns the tailer of a space, and makes it follow the log. use is called
// under the tailer's lock before another request can drop it.
func (s *Store) tailer(sp *space.Space, use func(*tailer)) (*tailer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
		for _, other := range s.tailers {
			other.tracker.LimitCache(cacheShare(len(s.tailers)))
		}
	}
	t.used = s.opts.Clock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.followLocked(s, sp)
	use(t)
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
