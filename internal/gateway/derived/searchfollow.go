package derived

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/search"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

const (
	// lookEvery is how often Run looks for new entries, unless a search waits or there
	// are more. With very many open spaces it looks so seldom that it takes one part in
	// busyShare of the time.
	lookEvery = 250 * time.Millisecond
	// trimSearchEvery is how often it looks for entries that the log no longer has.
	trimSearchEvery = time.Minute
	// reopenEvery is how often it tries to open an index that cannot be opened.
	reopenEvery = 10 * time.Second

	// batchDocs and batchBytes bound the entries that are applied at once.
	batchDocs  = 500
	batchBytes = 4 << 20
	// spacesInTurn is how many spaces are followed before Run looks for new entries
	// again: then a space that a search waits for is next, and closed ones are released.
	spacesInTurn = 1000
	// batchesInTurn is how many batches of a space are applied before other spaces have
	// their turn.
	batchesInTurn = 4

	// busyRate is the rate of entries from which on the gateway counts as busy. Then
	// the index takes one part in busyShare of the time of one processor, and else, or
	// for a search that waits, one in idleShare.
	busyRate  = 2000 // per second
	busyShare = 50
	idleShare = 2
)

// Run follows the logs of the open spaces until ctx ends, then closes the index.
func (s *SearchStore) Run(ctx context.Context) {
	defer s.closeIndex()
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	last := time.Now()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		case <-s.wake:
		}
		began := time.Now()
		if s.index == nil && began.Sub(s.opened) >= reopenEvery { // Run alone changes the index
			s.reopen(false)
		}
		if s.index == nil {
			look.Reset(lookEvery)
			continue
		}
		list, entries, more := s.update()
		interval := max(lookEvery, busyShare*time.Since(began))
		busy := isBusy(entries, time.Since(last))
		last = time.Now()
		for _, f := range list {
			s.turn++
			f.turn = s.turn
			left, err := s.follow(ctx, f, busy)
			more = more || left
			if errors.Is(err, derivedb.ErrDamaged) {
				s.opts.Logger.Warn("the search index is built again", "reason", err)
				s.reopen(true)
				break
			}
			if errors.Is(err, errSearchWaits) {
				more = true
				break
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, space.ErrRetired) {
				s.opts.Logger.Warn("read the log for the search index", "space", f.space.Name(), "error", err)
			}
		}
		if more {
			interval = 0
		}
		look.Reset(interval)
	}
}

// update makes followers for the open spaces, drops the others, and returns up to
// spacesInTurn with something to do: the ones that searches wait for first, then the
// ones with entries that the index lacks, and of these the ones that were followed longest
// ago. It also returns how many entries all have received since the last call, and
// whether more than the returned ones lack entries.
func (s *SearchStore) update() (list []*follower, entries uint64, more bool) {
	open := s.opts.Spaces()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.followers
	s.followers = make(map[string]*follower, len(open))
	for _, sp := range open {
		f := before[sp.Name()]
		if f == nil || f.space != sp {
			f = &follower{space: sp, pos: sp.Delivered()}
		}
		s.followers[sp.Name()] = f
		pos := sp.Delivered()
		entries, f.pos = entries+pos-f.pos, pos
		switch {
		case f.wanted:
			f.due = dueSearch
		case f.position.Log != sp.LogID() || f.position.Read != sp.Head() || !f.position.Built:
			f.due = dueEntries
		case time.Since(f.trimmed) > trimSearchEvery:
			f.due = dueTrim
		default:
			continue
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b *follower) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.turn, b.turn))
	})
	if len(list) > spacesInTurn {
		more = list[spacesInTurn].due != dueTrim
		clear(list[spacesInTurn:])
		list = list[:spacesInTurn]
	}
	return list, entries, more
}

// errSearchWaits ends a turn before its last space.
var errSearchWaits = errors.New("a search waits")

// follow indexes what the log of a space has more than the index: for a while, so
// that other spaces have their turn. It pauses after each batch, and reports whether
// there is more.
func (s *SearchStore) follow(ctx context.Context, f *follower, busy bool) (more bool, err error) {
	name := f.space.Name()
	position, err := s.index.Position(name)
	if err != nil {
		return false, err
	}
	goal := f.space.Head()
	if position.Log != f.space.LogID() || position.Read > goal {
		if err := s.index.Begin(name, f.space.LogID()); err != nil {
			return false, err
		}
		position, err = s.index.Position(name)
		if err != nil {
			return false, err
		}
	}
	if time.Since(f.trimmed) > trimSearchEvery {
		f.trimmed = time.Now()
		oldest, _, err := s.opts.Bounds(ctx, name)
		if err != nil {
			return false, err
		}
		if err := s.index.Trim(name, oldest); err != nil {
			return false, err
		}
	}
	if position.Built && position.Read >= goal {
		s.caughtUp(f, position)
		return false, nil
	}
	for range batchesInTurn {
		began, delivered := time.Now(), f.space.Delivered()
		read, err := s.applyBatch(ctx, f.space, position.Read, goal)
		if err != nil {
			return false, err
		}
		position, err = s.index.Position(name)
		if err != nil {
			return false, err
		}
		more = read < goal
		if more {
			s.setPosition(f, position)
		} else {
			s.caughtUp(f, position)
		}
		worked := time.Since(began)
		if err := s.pause(ctx, f, worked, busy || isBusy(f.space.Delivered()-delivered, worked)); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// pause leaves the processors to the rest of the gateway after a batch. It returns
// errSearchWaits if the batch was for no search and one begins to wait.
func (s *SearchStore) pause(ctx context.Context, f *follower, worked time.Duration, busy bool) error {
	share, wake := idleShare, s.wake
	if f.due == dueSearch {
		wake = nil
	} else if busy {
		share = busyShare
	}
	select {
	case <-time.After(worked * time.Duration(share-1)):
		return nil
	case <-wake:
		return errSearchWaits
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isBusy reports whether so many entries in a time make a gateway busy.
func isBusy(entries uint64, in time.Duration) bool {
	return float64(entries) > busyRate*max(in.Seconds(), 0.01)
}

// caughtUp records that a follower is where its log was.
func (s *SearchStore) caughtUp(f *follower, p search.Position) {
	s.mu.Lock()
	f.wanted = false
	s.mu.Unlock()
	s.setPosition(f, p)
}

// applyBatch applies the next entries up to goal, and returns the Seq up to which
// the log was read.
func (s *SearchStore) applyBatch(ctx context.Context, sp *space.Space, read, goal protocol.Seq) (protocol.Seq, error) {
	c := sp.Follow(read)
	defer c.Close() // while a cursor follows, the ring keeps parsed payloads
	var docs []search.Doc
	size := 0
	for read < goal && len(docs) < batchDocs && size < batchBytes {
		entries, upTo, err := c.Next(ctx)
		if err != nil {
			return read, err
		}
		for _, e := range entries {
			if !search.Searchable(e.Envelope.Kind) {
				continue
			}
			d := search.Doc{Envelope: e.Envelope, Payload: e.Payload()}
			if e.IsAddressed() {
				d.Audience = slices.Concat([]protocol.ParticipantID{e.Envelope.From}, e.Envelope.To, e.Audience())
			}
			docs = append(docs, d)
			size += len(e.Envelope.Payload)
		}
		read = upTo
	}
	return read, s.index.Apply(sp.Name(), docs, read, read >= goal)
}
