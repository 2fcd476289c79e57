package turns

import (
	"container/list"
	"slices"
)

// contents are the items of a turn, in memory.
type contents struct {
	turn    *turn
	items   []*item // grows at its end alone, so that prefixes can be shared
	live    *builder
	bytes   int
	element *list.Element // nil: no longer in the cache

	// shown is the whole turn as shown to a viewer that sees all of its first
	// shownItems items; nil until the first request.
	shown      *view
	shownItems int
}

// snapshot returns the items of this moment.
func (c *contents) snapshot() []*item { return slices.Clip(c.items) }

// cache holds contents of turns, those used last at the front.
type cache struct {
	max, bytes int // max < 0: nothing is held
	used       *list.List
}

func newCache(most int) cache { return cache{max: most, used: list.New()} }

// contentsCost is the memory of contents without their items, in bytes, about.
const contentsCost = 1000

// put adds the contents of a turn.
func (c *cache) put(tu *turn, items []*item, live *builder) {
	if c.max < 0 {
		return
	}
	held := &contents{turn: tu, items: slices.Clip(items), live: live}
	held.element = c.used.PushFront(held)
	tu.contents = held
	c.charge(held, contentsCost)
	for _, it := range items {
		c.charge(held, it.weight)
	}
}

// add adds an item and returns the strand whose step it ends, if it ends one.
func (c *cache) add(held *contents, it *item) *contextState {
	held.items = append(held.items, it)
	c.charge(held, it.weight)
	c.touch(held)
	ended := held.live.add(it)
	if ended == nil || !held.live.isAgent(ended.from) {
		return nil
	}
	return ended
}

// show keeps the view of a turn as it is now, in place of the one before.
func (c *cache) show(held *contents, v *view) {
	if held.shown != nil {
		c.charge(held, -held.shown.bytes)
	}
	held.shown, held.shownItems = v, len(held.items)
	c.charge(held, v.bytes)
}

func (c *cache) charge(held *contents, bytes int) {
	held.bytes += bytes
	c.bytes += bytes
}

func (c *cache) touch(held *contents) {
	if held.element != nil {
		c.used.MoveToFront(held.element)
	}
}

func (c *cache) remove(held *contents) {
	if held.element == nil {
		return
	}
	c.used.Remove(held.element)
	held.element, held.turn.contents = nil, nil
	c.bytes -= held.bytes
}

// evictCandidate returns the contents that were not used for longest. Among the
// last few, turns without open work come first: their steps are known.
func (c *cache) evictCandidate() *contents {
	last := c.used.Back()
	for at, n := last, 0; at != nil && n < 16; at, n = at.Prev(), n+1 {
		if held := at.Value.(*contents); !held.live.isOpen() { //nolint:forcetypeassert // the list holds nothing else
			return held
		}
	}
	return last.Value.(*contents) //nolint:forcetypeassert // the list holds nothing else
}
