package turns

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// ErrUnknown: there is no such thread or turn, or none that the viewer may
// see, or it was quiet for so long that it is not remembered.
var ErrUnknown = errors.New("unknown to the projection")

// Bounds of one page.
const (
	DefaultPage  = 50
	MaxPage      = 200
	maxPageBytes = 32 << 20 // of contents; a page that reaches it ends there
)

func pageSize(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}

// pick is a turn that was asked for, as it was at that moment.
type pick struct {
	key   key
	tu    *turn
	entry *Entry // the chat, as far as the index knows it
	bytes int

	started   int64
	truncated bool
	items     []*item // nil: to be read from the log
	seqs      []protocol.Seq
	shown     *view // of all items, if somebody has asked before
}

// outline takes down of a turn what says who may see it.
func (th *thread) outline(n int) *pick {
	tu := th.turn(n)
	if tu == nil {
		return nil
	}
	return &pick{key: key{thread: th.id, turn: n}, tu: tu, entry: tu.entry(), started: tu.started, bytes: tu.bytes}
}

// fill takes down the rest of what is known of turns, and leaves out those that
// have been forgotten meanwhile.
func (p *Projection) fill(picks []*pick) []*pick {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := picks[:0]
	for _, k := range picks {
		if !p.holdsLocked(k) {
			continue
		}
		kept = append(kept, k)
		k.key.session = SessionID(p.opts.Space, k.key.thread)
		k.truncated = k.tu.truncated
		w := k.tu.warm
		if w == nil {
			k.seqs = k.tu.seqs()
			continue
		}
		p.cache.touch(w)
		k.items = w.snapshot()
		if w.shownItems == len(w.items) {
			k.shown = w.shown
		}
	}
	return kept
}

// pickSome picks turns of a thread below a number, the highest first, until
// most of them are there that the viewer may see, and says whether there are
// more. It goes in short steps, so that Apply does not wait for long and the
// viewer is not asked under the lock.
func (p *Projection) pickSome(id protocol.ID, most, before int, v *Viewer) (picks []*pick, more bool, err error) {
	bytes := 0
	for {
		some, known := p.pickBelow(id, before, min(most+1, 64))
		if !known {
			return nil, false, fmt.Errorf("thread %s: %w", id, ErrUnknown)
		}
		if len(some) == 0 {
			return picks, false, nil
		}
		for _, k := range some {
			before = k.key.turn
			if !v.sees(k.entry) {
				continue
			}
			if len(picks) == most || len(picks) > 0 && bytes+k.bytes > maxPageBytes {
				return picks, true, nil
			}
			bytes += k.bytes
			picks = append(picks, k)
		}
	}
}

func (p *Projection) pickBelow(id protocol.ID, before, most int) (some []*pick, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	th := p.index.byID[id]
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

// pickAbove outlines the turns of a thread behind a number, the lowest first.
func (p *Projection) pickAbove(id protocol.ID, after, most int) (some []*pick) {
	p.mu.Lock()
	defer p.mu.Unlock()
	th := p.index.byID[id]
	if th == nil {
		return nil
	}
	for n := max(after+1, th.first); n <= th.last() && len(some) < most; n++ {
		some = append(some, th.outline(n))
	}
	return some
}

// History returns turns of a thread that the viewer may see: the newest limit
// of them below the number before (0: of all). A limit of 0 is DefaultPage,
// and MaxPage the highest. It ends earlier when the turns are very large. The
// error wraps [ErrUnknown], or is the log's.
func (p *Projection) History(ctx context.Context, thread protocol.ID, limit, before int, v Viewer) (*History, error) {
	if before < 0 || before == 1 {
		before = 1
	}
	picks, more, err := p.pickSome(thread, pageSize(limit), before, &v)
	if err != nil {
		return nil, err
	}
	if len(picks) == 0 && !p.anySeen(thread, &v) {
		return nil, fmt.Errorf("thread %s: %w", thread, ErrUnknown)
	}
	picks = p.fill(picks)
	if err := p.load(ctx, picks); err != nil {
		return nil, fmt.Errorf("read turns of thread %s: %w", thread, err)
	}
	h := &History{ThreadID: thread, SessionID: SessionID(p.opts.Space, thread), Turns: make([]TurnInfo, 0, len(picks)), HasMore: more}
	size := 0
	for _, k := range picks {
		shown := p.view(k, &v)
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
func (p *Projection) All(ctx context.Context, thread protocol.ID, v Viewer) iter.Seq2[*TurnInfo, error] {
	const step = 16
	return func(yield func(*TurnInfo, error) bool) {
		told := false
		for after := 0; ; {
			some := p.pickAbove(thread, after, step)
			if len(some) == 0 {
				break
			}
			after = some[len(some)-1].key.turn
			some = p.fill(slices.DeleteFunc(some, func(k *pick) bool { return !v.sees(k.entry) }))
			for _, k := range some {
				if err := p.load(ctx, []*pick{k}); err != nil {
					yield(nil, fmt.Errorf("read turn %d of thread %s: %w", k.key.turn, thread, err))
					return
				}
				if shown := p.view(k, &v); shown != nil {
					info := shown.show(&v)
					if told = true; !yield(&info, nil) {
						return
					}
				}
			}
		}
		if !told && !p.anySeen(thread, &v) {
			yield(nil, fmt.Errorf("thread %s: %w", thread, ErrUnknown))
		}
	}
}

// anySeen reports whether the viewer sees any turn of a thread: who sees none
// is not told that there is one.
func (p *Projection) anySeen(id protocol.ID, v *Viewer) bool {
	picks, _, err := p.pickSome(id, 1, 0, v)
	return err == nil && len(picks) > 0
}

// Turn returns one turn of a thread. The error wraps [ErrUnknown], or is the
// log's.
func (p *Projection) Turn(ctx context.Context, thread protocol.ID, number int, v Viewer) (TurnInfo, error) {
	unknown := fmt.Errorf("turn %d of thread %s: %w", number, thread, ErrUnknown)
	some := p.pickAbove(thread, number-1, 1)
	if len(some) == 0 || some[0].key.turn != number || !v.sees(some[0].entry) {
		return TurnInfo{}, unknown
	}
	if some = p.fill(some); len(some) == 0 {
		return TurnInfo{}, unknown
	}
	k := some[0]
	if err := p.load(ctx, some); err != nil {
		return TurnInfo{}, fmt.Errorf("read turn %d of thread %s: %w", number, thread, err)
	}
	shown := p.view(k, &v)
	if shown == nil {
		return TurnInfo{}, unknown
	}
	return shown.show(&v), nil
}

// view reads a turn as the viewer sees it; nil if it does not see the chat.
// What everything together looks like is kept for the next one who asks.
func (p *Projection) view(k *pick, v *Viewer) *view {
	visible := seen(k.items, v)
	if len(visible) == 0 || visible[0].env().Seq != k.entry.Envelope.Seq {
		return nil
	}
	if len(visible) < len(k.items) {
		return read(visible).render(k.key, k.truncated)
	}
	if k.shown == nil {
		k.shown = read(visible).render(k.key, k.truncated)
		p.keepView(k)
	}
	return k.shown
}

func (p *Projection) keepView(k *pick) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := k.tu.warm; w != nil && len(w.items) == len(k.items) && k.tu.truncated == k.truncated {
		w.shown, w.shownItems = k.shown, len(k.items)
		p.cache.charge(w, k.shown.bytes)
		p.shrink()
	}
}

// seen are the items that a viewer may see: the same slice, if it is all.
func seen(items []*item, v *Viewer) []*item {
	if v.Sees == nil {
		return items
	}
	for i, it := range items {
		if v.Sees(&it.entry) {
			continue
		}
		some := append(make([]*item, 0, len(items)), items[:i]...)
		for _, it := range items[i+1:] {
			if v.Sees(&it.entry) {
				some = append(some, it)
			}
		}
		return some
	}
	return items
}
