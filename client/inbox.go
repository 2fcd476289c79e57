package client

import (
	"sync/atomic"

	"github.com/meup-protocol/meup/protocol"
)

// inbox holds what was received and not yet taken: bounded in number and in
// bytes. The connection's reader alone puts in; anybody may take.
type inbox struct {
	items    chan item // has room for maxCount, and a welcome
	maxCount int
	maxBytes int64
	bytes    atomic.Int64
	// welcomes is 1 while one is among the items that takes up no room. A
	// buffer for one envelope would else be full with the welcome of every
	// connection that is opened for want of room, and nothing else come through.
	welcomes atomic.Int64

	// skipping: the reader threw away an envelope that found no room, so that
	// what comes next must be asked for again once all is taken.
	skipping atomic.Bool
	// taken wakes the reader, drained the one who tends the connection.
	taken, drained chan struct{}
}

type item struct {
	env  protocol.Envelope
	err  error
	size int64
	free bool // a welcome that takes up no room
}

func newInbox(count int, maxBytes int64) *inbox {
	return &inbox{
		items:    make(chan item, count+1),
		maxCount: count,
		maxBytes: maxBytes,
		taken:    make(chan struct{}, 1),
		drained:  make(chan struct{}, 1),
	}
}

// put adds an item, or reports that there is no room.
func (b *inbox) put(it item) bool {
	if !b.hasRoom() {
		return false
	}
	b.bytes.Add(it.size)
	b.items <- it // cannot block: nobody else puts in
	return true
}

// putWelcome adds a welcome. One finds room always, the next ones as others do.
func (b *inbox) putWelcome(it item) bool {
	if b.welcomes.Load() > 0 || len(b.items) == cap(b.items) {
		return b.put(it)
	}
	b.welcomes.Store(1)
	it.size, it.free = 0, true
	b.items <- it // cannot block: nobody else puts in
	return true
}

// hasRoom is for the reader: only itself can make it untrue again.
func (b *inbox) hasRoom() bool {
	n := len(b.items)
	return n < cap(b.items) && n-int(b.welcomes.Load()) < b.maxCount && b.bytes.Load() < b.maxBytes
}

func (b *inbox) empty() bool { return len(b.items) == 0 }

// skip notes that an envelope was thrown away.
func (b *inbox) skip() {
	b.skipping.Store(true)
	if b.empty() { // the last one was taken before the note could be seen
		wake(b.drained)
	}
}

// mustResume reports that everything kept was taken and something was thrown
// away behind it.
func (b *inbox) mustResume() bool { return b.skipping.Load() && b.empty() }

// took is called for every item that was taken out of items.
func (b *inbox) took(it item) {
	b.bytes.Add(-it.size)
	if it.free {
		b.welcomes.Store(0)
	}
	wake(b.taken)
	if b.mustResume() {
		wake(b.drained)
	}
}

// wake leaves one signal in a channel of capacity 1.
func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
