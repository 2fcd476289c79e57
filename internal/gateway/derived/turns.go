// Package derived keeps what a gateway derives from the logs of its spaces: the search
// index, see [SearchStore], and the turns, see [TurnStore].
//
// Each of them follows the logs and is a copy in a folder of its own. A copy that is
// missing, damaged, of another version, or of another log is built again.
package derived

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a TurnStore.
const (
	// defaultSpaces is how many spaces are tracked at once.
	defaultSpaces = 64
	// cacheBytes bounds the cached contents of all spaces together.
	cacheBytes = 64 << 20
)

// cacheShare is the cache of each of n spaces.
func cacheShare(n int) int { return min(turns.DefaultCacheBytes, cacheBytes/n) }

// ErrTurnsClosed: the gateway is shutting down.
var ErrTurnsClosed = errors.New("the turn store is closed: the gateway is shutting down")

// errDropped: the tailer was closed to make room for another space. The store has
// a new one for the next request.
var errDropped = errors.New("the turns of the space were dropped")

// TurnOptions configures a TurnStore.
type TurnOptions struct {
	Dir string // of the indexes; "": in memory
	// Bounds returns the oldest and the newest Seq of a log; nil: nothing is ever
	// dropped from a log.
	Bounds func(ctx context.Context, space string) (oldest, newest protocol.Seq, err error)
	// Base returns what FoldTurns made of the entries that a log has dropped; nil: there is
	// nothing.
	Base func(space string) (journal.Base, error)
	// Mask removes secrets from shown texts; nil: texts are shown as logged.
	Mask turns.Masker
	// Spaces is how many spaces are tracked at once; 0: defaultSpaces.
	Spaces int
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards

	fs vfs.FS // nil: the operating system's. Tests inject failures
}

// TurnStore follows the logs of the spaces in use and answers questions about their
// turns. A space in use has a tailer: one goroutine that follows the log and feeds a
// [turns.Tracker]. The number of spaces is bounded: the one that was not used for longest
// is dropped from memory. The methods may be called concurrently.
//
// The index of a space is a derived copy of its log, up to a Seq. A tailer goes on from
// there. If it has to begin again, it continues the base of the space, which the log keeps
// of the entries that retention drops.
type TurnStore struct {
	opts TurnOptions
	ctx  context.Context //nolint:containedctx // ends with Close
	stop context.CancelFunc
	wait sync.WaitGroup // tailers

	dbMu    sync.Mutex // held while the indexes are opened or closed
	db      turnRows   // nil: not opened yet
	flushed time.Time  // when the last flush was started

	mu      sync.Mutex
	tailers map[string]*tailer
	ended   map[string]<-chan struct{} // by space: closed when its last following has ended
	closed  bool
}

// turnRows is a turnDB. A field of that type would have every package that imports the
// gateway compile the generic types of Pebble again.
type turnRows interface {
	Space(name, log string, reset bool) (turns.Rows, error)
	Damaged() bool
	Full() bool
	StartFlush() error
	Close() error
}

// NewTurnStore returns a TurnStore. Close must be called.
func NewTurnStore(o TurnOptions) *TurnStore {
	if o.Spaces <= 0 {
		o.Spaces = defaultSpaces
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &TurnStore{opts: o, ctx: ctx, stop: stop, tailers: make(map[string]*tailer), ended: make(map[string]<-chan struct{})}
	s.wait.Go(func() { // the first question should not wait for it
		s.dbMu.Lock()
		defer s.dbMu.Unlock()
		if err := s.openLocked(); err != nil {
			s.opts.Logger.Error("open the index of turns", "error", err)
		}
	})
	return s
}

// Close stops all tailers and waits for them. Pending requests get ErrTurnsClosed.
func (s *TurnStore) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wait.Wait()
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	if s.db == nil {
		return
	}
	if err := s.db.Close(); err != nil {
		s.opts.Logger.Warn("close the index of turns", "error", err)
	}
}

// rows returns the rows of a space, empty ones with reset.
func (s *TurnStore) rows(name, log string, reset bool) (turns.Rows, error) {
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	if err := s.openLocked(); err != nil {
		return nil, err
	}
	return s.db.Space(name, log, reset)
}

// openLocked opens the database unless it is open, and begins a new one in place of a
// damaged one. If there can be none in its folder, it is in memory.
func (s *TurnStore) openLocked() error {
	o := derivedb.Options{Dir: s.opts.Dir, Logger: s.opts.Logger, FS: s.opts.fs}
	if s.db != nil {
		if !s.db.Damaged() {
			return nil
		}
		o.Reset = true
		if err := s.db.Close(); err != nil {
			s.opts.Logger.Debug("close the index of turns", "error", err)
		}
	}
	db, err := openTurnDB(o)
	if err != nil {
		s.opts.Logger.Error("the index of turns is in memory until the next start", "error", err)
		db, err = openTurnDB(derivedb.Options{Logger: s.opts.Logger})
		if err != nil {
			return err
		}
	}
	s.db = db
	return nil
}

// full reports whether the disk must take rows before more are saved.
func (s *TurnStore) full() bool {
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	return s.db.Full()
}

// startFlush starts to write the indexes to disk, unless it did so a moment ago: full
// tables are written by themselves.
func (s *TurnStore) startFlush() error {
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	now := s.opts.Clock()
	if now.Sub(s.flushed) < flushEvery {
		return nil
	}
	s.flushed = now
	return s.db.StartFlush()
}

// TurnView is the turns of a space for one participant: its Viewer is the argument of
// the Tracker's methods.
type TurnView struct {
	*turns.Tracker
	Viewer turns.Viewer
}

// View returns the turns of a space for a participant, once the log as it is now
// has been applied, so that a writer finds its own envelopes. Errors: the log's,
// ctx's, space.ErrRetired, ErrTurnsClosed.
func (s *TurnStore) View(ctx context.Context, sp *space.Space, who ring.Viewer) (*TurnView, error) {
	for {
		t, err := s.tailer(sp, func(t *tailer) { t.waiting++ })
		if err != nil {
			return nil, err
		}
		err = t.waitApplied(ctx, sp.Head())
		t.mu.Lock()
		t.waiting--
		tracker := t.tracker
		t.mu.Unlock()
		if err == nil && tracker == nil {
			continue // the index is being opened again
		}
		if err == nil && tracker.Err() != nil {
			s.reopen(t, tracker, sp)
			continue
		}
		if err == nil {
			err = t.trim(ctx, tracker)
		}
		switch {
		case err == nil:
			return &TurnView{tracker, viewerOf(sp, who)}, nil
		case errors.Is(err, space.ErrRetired) && s.ctx.Err() != nil:
			return nil, ErrTurnsClosed
		case !errors.Is(err, errDropped):
			return nil, err
		}
	}
}

// reopen lets a tailer open its index again, unless it did so meanwhile.
func (s *TurnStore) reopen(t *tailer, failed *turns.Tracker, sp *space.Space) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tracker != failed || t.dropped || s.closed {
		return
	}
	t.closeLocked(failed.Err())
	if t.cancel != nil {
		t.cancel()
		t.cancel = nil
	}
	t.followLocked(s, sp)
}

func viewerOf(sp *space.Space, who ring.Viewer) turns.Viewer {
	visibility := sp.VisibilityOf(who)
	return turns.Viewer{
		Allows:  func(e *turns.Entry) bool { return visibility.Allows(e.Envelope, e.Audience) },
		Present: sp.IsPresent,
	}
}

// Listen returns a listener for a participant that has received the events up to
// a Seq. wake is called when there may be more; it must be quick and must not
// call back. Close must be called.
func (s *TurnStore) Listen(sp *space.Space, who ring.Viewer, after protocol.Seq, wake func()) (*TurnListener, error) {
	l := &TurnListener{space: sp, who: who, wake: wake, sent: after}
	var err error
	l.tailer, err = s.tailer(sp, func(t *tailer) { t.listeners[l] = struct{}{} })
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Remask applies changed rules of the mask to all answers from now on.
func (s *TurnStore) Remask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tailers {
		t.mu.Lock()
		if t.tracker != nil {
			t.tracker.Remask()
		}
		t.mu.Unlock()
	}
}

// tailer returns the tailer of a space, and makes it follow the log. While there are too many spaces, the one
// that was not used for longest is dropped. use is called under the tailer's lock before another request can
// drop it.
func (s *TurnStore) tailer(sp *space.Space, use func(*tailer)) (*tailer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrTurnsClosed
	}
	t := s.tailers[sp.Name()]
	if t != nil && t.logID != sp.LogID() {
		t.log.Warn("the log was replaced; its turns are derived again")
		s.dropLocked(t)
		t = nil
	}
	if t == nil {
		for len(s.tailers) >= s.opts.Spaces {
			idle := slices.DeleteFunc(slices.Collect(maps.Values(s.tailers)), (*tailer).inUse)
			if len(idle) == 0 {
				break // a space with a pending request or a listener is kept
			}
			s.dropLocked(slices.MinFunc(idle, func(a, b *tailer) int { return a.used.Compare(b.used) }))
		}
		t = &tailer{
			name: sp.Name(), logID: sp.LogID(), opts: s.opts, log: s.opts.Logger.With("space", sp.Name()), advanced: make(chan struct{}),
			listeners: make(map[*TurnListener]struct{}),
		}
		s.tailers[sp.Name()] = t
		for _, x := range s.tailers {
			x.limitCache(cacheShare(len(s.tailers)))
		}
	}
	t.used = s.opts.Clock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.followLocked(s, sp)
	use(t)
	return t, nil
}

// dropLocked ends the following of a space for good.
func (s *TurnStore) dropLocked(t *tailer) {
	delete(s.tailers, t.name)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped = true
	t.announceLocked()
	if t.cancel != nil {
		t.cancel()
	}
}
