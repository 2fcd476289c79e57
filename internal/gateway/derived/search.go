package derived

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/search"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// defaultSearchWait is [SearchOptions.Wait] if it is 0.
const defaultSearchWait = time.Second

// SearchOptions configures a SearchStore.
type SearchOptions struct {
	Dir string // of the index; "": in memory
	// Spaces returns the open spaces.
	Spaces func() []*space.Space
	// Bounds returns the oldest and the newest Seq of a log.
	Bounds func(ctx context.Context, space string) (oldest, newest protocol.Seq, err error)
	Mask   func(string) string // masks shown texts; nil: they are shown as logged
	Logger *slog.Logger        // nil: discards
	// Wait bounds how long a search waits for the index to have the log as it was when
	// the search began; 0: a second.
	Wait time.Duration
}

// SearchStore is the search index of a gateway, one for all spaces. Run follows the logs
// of the open spaces; Search answers the searches of their participants, and may be
// called concurrently.
type SearchStore struct {
	opts SearchOptions
	wake chan struct{} // a search waits

	access sync.RWMutex // held for writing while the index is replaced
	index  searchIndex
	opened time.Time // the last attempt

	mu        sync.Mutex
	followers map[string]*follower
	turn      uint64        // counts the calls of follow, by Run alone
	moved     chan struct{} // closed and replaced when a follower has moved
}

// searchIndex is a search.Index, as turnRows is a turnDB.
type searchIndex interface {
	Search(ctx context.Context, space string, who search.Asker, q search.Query) (*search.Result, error)
	Position(space string) (search.Position, error)
	Begin(space, log string) error
	Apply(space string, docs []search.Doc, read protocol.Seq, built bool) error
	Trim(space string, oldest protocol.Seq) error
	Close() error
}

// follower is the position of an open space. Run alone changes it.
type follower struct {
	space    *space.Space
	position search.Position
	pos      uint64    // of the ring, at the last look
	trimmed  time.Time // the last look at the oldest entry
	wanted   bool      // a search waits for it
	due      due       // the reason to follow it
	turn     uint64    // SearchStore.turn when it was last followed
}

// due is the reason to follow a space, the most urgent first.
type due int

const (
	dueSearch  due = iota // a search waits
	dueEntries            // the index lacks entries
	dueTrim               // the index may have entries that the log has dropped
)

// NewSearchStore returns a SearchStore. Run must be called.
func NewSearchStore(o SearchOptions) *SearchStore {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &SearchStore{opts: o, wake: make(chan struct{}, 1), followers: make(map[string]*follower), moved: make(chan struct{})}
}

// SearchResult is a page of hits.
type SearchResult struct {
	*search.Result
	Log  string       // id of the log
	Head protocol.Seq // of the log, when the search began
}

// Search returns a page of the envelopes of a space that a participant may see and
// that a query selects. It waits up to Wait until the index has the envelopes that
// were admitted before the call; Result.Position.Read is where it is. Errors:
// a search.SyntaxError, a *protocol.Error: rate_limited, unavailable while the index
// is being built; the log's, ctx's.
func (s *SearchStore) Search(ctx context.Context, sp *space.Space, who ring.Viewer, q search.Query) (*SearchResult, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	charge, err := sp.BeginWork(who.ID)
	if err != nil {
		return nil, err
	}
	head := sp.Head()
	position, err := s.await(ctx, sp, head)
	if err != nil {
		return nil, err
	}
	if !position.Built {
		return nil, building(position, head)
	}
	visibility := sp.VisibilityOf(who)
	asker := search.Asker{
		ID: who.ID, VisibleAfter: who.VisibleAfter, All: visibility.Everyone || visibility.Observes, Mask: s.opts.Mask,
		Read: func(ctx context.Context, seq protocol.Seq) (*protocol.Envelope, error) {
			for e, err := range sp.Range(ctx, seq, seq) {
				if err != nil {
					return nil, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again.")
				}
				if e.VisibleTo(visibility) {
					return e.Envelope, nil
				}
			}
			return nil, nil //nolint:nilnil // as documented by Asker
		},
	}
	s.access.RLock()
	defer s.access.RUnlock()
	if s.index == nil {
		return nil, closed()
	}
	r, err := s.index.Search(ctx, sp.Name(), asker, q)
	if errors.Is(err, derivedb.ErrDamaged) {
		s.notify()
		return nil, closed()
	}
	if err != nil {
		return nil, err
	}
	charge(r.Work)
	if r.Position.Log != sp.LogID() {
		return nil, building(search.Position{}, head)
	}
	return &SearchResult{r, r.Position.Log, head}, nil
}

// closed is the error while there is no index to ask.
func closed() *protocol.Error {
	err := protocol.Errorf(protocol.CodeUnavailable, "The search index is being opened; try again in a moment.")
	err.RetryAfterMS = 2000
	return err
}

// building is the error while the index has never had the whole log.
func building(p search.Position, head protocol.Seq) *protocol.Error {
	percent := 0
	if first := min(p.Floor, p.Read); head > first {
		percent = int(100 * float64(p.Read-first) / float64(head-first))
	}
	err := protocol.Errorf(protocol.CodeUnavailable, "The search index of this space is being built, %d %% of the log is read; try again in a moment.", min(percent, 99))
	err.RetryAfterMS = 2000
	return err
}

// await waits until the index of a space has a Seq, and returns its position.
func (s *SearchStore) await(ctx context.Context, sp *space.Space, head protocol.Seq) (search.Position, error) {
	timeout := time.NewTimer(cmp.Or(s.opts.Wait, defaultSearchWait))
	defer timeout.Stop()
	for {
		position, moved := s.want(sp, head)
		if position.Built && position.Read >= head {
			return position, nil
		}
		select {
		case <-moved:
		case <-timeout.C:
			return position, nil
		case <-ctx.Done():
			return position, context.Cause(ctx)
		}
	}
}

// want returns the position of a space, which is 0 if it is not followed yet, and
// hurries Run if it is below head.
func (s *SearchStore) want(sp *space.Space, head protocol.Seq) (search.Position, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.followers[sp.Name()]
	if f == nil || f.space != sp {
		f = &follower{space: sp, pos: sp.Delivered()}
		s.followers[sp.Name()] = f
	}
	if f.position.Log != sp.LogID() {
		f.wanted = true
		s.notify()
		return search.Position{}, s.moved
	}
	if f.position.Read < head || !f.position.Built {
		f.wanted = true
		s.notify()
	}
	return f.position, s.moved
}

func (s *SearchStore) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// setPosition records where a follower is, and wakes the searches that wait.
func (s *SearchStore) setPosition(f *follower, p search.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.position = p
	close(s.moved)
	s.moved = make(chan struct{})
}

// reopen opens the index; reset: in place of a damaged one.
func (s *SearchStore) reopen(reset bool) {
	s.opened = time.Now()
	s.access.Lock()
	defer s.access.Unlock()
	if s.index != nil {
		if err := s.index.Close(); err != nil {
			s.opts.Logger.Debug("close the search index", "error", err)
		}
		s.index = nil
	}
	s.mu.Lock()
	clear(s.followers)
	s.mu.Unlock()
	x, err := search.Open(derivedb.Options{Dir: s.opts.Dir, Reset: reset, Logger: s.opts.Logger})
	if err != nil {
		s.opts.Logger.Error("searches are answered with unavailable", "error", fmt.Errorf("search: %w", err))
		return
	}
	s.index = x
}

func (s *SearchStore) closeIndex() {
	s.access.Lock()
	defer s.access.Unlock()
	if s.index == nil {
		return
	}
	if err := s.index.Close(); err != nil {
		s.opts.Logger.Warn("close the search index", "error", err)
	}
	s.index = nil
}
