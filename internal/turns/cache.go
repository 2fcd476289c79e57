package turns

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// contents are the items of a turn, in memory.
type contents struct {
	turn    *turn
	items   []*reduce.Item // grows at its end alone, so that prefixes can be shared
	live    *reduce.Builder
	bytes   int
	element *list.Element

	// shown is the whole turn as shown to a viewer that sees all of its first
	// shownItems items; nil until the first request.
	shown      *reduce.View
	shownItems int
}

// cache holds contents of turns, those used last at the front.
type cache struct {
	max, bytes int // max < 0: nothing is held
	used       *list.List
}

// contentsCost is the memory of contents without their items, in bytes, about.
const contentsCost = 1000

// put adds the contents of a turn.
func (c *cache) put(tu *turn, items []*reduce.Item, live *reduce.Builder) {
	if c.max < 0 {
		return
	}
	held := &contents{turn: tu, items: slices.Clip(items), live: live}
	held.element = c.used.PushFront(held)
	tu.contents = held
	c.charge(held, contentsCost)
	for _, it := range items {
		c.charge(held, it.Weight)
	}
}

// show keeps the view of a turn as it is now, in place of the one before.
func (c *cache) show(held *contents, v *reduce.View) {
	if held.shown != nil {
		c.charge(held, -held.shown.Bytes)
	}
	held.shown, held.shownItems = v, len(held.items)
	c.charge(held, v.Bytes)
}

func (c *cache) charge(held *contents, bytes int) {
	held.bytes += bytes
	c.bytes += bytes
}

func (c *cache) remove(held *contents) {
	c.used.Remove(held.element)
	held.turn.contents = nil
	c.bytes -= held.bytes
}

// evict removes the contents that were not used for longest.
func (c *cache) evict() {
	c.remove(c.used.Back().Value.(*contents)) //nolint:forcetypeassert // the list has no other values
}

var errNoReader = errors.New("the tracker has no log to read from")

// maxGap is the distance of two entries up to which the log is read through from
// one to the other, rather than twice.
const maxGap = 128

// wanted is an entry that a reference needs.
type wanted struct {
	seq protocol.Seq
	by  *turnRef
}

// load returns the references whose turns the index still has, with their items:
// from the cache, else from the log.
func (t *Tracker) load(ctx context.Context, refs []*turnRef) ([]*turnRef, error) {
	refs, cold := t.loadCached(refs)
	if err := t.Err(); err != nil {
		return nil, err
	}
	if err := t.read(ctx, cold); err != nil {
		return nil, fmt.Errorf("read the turns of session %s: %w", cold[0].key.Session, err)
	}
	for _, r := range cold {
		t.keep(r)
	}
	return refs, nil
}

// loadCached leaves out the references whose turns the index has dropped, and
// also returns the ones that are not cached.
func (t *Tracker) loadCached(refs []*turnRef) (kept, cold []*turnRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	for _, r := range refs {
		r.tu = t.index.turnAt(r.at)
		if r.tu == nil {
			continue
		}
		kept = append(kept, r)
		r.truncated = r.tu.truncated
		held := r.tu.contents
		if held == nil {
			r.seqs = r.tu.seqs()
			cold = append(cold, r)
			continue
		}
		t.cache.used.MoveToFront(held.element)
		r.items = slices.Clip(held.items)
		if held.shownItems == len(held.items) {
			r.shown = held.shown
		}
	}
	return kept, cold
}

// read reads the items of references from the log. Entries that the log no
// longer has are left out.
func (t *Tracker) read(ctx context.Context, refs []*turnRef) error {
	var list []wanted
	for _, r := range refs {
		for _, seq := range r.seqs {
			list = append(list, wanted{seq, r})
		}
	}
	if t.opts.Reader == nil && len(list) > 0 {
		return errNoReader
	}
	slices.SortFunc(list, func(a, b wanted) int { return cmp.Compare(a.seq, b.seq) })
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].seq-list[n-1].seq <= maxGap {
			n++
		}
		if err := t.readRange(ctx, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// readRange reads entries that are close together.
func (t *Tracker) readRange(ctx context.Context, list []wanted) error {
	for e, err := range t.opts.Reader.Range(ctx, list[0].seq, list[len(list)-1].seq) {
		if err != nil {
			return err
		}
		if e.Envelope == nil {
			continue
		}
		for len(list) > 0 && list[0].seq < e.Envelope.Seq {
			list = list[1:]
		}
		if len(list) > 0 && list[0].seq == e.Envelope.Seq {
			list[0].by.items = append(list[0].by.items, reduce.NewItem(&e))
		}
	}
	return ctx.Err()
}

// keep caches a turn that was read, if it is still the same.
func (t *Tracker) keep(r *turnRef) {
	live := reduce.Build(r.items)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	r.tu = t.index.turnAt(r.at)
	if r.tu == nil || r.tu.contents != nil || r.tu.items != len(r.items) {
		return
	}
	t.cache.put(r.tu, r.items, live)
}
