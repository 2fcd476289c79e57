package turns

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// ErrUnknown: the thread or turn does not exist, the viewer may not see it, or it
// was quiet for so long that the index dropped it.
var ErrUnknown = errors.New("no such thread or turn")

// Bounds of one page.
const (
	DefaultPage  = 50
	MaxPage      = 200
	maxPageBytes = maxBytes // of contents; a page that reaches it ends there
)

func pageSize(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}

// turnRef is a requested turn as it was at one moment.
type turnRef struct {
	at    ref
	id    protocol.ID // of the thread or job
	tu    *turn
	entry *Entry // the first one, as far as the index knows it
	bytes int

	started   int64
	truncated bool
	items     []*item        // once they are known
	seqs      []protocol.Seq // of items that are to be read from the log
	shown     *view          // of all items, if it is cached
}

func (r *turnRef) key(space string) key {
	return key{session: SessionID(space, r.id), thread: r.id, turn: r.at.turn}
}

// outline copies the part of a turn that decides who may see it; nil: there is no
// such turn.
func (th *thread) outline(n int) *turnRef {
	tu := th.turn(n)
	if tu == nil {
		return nil
	}
	return &turnRef{at: ref{th.seq, n}, id: th.id, tu: tu, entry: tu.entry(), started: tu.started, bytes: tu.bytes}
}

// fill copies the rest of the record of turns, and leaves out turns that the
// index has dropped meanwhile.
func (t *Tracker) fill(refs []*turnRef) []*turnRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := refs[:0]
	for _, r := range refs {
		if !t.holdsLocked(r) {
			continue
		}
		kept = append(kept, r)
		r.truncated = r.tu.truncated
		held := r.tu.contents
		if held == nil {
			r.seqs = r.tu.seqs()
			continue
		}
		t.cache.touch(held)
		r.items = held.snapshot()
		if held.shownItems == len(held.items) {
			r.shown = held.shown
		}
	}
	return kept
}

// refsBelow returns the highest visible turns of a thread below a number, limit
// of them at most, and reports whether there are more. It takes short steps, so
// that Apply does not wait for long and the viewer is not asked under the lock.
func (t *Tracker) refsBelow(id protocol.ID, limit, before int, v *Viewer) (refs []*turnRef, more bool, err error) {
	bytes := 0
	for {
		some, known := t.outlinesBelow(id, before, min(limit+1, 64))
		if !known {
			return nil, false, fmt.Errorf("thread %s: %w", id, ErrUnknown)
		}
		if len(some) == 0 {
			return refs, false, nil
		}
		for _, r := range some {
			before = r.at.turn
			if !v.isVisible(r.entry) {
				continue
			}
			if len(refs) == limit || len(refs) > 0 && bytes+r.bytes > maxPageBytes {
				return refs, true, nil
			}
			bytes += r.bytes
			refs = append(refs, r)
		}
	}
}

func (t *Tracker) outlinesBelow(id protocol.ID, before, most int) (some []*turnRef, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	th := t.index.byID[id]
	if th == nil {
		return nil, false
	}
	n := th.last()
	if before > 0 {
		n = min(n, before-1)
	}
	for ; n >= th.first && len(some) < most; n-- {
		some = append(some, th.outline(n))
	}
	return some, true
}

// outlinesAbove outlines the turns of a thread after a number, the lowest first.
func (t *Tracker) outlinesAbove(id protocol.ID, after, most int) (some []*turnRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	th := t.index.byID[id]
	if th == nil {
		return nil
	}
	for n := max(after+1, th.first); n <= th.last() && len(some) < most; n++ {
		some = append(some, th.outline(n))
	}
	return some
}

// History returns turns of a thread that the viewer may see: the newest limit
// of them below the number before (0: of all). A limit of 0 is DefaultPage, and
// MaxPage the highest. It ends earlier when the turns are very large. The error
// wraps [ErrUnknown], or is the log's.
func (t *Tracker) History(ctx context.Context, thread protocol.ID, limit, before int, v Viewer) (*History, error) {
	if before < 0 || before == 1 {
		before = 1
	}
	refs, more, err := t.refsBelow(thread, pageSize(limit), before, &v)
	if err != nil {
		return nil, err
	}
	if len(refs) == 0 && !t.anyVisible(thread, &v) {
		return nil, fmt.Errorf("thread %s: %w", thread, ErrUnknown)
	}
	refs = t.fill(refs)
	if err := t.load(ctx, refs); err != nil {
		return nil, fmt.Errorf("read turns of thread %s: %w", thread, err)
	}
	h := &History{ThreadID: thread, SessionID: SessionID(t.opts.Space, thread), Turns: make([]Turn, 0, len(refs)), HasMore: more}
	d, size := t.display(), 0
	for _, r := range refs {
		shown := t.view(r, &v, d)
		if shown == nil {
			continue
		}
		if size += shown.bytes; size > maxPageBytes && len(h.Turns) > 0 {
			h.HasMore = true
			break
		}
		h.Turns = append(h.Turns, shown.show(&v))
	}
	slices.Reverse(h.Turns)
	return h, nil
}

// All yields all turns of a thread that the viewer may see, oldest first, and
// at most one error, at the end: it wraps [ErrUnknown], or is the log's. Few of
// them are in memory at a time.
func (t *Tracker) All(ctx context.Context, thread protocol.ID, v Viewer) iter.Seq2[*api.Turn, error] {
	const step = 16
	return func(yield func(*api.Turn, error) bool) {
		yielded := false
		for after := 0; ; {
			some := t.outlinesAbove(thread, after, step)
			if len(some) == 0 {
				break
			}
			after = some[len(some)-1].at.turn
			for _, r := range some {
				info, visible, err := t.show(ctx, r, &v)
				if err != nil {
					yield(nil, err)
					return
				}
				if !visible {
					continue
				}
				if yielded = true; !yield(&info.Turn, nil) {
					return
				}
			}
		}
		if !yielded && !t.anyVisible(thread, &v) {
			yield(nil, fmt.Errorf("thread %s: %w", thread, ErrUnknown))
		}
	}
}

// anyVisible reports whether the viewer sees any turn of a thread. A viewer that
// sees none gets the answer for a thread that does not exist.
func (t *Tracker) anyVisible(id protocol.ID, v *Viewer) bool {
	refs, _, err := t.refsBelow(id, 1, 0, v)
	return err == nil && len(refs) > 0
}

// Turn returns one turn of a thread. The error wraps [ErrUnknown], or is the
// log's.
func (t *Tracker) Turn(ctx context.Context, thread protocol.ID, number int, v Viewer) (Turn, error) {
	some := t.outlinesAbove(thread, number-1, 1)
	if len(some) == 1 && some[0].at.turn == number {
		if info, visible, err := t.show(ctx, some[0], &v); visible || err != nil {
			return info, err
		}
	}
	return Turn{}, fmt.Errorf("turn %d of thread %s: %w", number, thread, ErrUnknown)
}

// show returns a turn for a viewer. It reports false if the viewer may not see it.
func (t *Tracker) show(ctx context.Context, r *turnRef, v *Viewer) (info Turn, visible bool, err error) {
	if !v.isVisible(r.entry) {
		return Turn{}, false, nil
	}
	filled := t.fill([]*turnRef{r})
	if err := t.load(ctx, filled); err != nil {
		return Turn{}, false, fmt.Errorf("read turn %d of thread %s: %w", r.at.turn, r.id, err)
	}
	if len(filled) == 0 {
		return Turn{}, false, nil
	}
	shown := t.view(r, v, t.display())
	if shown == nil {
		return Turn{}, false, nil
	}
	return shown.show(v), true, nil
}

// view renders a turn for a viewer; nil if it does not see the chat. The view of
// all items is cached.
func (t *Tracker) view(r *turnRef, v *Viewer, d *display) *view {
	visible := filterVisible(r.items, v)
	if len(visible) == 0 || visible[0].env().Seq != r.entry.Envelope.Seq {
		return nil
	}
	if len(visible) == len(r.items) && r.shown != nil && r.shown.rules == d.rules && r.shown.info.Truncated == r.truncated {
		return r.shown
	}
	out := build(visible).render(r.key(t.opts.Space), r.truncated, d)
	if len(visible) == len(r.items) {
		t.keepView(r, out)
	}
	return out
}

func (t *Tracker) keepView(r *turnRef, v *view) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held := r.tu.contents; held != nil && len(held.items) == len(r.items) {
		t.cache.show(held, v)
		t.shrink()
	}
}

// filterVisible returns the items that a viewer may see: the same slice, if it
// is all.
func filterVisible(items []*item, v *Viewer) []*item {
	if v.Allows == nil {
		return items
	}
	for i, it := range items {
		if v.isVisible(&it.entry) {
			continue
		}
		some := append(make([]*item, 0, len(items)), items[:i]...)
		for _, it := range items[i+1:] {
			if v.isVisible(&it.entry) {
				some = append(some, it)
			}
		}
		return some
	}
	return items
}
