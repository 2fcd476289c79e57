package ws

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// writers write to the sessions that were woken, in the order in which they were. They are at most as many goroutines
// as there are processors, and none while there is nothing to write. None of them waits for a peer or for the log: a
// session that has to wait gets a goroutine of its own until it sleeps again.
type writers struct {
	limit int

	mu          sync.Mutex
	first, last *session
	running     int
}

// add queues a session that was woken. It is not queued yet, and nothing else writes to it.
func (w *writers) add(x *session) {
	w.mu.Lock()
	if w.first == nil {
		w.first = x
	} else {
		w.last.next = x
	}
	w.last = x
	start := w.running < w.limit
	if start {
		w.running++
	}
	w.mu.Unlock()
	if start {
		go w.run() // ends when the queue is empty
	}
}

// take returns the next session; nil: there is none, and the goroutine ends.
func (w *writers) take() *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.first
	if x == nil {
		w.running--
		return nil
	}
	w.first, x.next = x.next, nil
	if w.first == nil {
		w.last = nil
	}
	return x
}

// sessionsPerYield is how many sessions a writer serves before it lets other goroutines run: the
// scheduler would interrupt it after 10 ms only.
const sessionsPerYield = 8

// run serves the sessions until there is none.
func (w *writers) run() {
	b := newWriteBuffers()
	for i := 1; ; i++ {
		x := w.take()
		if x == nil {
			b.free()
			return
		}
		if !w.serve(x, b) {
			go x.writeAlone(b) // ends when the member sleeps, with its close, or when a write fails
			b = newWriteBuffers()
		}
		if i%sessionsPerYield == 0 {
			runtime.Gosched()
		}
	}
}

// serve writes one delivery of a session; false: the rest, which is in b, or what follows may have to wait.
func (w *writers) serve(x *session, b *writeBuffers) bool {
	switch x.member.Poll(context.Background(), &b.d, false) {
	case space.Asleep: // the member calls add when it is woken
		return true
	case space.NeedsRead:
		return false
	case space.Ready:
	}
	b.gather(x.member.CurrentDialect())
	if b.d.Close != nil || len(b.frames) > 0 && !x.conn.tryFrames(b) {
		return false
	}
	x.delivered(b)
	if !x.member.Sleep() {
		w.add(x) // behind the others, so that what comes meanwhile goes out together
	}
	return true
}

// writeAlone writes what serve has left in b, and continues until the member sleeps or the connection ends.
func (s *session) writeAlone(b *writeBuffers) {
	defer b.free()
	for {
		if err := s.conn.finishFrames(b, s.server.options.IdleTimeout); err != nil {
			_ = s.ws.CloseNow() // the reader fails then
			s.member.MarkClosed()
			return
		}
		s.delivered(b)
		if end := b.d.Close; end != nil {
			s.conn.writeClose(end.Code, truncate(end.Reason))
			s.member.Space().Leave(s.member) // without waiting for the peer's close
			s.member.MarkClosed()
			return
		}
		if s.member.Sleep() || s.member.Poll(context.Background(), &b.d, true) == space.Asleep {
			return
		}
		b.gather(s.member.CurrentDialect())
	}
}

// delivered counts what was written.
func (s *session) delivered(b *writeBuffers) {
	if n := len(b.d.Entries); n > 0 {
		s.server.options.Observer.Delivered(n, time.Since(b.d.Entries[n-1].Envelope.TS))
	}
}

// writeBuffers are the frames of the delivery that a goroutine writes, and their space, which it uses again for
// the next one.
type writeBuffers struct {
	d      space.Delivery
	list   net.Buffers // the space of frames
	frames net.Buffers // what is left to write

	toSocket func(fd uintptr) bool // write, for RawConn.Write
	locked   bool                  // of the conn: a part of the frames was written
	err      error                 // of tryFrames
}

var writeBuffersPool = sync.Pool{New: func() any {
	b := new(writeBuffers)
	b.toSocket = b.write
	return b
}}

func newWriteBuffers() *writeBuffers { return writeBuffersPool.Get().(*writeBuffers) } //nolint:forcetypeassert // the pool holds nothing else

func (b *writeBuffers) free() {
	b.d.Release()
	clear(b.list)
	b.frames, b.locked, b.err = nil, false, nil
	writeBuffersPool.Put(b)
}

// write writes what the socket takes without waiting; it never asks RawConn to wait.
func (b *writeBuffers) write(fd uintptr) bool {
	n, err := writeSocket(fd, b.frames)
	for errors.Is(err, syscall.EINTR) {
		n, err = writeSocket(fd, b.frames)
	}
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		b.err = err
		return true
	}
	for n > 0 {
		part := min(n, len(b.frames[0]))
		b.frames[0] = b.frames[0][part:]
		n -= part
		if len(b.frames[0]) == 0 {
			b.frames = b.frames[1:]
		}
	}
	return true
}

// gather makes the frames of the delivery the ones to write.
func (b *writeBuffers) gather(dialect protocol.Dialect) {
	clear(b.list)
	b.list = gather(b.list[:0], &b.d, dialect)
	b.frames = b.list
}

// gather lists the frames of a delivery and joins frames that are adjacent in
// memory.
func gather(dst net.Buffers, d *space.Delivery, dialect protocol.Dialect) net.Buffers {
	if len(d.Control) > 0 {
		dst = append(dst, d.Control)
	}
	for _, e := range d.Entries {
		f := e.Frame(dialect)
		if n := len(dst) - 1; n >= 0 && adjacent(dst[n], f) {
			dst[n] = dst[n][:len(dst[n])+len(f)]
			continue
		}
		dst = append(dst, f)
	}
	return dst
}

// adjacent reports whether b starts in memory where a ends, within the capacity
// of a.
func adjacent(a, b []byte) bool {
	return len(a) > 0 && len(b) > 0 && cap(a)-len(a) >= len(b) && &a[:len(a)+1][len(a)] == &b[0]
}
