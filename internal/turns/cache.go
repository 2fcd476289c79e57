package turns

import (
	"container/list"
	"slices"
)

// warm is a turn or a job with its contents in memory.
type warm struct {
	turn *turn // one of the two
	job  *job

	items []*item // grows at its end alone, so that parts of it can be shared
	live  *reading
	bytes int
	place *list.Element

	// shown is the whole turn as it is for who sees all of it, with the first
	// shownItems items; nil until somebody has asked.
	shown      *view
	shownItems int
	shownBytes int // that it is charged with
}

// snapshot is what is there now.
func (w *warm) snapshot() []*item { return slices.Clip(w.items) }

// cache holds contents, those used last at the front.
type cache struct {
	max, bytes int
	used       *list.List // of *warm
}

func newCache(most int) cache { return cache{max: most, used: list.New()} }

// warmCost is what a warm turn takes besides its items, in bytes, about.
const warmCost = 1000

func (c *cache) put(w *warm) {
	w.place = c.used.PushFront(w)
	w.bytes = warmCost
	c.bytes += warmCost
}

// add adds an item and returns the strand of thought whose step is over by it.
func (c *cache) add(w *warm, it *item, weight int) *strand {
	w.items = append(w.items, it)
	w.bytes += weight
	c.bytes += weight
	c.touch(w)
	ended := w.live.add(it)
	if ended == nil || !w.live.isAgent(ended.from) {
		return nil
	}
	return ended
}

// charge notes what the view of a turn takes, in the place of the one before.
func (c *cache) charge(w *warm, bytes int) {
	if w.place == nil {
		return
	}
	w.bytes += bytes - w.shownBytes
	c.bytes += bytes - w.shownBytes
	w.shownBytes = bytes
}

func (c *cache) touch(w *warm) {
	if w.place != nil {
		c.used.MoveToFront(w.place)
	}
}

func (c *cache) remove(w *warm) {
	if w.place == nil {
		return
	}
	c.used.Remove(w.place)
	w.place = nil
	c.bytes -= w.bytes
	if w.turn != nil {
		w.turn.warm = nil
	}
}

// victim is what was not used for longest. Among the last few, what is over
// comes before what is still going on.
func (c *cache) victim() *warm {
	last := c.used.Back()
	for at, n := last, 0; at != nil && n < 16; at, n = at.Prev(), n+1 {
		if w, ok := at.Value.(*warm); ok && !w.live.going() {
			return w
		}
	}
	w, ok := last.Value.(*warm)
	if !ok {
		panic("turns: the cache holds something else")
	}
	return w
}
