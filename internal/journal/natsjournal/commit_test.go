package natsjournal

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
)

// committerOf makes a committer that collects what it launches.
func committerOf() (*committer, *[]*flight) {
	var launched []*flight
	id := 0
	c := newCommitter(func(f *flight) { launched = append(launched, f) },
		func() string { id++; return fmt.Sprint(id) }, func() int { return 1000 })
	return c, &launched
}

func unitOf(space string, drafts, bytes int, state bool) *unit {
	return &unit{space: space, count: drafts, data: make([]byte, bytes), state: state, answer: make(chan []journal.Result, 1)}
}

func TestGroupCommit(t *testing.T) {
	c, launched := committerOf()
	for range maxSpaceBlocks {
		c.submit(unitOf("a", 1, 10, false))
	}
	// These wait and go together, as far as they fit.
	for range 3 {
		c.submit(unitOf("a", 1, 400, false))
	}
	c.submit(unitOf("a", 1, 10, true)) // alone
	c.submit(unitOf("a", seqsPerBlock, 10, false))
	c.submit(unitOf("a", 1, 10, false)) // no more room for it
	c.submit(unitOf("b", 1, 10, false)) // another space need not wait
	if n := len(*launched); n != maxSpaceBlocks+1 {
		t.Fatalf("%d blocks under way", n)
	}
	for i := 0; i < len(*launched); i++ {
		f := (*launched)[i]
		if c.take(f.id) == nil || c.take(f.id) != nil {
			t.Error("a block is taken once")
		}
		c.landed(f)
	}
	var got []string
	for _, f := range (*launched)[maxSpaceBlocks+1:] {
		got = append(got, fmt.Sprintf("%d %t", f.drafts, f.state))
	}
	want := []string{"2 false", "1 false", "1 true", "1024 false", "1 false"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("blocks %q, want %q", got, want)
	}
	if len(c.queues)+len(c.flights)+c.inFlight != 0 {
		t.Error("something is left behind")
	}
}

func TestBlocksUnderWayAreBounded(t *testing.T) {
	c, launched := committerOf()
	for i := range 3 * maxStreamBlocks {
		c.submit(unitOf(fmt.Sprint(i), 1, 10, false))
	}
	if n := len(*launched); n != maxStreamBlocks {
		t.Errorf("%d blocks under way", n)
	}
	for i := 0; i < len(*launched); i++ {
		c.landed((*launched)[i])
	}
	if n := len(*launched); n != 3*maxStreamBlocks || len(c.queues) > 0 {
		t.Errorf("%d blocks, %d queues left", n, len(c.queues))
	}
}

// What nobody waits for any more is not published.
func TestAbandonedUnits(t *testing.T) {
	c, launched := committerOf()
	for range maxSpaceBlocks {
		c.submit(unitOf("a", 1, 10, false))
	}
	gone, kept := unitOf("a", 1, 10, false), unitOf("a", 1, 10, false)
	c.submit(gone)
	c.submit(kept)
	gone.gone.Store(true)
	for i := 0; i < len(*launched); i++ {
		c.landed((*launched)[i])
	}
	last := (*launched)[len(*launched)-1]
	if len(*launched) != maxSpaceBlocks+1 || len(last.units) != 1 || last.units[0] != kept {
		t.Errorf("published: %+v", last.units)
	}
	if len(c.queues) > 0 {
		t.Error("a queue is left behind")
	}
}
