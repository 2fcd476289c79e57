package natsjournal

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/block"
)

// committerOf returns a committer that collects the blocks it publishes.
func committerOf() (*committer, *[]*inflight) {
	var launched []*inflight
	id := 0
	c := newCommitter(func(f *inflight) { launched = append(launched, f) },
		func() string { id++; return fmt.Sprint(id) }, func() int { return 1000 })
	return c, &launched
}

func requestOf(space string, drafts, bytes int, state bool) *request {
	return &request{space: space, count: drafts, data: make([]byte, bytes), state: state, answer: make(chan []journal.Result, 1)}
}

func TestGroupCommit(t *testing.T) {
	c, launched := committerOf()
	for range maxSpaceBlocks {
		c.submit(requestOf("a", 1, 10, false))
	}
	// These requests wait and share a block, up to the bounds.
	for range 3 {
		c.submit(requestOf("a", 1, 400, false))
	}
	c.submit(requestOf("a", 1, 10, true)) // alone
	c.submit(requestOf("a", block.MaxDrafts, 10, false))
	c.submit(requestOf("a", 1, 10, false)) // does not fit into the block
	c.submit(requestOf("b", 1, 10, false)) // another space does not wait
	if n := len(*launched); n != maxSpaceBlocks+1 {
		t.Fatalf("%d blocks under way", n)
	}
	for i := 0; i < len(*launched); i++ {
		f := (*launched)[i]
		if c.remove(f.id) == nil || c.remove(f.id) != nil {
			t.Error("a block is taken once")
		}
		c.onPublished(f)
	}
	var got []string
	for _, f := range (*launched)[maxSpaceBlocks+1:] {
		got = append(got, fmt.Sprintf("%d %t", f.drafts, f.state))
	}
	want := []string{"2 false", "1 false", "1 true", "1024 false", "1 false"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("blocks %q, want %q", got, want)
	}
	if len(c.queues)+len(c.inflights)+c.inFlight != 0 {
		t.Error("something is left behind")
	}
}

func TestCommitter_Bounds(t *testing.T) {
	c, launched := committerOf()
	for i := range 3 * maxStreamBlocks {
		c.submit(requestOf(fmt.Sprint(i), 1, 10, false))
	}
	if n := len(*launched); n != maxStreamBlocks {
		t.Errorf("%d blocks under way", n)
	}
	for i := 0; i < len(*launched); i++ {
		c.onPublished((*launched)[i])
	}
	if n := len(*launched); n != 3*maxStreamBlocks || len(c.queues) > 0 {
		t.Errorf("%d blocks, %d queues left", n, len(c.queues))
	}
}

// A request whose caller gave up is withdrawn if it cannot have reached the
// stream, and leaves no state.
func TestCommitter_Abandon(t *testing.T) {
	t.Run("queued", func(t *testing.T) {
		c, launched := committerOf()
		for range maxSpaceBlocks {
			c.submit(requestOf("a", 1, 10, false))
		}
		gone, kept := requestOf("a", 1, 10, false), requestOf("a", 1, 10, false)
		c.submit(gone)
		c.submit(kept)
		if c.abandon(gone) != withdrawn {
			t.Error("a queued unit cannot be in the stream")
		}
		for i := 0; i < len(*launched); i++ {
			c.onPublished((*launched)[i])
		}
		last := (*launched)[len(*launched)-1]
		if len(*launched) != maxSpaceBlocks+1 || len(last.requests) != 1 || last.requests[0] != kept {
			t.Errorf("published: %+v", last.requests)
		}
		if len(c.queues) > 0 {
			t.Error("a queue is left behind")
		}
	})
	t.Run("queues of many spaces", func(t *testing.T) {
		c, launched := committerOf()
		var requests []*request
		for i := range 1000 {
			req := requestOf(fmt.Sprint(i), 1, 10, false)
			requests = append(requests, req)
			c.submit(req)
		}
		for _, req := range requests {
			c.abandon(req)
		}
		for i := 0; i < len(*launched); i++ {
			c.remove((*launched)[i].id)
			c.onPublished((*launched)[i])
		}
		if len(*launched) != maxStreamBlocks {
			t.Errorf("%d blocks for requests that were given up", len(*launched)-maxStreamBlocks)
		}
		if len(c.queues)+len(c.ready)+len(c.inflights)+c.inFlight > 0 {
			t.Errorf("%d queues, %d ready, %d flights are left", len(c.queues), len(c.ready), len(c.inflights))
		}
	})
	t.Run("under way", func(t *testing.T) {
		c, launched := committerOf()
		for range maxSpaceBlocks {
			c.submit(requestOf("a", 1, 10, false))
		}
		a, b := requestOf("a", 1, 10, false), requestOf("a", 1, 10, false)
		c.submit(a)
		c.submit(b)
		c.onPublished((*launched)[0])
		f := (*launched)[maxSpaceBlocks]
		if c.abandon(a) != withdrawn || len(f.requests) != 1 || f.drafts != 1 {
			t.Errorf("before anything is sent, a unit is withdrawn: %+v", f)
		}
		if c.beginSend(f, 1<<20) == nil || c.abandon(b) != maybePublished {
			t.Error("while it is sent, the outcome is unknown")
		}
		c.endSend(f, false)
		if c.abandon(b) != withdrawn {
			t.Error("after a refusal, it is not in the stream")
		}
		if c.beginSend(f, 1<<20) != nil {
			t.Error("a block without requests is sent")
		}
	})
}
