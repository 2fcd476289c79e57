// Package recall keeps the turns of spaces up to date with their logs, and
// answers whoever asks for them with what that participant may see.
//
// For each space of which somebody has asked, one goroutine follows the log by
// a cursor and feeds a [turns.Projection]. What a projection holds is bounded,
// and so is the number of projections: the one that was not used for longest
// goes, and is built anew from the log when somebody asks again.
package recall

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
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what is kept in memory.
const (
	// DefaultSpaces is how many spaces are remembered at once.
	DefaultSpaces = 64
	// indexBytes bounds the index of one space: about 200,000 turns.
	indexBytes = 64 << 20
	// cacheBytes bounds the contents of turns of one space that are held.
	cacheBytes = 8 << 20
)

// ErrClosed: the gateway is going down.
var ErrClosed = errors.New("the turns are kept no more: the gateway is going down")

// errForgotten: the room made room for another one; there is a new one for who
// asks again.
var errForgotten = errors.New("the turns of the space were forgotten")

// Options says how turns are kept.
type Options struct {
	// Mask takes secrets out of what is shown; nil: nothing is taken out.
	Mask turns.Masker
	// Spaces is how many spaces are remembered at once; 0: DefaultSpaces.
	Spaces int
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: silence
}

// Keeper keeps the turns of spaces. Its methods may be called concurrently.
type Keeper struct {
	opts Options
	ctx  context.Context //nolint:containedctx // ends with Close
	stop context.CancelFunc
	wait sync.WaitGroup

	mu    sync.Mutex
	rooms map[string]*room
	ended bool
}

// New makes a keeper. Close must be called.
func New(o Options) *Keeper {
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
	return &Keeper{opts: o, ctx: ctx, stop: stop, rooms: make(map[string]*room)}
}

// Close ends all following, and waits for it. Whoever waits for an answer gets
// ErrClosed.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.ended = true
	k.mu.Unlock()
	k.stop()
	k.wait.Wait()
}

// In returns the turns of a space, following it from now on. It does not wait
// for anything: the methods of what it returns do.
func (k *Keeper) In(s *space.Space) (*Turns, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, err := k.roomLocked(s)
	if err != nil {
		return nil, err
	}
	return &Turns{keeper: k, room: r, space: s}, nil
}

// Listen returns a listener for a participant that has heard of everything up
// to a Seq. wake is called when there is more to hear; it must be quick and not
// call back. Close must be called.
func (k *Keeper) Listen(s *space.Space, who protocol.ParticipantID, after protocol.Seq, wake func()) (*Listener, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, err := k.roomLocked(s)
	if err != nil {
		return nil, err
	}
	l := &Listener{room: r, space: s, who: who, wake: wake, told: after}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners[l] = struct{}{}
	return l, nil
}

// Remask says that the mask has changed: what is in memory passes it anew.
func (k *Keeper) Remask() {
	k.mu.Lock()
	rooms := slices.Collect(maps.Values(k.rooms))
	k.mu.Unlock()
	for _, r := range rooms {
		r.remask()
	}
}

func (k *Keeper) roomLocked(s *space.Space) (*room, error) {
	if k.ended {
		return nil, ErrClosed
	}
	r := k.rooms[s.Name()]
	if r != nil && r.outdated(s) {
		delete(k.rooms, r.name)
		r.leave()
		r = nil
	}
	if r == nil {
		k.makeRoom()
		r = newRoom(s.Name(), k.opts)
		k.rooms[s.Name()] = r
	}
	r.used = k.opts.Clock()
	r.follow(k, s)
	return r, nil
}

// makeRoom forgets the space that was not used for longest while there are too
// many. One for which somebody waits, or whose events somebody listens to, is
// not forgotten.
func (k *Keeper) makeRoom() {
	for len(k.rooms) >= k.opts.Spaces {
		var oldest *room
		for _, r := range k.rooms {
			if !r.wanted() && (oldest == nil || r.used.Before(oldest.used)) {
				oldest = r
			}
		}
		if oldest == nil {
			return
		}
		delete(k.rooms, oldest.name)
		oldest.leave()
	}
}

// wrap says what was being read when an error came.
func wrap(s *space.Space, err error) error {
	return fmt.Errorf("follow the log of space %s: %w", s.Name(), err)
}
