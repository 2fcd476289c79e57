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
	element *list.Element

	// shown is the whole turn as shown to a viewer that sees all of its first
	// shownItems items; nil until the first request.
	shown      *view
	shownItems int
}

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

func (c *cache) remove(held *contents) {
	c.used.Remove(held.element)
	held.turn.contents = nil
	c.bytes -= held.bytes
}

// evict removes the contents that were not used for longest.
func (c *cache) evict() {
	c.remove(c.used.Back().Value.(*contents)) //nolint:forcetypeassert // the list has no other values
}
