package ws

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/meup-protocol/meup/internal/frame"
)

// conn is the network connection under a WebSocket. The library reads from it
// and writes control frames to it; the member's writer puts whole frames
// between those.
type conn struct {
	net.Conn
	raw syscall.RawConn // nil where the kernel's socket is not at hand (TLS)

	lastRead atomic.Int64 // when the last bytes came from the peer: nanoseconds since epoch

	// Owned by the reader.
	br     *bufio.Reader // what the library reads from
	unread []byte        // read from the kernel, not yet by the library
	block  *[]byte       // borrowed while unread is part of it
	pong   func(payload []byte)
	// overhead is how many bytes have been read that are no content of a
	// message, less what was allowed of them since overheadAt.
	overhead   int
	overheadAt time.Duration

	mu      sync.Mutex  // one batch of frames, or one control frame, at a time
	said    bool        // the close frame has been written: nothing comes behind it
	until   time.Time   // the write deadline that was set last
	hurried atomic.Bool // the connection is to end: no write may take long
}

// epoch is where lastRead counts from. Times since then are monotonic: setting
// the machine's clock makes no connection look idle.
var epoch = time.Now()

// Sizes of what a connection holds: the library's own buffers are small, since
// an idle connection keeps them; a block is borrowed while there is data.
const (
	bufferBytes = 512
	blockBytes  = 32 << 10
)

var blocks = sync.Pool{New: func() any { b := make([]byte, blockBytes); return &b }}

func newConn(c net.Conn, leftover []byte) *conn {
	nc := &conn{Conn: c, unread: append([]byte(nil), leftover...), overheadAt: time.Since(epoch)}
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			nc.raw = raw
		}
	}
	nc.lastRead.Store(int64(time.Since(epoch)))
	return nc
}

// silence returns how long nothing has come from the peer; now is the time since
// epoch.
func (c *conn) silence(now time.Duration) time.Duration {
	return now - time.Duration(c.lastRead.Load())
}

// Bounds of what a peer may send in addition to content: control frames, the heads of
// frames. Small frames without content cost as much as messages, which are
// charged.
const (
	overheadPerSecond = 8 << 10   // bytes: over a thousand pings
	overheadBurst     = 128 << 10 // more than is ever read ahead of content
	frameHead         = 14        // bytes at most, which a message may have
)

var errOverhead = errors.New("too many control frames or fragments")

// Read gives the library what the peer has sent. All of it counts as overhead
// until content says which part of it was the content of a message.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	if c.overhead += n; c.overhead > overheadBurst && err == nil && c.exhausted() {
		return 0, errOverhead
	}
	return n, err
}

// exhausted takes what was allowed meanwhile off the overhead, and reports
// whether there is still too much.
func (c *conn) exhausted() bool {
	now := time.Since(epoch)
	allowed := (now - c.overheadAt).Seconds() * overheadPerSecond
	c.overhead -= int(min(allowed, float64(c.overhead)))
	c.overheadAt = now
	return c.overhead > overheadBurst
}

// content takes n bytes off the overhead.
func (c *conn) content(n int) { c.overhead -= min(n, c.overhead) }

// contentReader reads a message and notes how much of what was read is content.
type contentReader struct {
	message io.Reader
	conn    *conn
}

// Read reads so little at a time that what is read ahead fits the burst.
func (r *contentReader) Read(p []byte) (int, error) {
	n, err := r.message.Read(p[:min(len(p), blockBytes)])
	r.conn.content(n)
	return n, err
}

// read takes from what was read from the kernel in one block.
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

// fill waits until the kernel has data and takes a block of it. The block is
// borrowed only once there is something to put into it, so that a connection
// that waits holds none.
func (c *conn) fill() error {
	var n int
	var readErr error
	err := c.raw.Read(func(fd uintptr) bool {
		c.block = blocks.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
		for {
			n, readErr = syscall.Read(int(fd), *c.block)
			if !errors.Is(readErr, syscall.EINTR) {
				break
			}
		}
		if errors.Is(readErr, syscall.EAGAIN) {
			c.release()
			return false
		}
		return true
	})
	if err == nil && readErr != nil {
		err = os.NewSyscallError("read", readErr)
	}
	if err == nil && n <= 0 {
		err = io.EOF
	}
	if err != nil {
		c.release()
		return err
	}
	c.lastRead.Store(int64(time.Since(epoch)))
	c.unread = (*c.block)[:n]
	return nil
}

// pinged answers a ping through the member's writer: the library would write
// the pong from the reader, which must not wait for a peer that does not read.
// It reports whether the library is to answer after all.
func (c *conn) pinged(payload []byte) bool {
	if c.pong == nil {
		return true
	}
	c.pong(payload)
	return false
}

func (c *conn) release() {
	c.unread = nil
	if c.block != nil {
		blocks.Put(c.block)
		c.block = nil
	}
}

// Write sends a control frame of the library's.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said {
		return len(p), nil
	}
	c.said = frame.IsClose(p)
	return c.Conn.Write(p)
}

// writeFrames sends whole frames in one go. It gives up after patience, or
// soon when the connection is to end.
func (c *conn) writeFrames(frames net.Buffers, patience time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.deadline(patience); err != nil {
		return err
	}
	if len(frames) == 1 {
		_, err := c.Conn.Write(frames[0])
		return err
	}
	if c.raw == nil {
		_, err := c.Conn.Write(concat(frames))
		return err
	}
	_, err := frames.WriteTo(c.Conn)
	return err
}

// writeClose says that the connection is to end. The reader goes on until the
// peer has said so too, or has had time enough to: the library's own close
// would read beside it. What the library still wants to write is dropped.
func (c *conn) writeClose(code int, reason string) {
	c.hurry()
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if !c.said {
		_, err = c.Conn.Write(frame.AppendClose(nil, code, reason))
		c.said = true
	}
	patience := closePatience
	if err != nil {
		patience = 0
	}
	_ = c.SetReadDeadline(time.Now().Add(patience)) // a closed connection is as good
}

// linger reads on for a moment after a close frame, and discards what comes:
// closing the connection with data unread would discard the close frame at the
// peer. A peer that sends on regardless is cut after lingerBytes.
func (c *conn) linger() {
	_ = c.SetReadDeadline(time.Now().Add(hurryTimeout)) // it can only be closed already
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
}

// lingerBytes is more than the network and a too long message have under way.
const lingerBytes = 32 << 20

// closePatience is how long the peer has for its part of the close handshake.
const closePatience = 3 * time.Second

// deadline bounds the next write. A deadline that was set a moment ago serves
// again: setting one for every batch costs more than it is worth.
func (c *conn) deadline(patience time.Duration) error {
	now := time.Now()
	if c.until.Sub(now) < patience-deadlineSlack {
		if err := c.SetWriteDeadline(now.Add(patience)); err != nil {
			return err
		}
		c.until = now.Add(patience)
	}
	if c.hurried.Load() {
		c.hurry()
	}
	return nil
}

const deadlineSlack = time.Second

// hurryTimeout is how long a write may still take when the connection is to
// end.
const hurryTimeout = 2 * time.Second

// hurry lets no write take long any more: one that hangs on a peer that does
// not read comes back soon.
func (c *conn) hurry() {
	c.hurried.Store(true)
	_ = c.SetWriteDeadline(time.Now().Add(hurryTimeout)) // a closed connection is as good
}

func concat(frames net.Buffers) []byte {
	n := 0
	for _, f := range frames {
		n += len(f)
	}
	out := make([]byte, 0, n)
	for _, f := range frames {
		out = append(out, f...)
	}
	return out
}

// frameWaits reports whether the next frame has been read from the kernel
// whole, so that reading it cannot block. It is how the reader knows what
// belongs to one burst.
func (c *conn) frameWaits() bool {
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
		return false // behind a control frame or a fragment there may be nothing yet
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

// hijacker hands the library our conn in the place of the server's.
type hijacker struct {
	http.ResponseWriter
	conn *conn
}

// Hijack takes the connection from the HTTP server, with what the server has
// read of it already.
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
