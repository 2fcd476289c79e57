package ws

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/meup-protocol/meup/internal/space/ring"
)

// conn is the network connection under a WebSocket. The library reads from it
// and writes control frames to it. The session's writer writes whole frames
// between them.
type conn struct {
	net.Conn
	raw syscall.RawConn // nil if there is no kernel socket (TLS), and on Windows

	lastRead atomic.Int64 // when the peer last sent bytes, in nanoseconds since epoch

	// Owned by the reader.
	br     *bufio.Reader // the library reads from it
	unread []byte        // read from the kernel, not yet by the library
	block  *[]byte       // borrowed while unread is part of it

	fromSocket      func(fd uintptr) bool // readAvailable, for RawConn.Read
	readErr         error                 // of readAvailable
	betweenMessages bool                  // the library waits for a message
	idle            bool                  // … and the last frame was a control frame, with nothing behind it
	pong            func(payload []byte)  // queues the answer to a ping; nil before the session starts
	// overhead is how many bytes were read that are not message content, less
	// the allowance since overheadAt.
	overhead   int
	overheadAt time.Duration

	mu        sync.Mutex  // held for the frames of one delivery, or one control frame
	closeSent bool        // the close frame was written; nothing may follow it
	expedited atomic.Bool // the connection is closing: writes have a short deadline
}

// epoch is the zero of lastRead. Times since epoch are monotonic, so that
// changing the system clock makes no connection look idle.
var epoch = time.Now()

// Buffer sizes per connection. The library's own buffers are small, since an
// idle connection retains them; a block is borrowed while there is data.
const (
	bufferBytes = 128
	blockBytes  = 32 << 10
)

var blocks = sync.Pool{New: func() any { b := make([]byte, blockBytes); return &b }}

func newConn(c net.Conn, leftover []byte) *conn {
	nc := &conn{Conn: c, raw: rawConn(c), unread: append([]byte(nil), leftover...), overheadAt: time.Since(epoch)}
	nc.fromSocket = nc.readAvailable
	nc.lastRead.Store(int64(time.Since(epoch)))
	return nc
}

// silence returns how long the peer has sent nothing; now is the time since
// epoch.
func (c *conn) silence(now time.Duration) time.Duration {
	return now - time.Duration(c.lastRead.Load())
}

// Bounds on bytes in addition to content: control frames and frame headers.
// Small frames without content cost as much as messages, which are charged.
const (
	overheadPerSecond = 8 << 10   // bytes: over a thousand pings
	overheadBurst     = 128 << 10 // more than is ever read ahead of content
	frameHead         = 14        // maximum bytes of a message's frame header
)

var errOverhead = errors.New("too many control frames or fragments")

// errIdle makes the library return when it would wait for the message after a control frame. It has read
// nothing of it, and can continue later.
var errIdle = errors.New("no message")

// controlRead is called by the library when it has read a ping or a pong.
func (c *conn) controlRead() { c.idle = c.raw != nil && c.betweenMessages && c.drained() }

// Read reads data from the peer for the library. All of it counts as overhead
// until content subtracts the content of messages. Overhead that exceeds the burst
// is compared with it again less the allowance since the last time.
func (c *conn) Read(p []byte) (int, error) {
	if c.idle {
		c.idle = false
		return 0, errIdle
	}
	n, err := c.read(p)
	c.overhead += n
	if c.overhead <= overheadBurst || err != nil {
		return n, err
	}
	now := time.Since(epoch)
	allowed := (now - c.overheadAt).Seconds() * overheadPerSecond
	c.overhead -= int(min(allowed, float64(c.overhead)))
	c.overheadAt = now
	if c.overhead > overheadBurst {
		return 0, errOverhead
	}
	return n, nil
}

// content subtracts n bytes of content from the overhead.
func (c *conn) content(n int) { c.overhead -= min(n, c.overhead) }

// contentReader reads a message and counts its content.
type contentReader struct {
	message io.Reader
	conn    *conn
}

// Read limits the size of a read, so that the bytes read ahead fit the burst.
func (r *contentReader) Read(p []byte) (int, error) {
	n, err := r.message.Read(p[:min(len(p), blockBytes)])
	r.conn.content(n)
	return n, err
}

// read copies bytes from the last block, and fills the block when it is empty.
func (c *conn) read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		if c.raw == nil {
			n, err := c.Conn.Read(p)
			c.lastRead.Store(int64(time.Since(epoch)))
			return n, err
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	if len(c.unread) == 0 {
		c.release()
	}
	return n, nil
}

// fill waits until the kernel has data and reads it into a block. It borrows
// the block only when data is available, so that an idle connection holds none.
func (c *conn) fill() error {
	err := c.raw.Read(c.fromSocket)
	if err == nil && c.readErr != nil {
		err = os.NewSyscallError("read", c.readErr)
	}
	if err == nil && len(c.unread) == 0 {
		err = io.EOF
	}
	if err != nil {
		c.release()
		return err
	}
	c.lastRead.Store(int64(time.Since(epoch)))
	return nil
}

// readAvailable reads what the kernel has. It returns false to make RawConn wait.
func (c *conn) readAvailable(fd uintptr) bool {
	c.block = blocks.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	n, err := readSocket(fd, *c.block)
	for errors.Is(err, syscall.EINTR) {
		n, err = readSocket(fd, *c.block)
	}
	c.unread, c.readErr = (*c.block)[:max(n, 0)], err
	if errors.Is(err, syscall.EAGAIN) {
		c.release()
		return false
	}
	return true
}

// drained reports whether everything that was read from the kernel has been read by the library.
func (c *conn) drained() bool { return len(c.unread) == 0 && c.br.Buffered() == 0 }

func (c *conn) release() {
	c.unread = nil
	if c.block != nil {
		blocks.Put(c.block)
		c.block = nil
	}
}

// Write sends a control frame of the library.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closeSent {
		return len(p), nil
	}
	c.closeSent = ring.IsCloseFrame(p)
	return c.Conn.Write(p)
}

// tryFrames sends the frames of b with one system call and without waiting. It reports whether
// all were written; if not, finishFrames is to be called, for the rest or for the error. If a part was written,
// the connection stays locked until then, since nothing may come between the two. It leaves everything if the
// connection is closing, since the deadline may have passed.
func (c *conn) tryFrames(b *writeBuffers) bool {
	if c.raw == nil || c.expedited.Load() || !c.mu.TryLock() {
		return false
	}
	if err := c.raw.Write(b.toSocket); err != nil {
		b.err = err
	}
	b.locked = b.err == nil && len(b.frames) > 0
	if !b.locked {
		c.mu.Unlock()
	}
	return b.err == nil && !b.locked
}

// finishFrames sends the frames that tryFrames has left. It waits while the socket takes none, for
// timeout, or for expediteTimeout if the connection is closing.
func (c *conn) finishFrames(b *writeBuffers, timeout time.Duration) error {
	if !b.locked {
		c.mu.Lock()
	}
	b.locked = false
	defer c.mu.Unlock()
	if b.err != nil || len(b.frames) == 0 {
		return b.err
	}
	if err := c.setWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	var err error
	switch {
	case len(b.frames) == 1:
		_, err = c.Conn.Write(b.frames[0])
	case c.raw == nil:
		_, err = c.Conn.Write(bytes.Join(b.frames, nil))
	default:
		_, err = b.frames.WriteTo(c.Conn)
	}
	return errors.Join(err, c.setWriteDeadline(time.Time{})) // one that has passed would fail the next tryFrames
}

// setWriteDeadline keeps the deadline short if the connection is closing.
func (c *conn) setWriteDeadline(t time.Time) error {
	err := c.SetWriteDeadline(t)
	if c.expedited.Load() {
		c.expediteClose()
	}
	return err
}

// writeClose sends the close frame. The reader continues until the peer has
// answered it or closeTimeout has passed; the library's own close would read
// concurrently. Later writes of the library are dropped.
func (c *conn) writeClose(code int, reason string) {
	c.expediteClose()
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if !c.closeSent {
		_, err = c.Conn.Write(ring.AppendCloseFrame(nil, code, reason))
		c.closeSent = true
	}
	timeout := closeTimeout
	if err != nil {
		timeout = 0
	}
	_ = c.SetReadDeadline(time.Now().Add(timeout)) // ignore the error: the connection can only be closed already
}

// lingerBytes is more than the data in flight together with a message that
// exceeds the limit.
const lingerBytes = 32 << 20

// closeTimeout is how long the peer has to answer a close frame.
const closeTimeout = 3 * time.Second

// expediteTimeout bounds a write when the connection is closing.
const expediteTimeout = 2 * time.Second

// expediteClose shortens the deadline of current and later writes, so that a write that
// blocks on a peer that does not read returns soon.
func (c *conn) expediteClose() {
	c.expedited.Store(true)
	_ = c.SetWriteDeadline(time.Now().Add(expediteTimeout)) // ignore the error: the connection can only be closed already
}

// frameBuffered reports whether the next frame was read from the kernel
// completely, so that reading it cannot block. The reader uses it to find the
// end of a burst.
func (c *conn) frameBuffered() bool {
	buffered, _ := c.br.Peek(c.br.Buffered())
	have := len(buffered) + len(c.unread)
	at := func(i int) byte {
		if i < len(buffered) {
			return buffered[i]
		}
		return c.unread[i-len(buffered)]
	}
	const finText, finBinary, lengthBits, mask = 0x81, 0x82, 0x7f, 4
	if have < 2 || at(0) != finText && at(0) != finBinary {
		return false // after a control frame or a fragment there may be no data yet
	}
	head, n := 2, int64(at(1)&lengthBits)
	extended := map[int64]int{126: 2, 127: 8}[n]
	if extended > 0 {
		if have < head+extended {
			return false
		}
		n = 0
		for i := range extended {
			n = n<<8 | int64(at(head+i))
		}
	}
	need := int64(head+extended+mask) + n
	return n >= 0 && need > 0 && int64(have) >= need
}

// hijacker replaces the server's connection by a conn for the library.
type hijacker struct {
	http.ResponseWriter
	conn *conn
}

// Hijack takes the connection from the HTTP server, with the bytes that the
// server has read from it already.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, brw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	leftover, _ := brw.Reader.Peek(brw.Reader.Buffered())
	h.conn = newConn(c, leftover)
	h.conn.br = bufio.NewReaderSize(h.conn, bufferBytes)
	return h.conn, bufio.NewReadWriter(h.conn.br, bufio.NewWriterSize(h.conn, bufferBytes)), nil
}
