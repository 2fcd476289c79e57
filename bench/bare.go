package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
)

// runBare runs the broadcaster. It prints its address. ringSize is the number of blocks
// that it keeps of each room.
func runBare(ringSize string) error {
	n, err := strconv.Atoi(ringSize)
	if err != nil || n < 1 {
		return fmt.Errorf("%s is not a number of blocks", ringSize)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "{\"msg\":\"serving\",\"address\":%q}\n", l.Addr())
	return newBroadcaster(n).serve(l)
}

// broadcaster forwards the frames of a room to all its connections, and does
// nothing else: the minimum that any server must do.
type broadcaster struct {
	ringSize int

	mu    sync.Mutex
	rooms map[string]*room
}

// room is a ring of blocks. A block holds the frames of one read from a
// sender's socket, in their outgoing form.
type room struct {
	mu     sync.Mutex
	more   *sync.Cond
	blocks [][]byte // circular
	next   int      // position after the newest block
}

func newBroadcaster(ringSize int) *broadcaster {
	return &broadcaster{ringSize: ringSize, rooms: make(map[string]*room)}
}

func (b *broadcaster) serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go b.attend(c) // ends with its connection
	}
}

func (b *broadcaster) room(name string) *room {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rooms[name]
	if r == nil {
		r = &room{blocks: make([][]byte, b.ringSize)}
		r.more = sync.NewCond(&r.mu)
		b.rooms[name] = r
	}
	return r
}

func (b *broadcaster) attend(c net.Conn) {
	defer c.Close() //nolint:errcheck // nothing to be done
	head := bufio.NewReaderSize(c, 4<<10)
	request, err := http.ReadRequest(head)
	if err != nil {
		return
	}
	query := request.URL.Query()
	r := b.room(query.Get("space"))
	welcome := append([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), textFrame, 2, '{', '}')
	if _, err := c.Write(welcome); err != nil {
		return
	}
	done := make(chan struct{})
	gone := false // under r.mu
	go func() {   // ends when the connection does
		defer close(done)
		r.deliver(c, query.Has("since"), &gone)
	}()
	left, _ := head.Peek(head.Buffered())
	r.read(c, append([]byte(nil), left...))
	_ = c.Close()
	r.mu.Lock()
	gone = true
	r.mu.Unlock()
	r.more.Broadcast()
	<-done
}

// read reads a sender's frames, a block at a time. begun holds the bytes that
// were read already.
func (r *room) read(c net.Conn, begun []byte) {
	in := append(make([]byte, 0, 4<<10), begun...)
	for {
		out, used := serverFrames(in)
		if len(out) > 0 {
			r.put(out)
		}
		full := len(in) == cap(in) && cap(in) < 64<<10
		in = append(in[:0], in[used:]...)
		if full || len(in) == cap(in) {
			in = slices.Grow(in, 2*cap(in))
		}
		n, err := c.Read(in[len(in):cap(in)])
		if err != nil {
			return
		}
		in = in[:len(in)+n]
	}
}

func (r *room) put(block []byte) {
	r.mu.Lock()
	r.blocks[r.next%len(r.blocks)] = block
	r.next++
	r.mu.Unlock()
	r.more.Broadcast()
}

// deliver writes all available blocks at once, until the connection fails or is
// gone. A receiver that lags by more than the ring is disconnected.
func (r *room) deliver(c net.Conn, fromOldest bool, gone *bool) {
	var out net.Buffers
	r.mu.Lock()
	pos := r.next
	r.mu.Unlock()
	if fromOldest {
		pos = max(0, pos-len(r.blocks))
	}
	for {
		r.mu.Lock()
		for pos == r.next && !*gone {
			r.more.Wait()
		}
		if *gone || r.next-pos > len(r.blocks) {
			r.mu.Unlock()
			_ = c.Close()
			return
		}
		out = out[:0]
		for ; pos < r.next && len(out) < 1024; pos++ {
			out = append(out, r.blocks[pos%len(r.blocks)])
		}
		r.mu.Unlock()
		send := out // WriteTo consumes its receiver
		if _, err := send.WriteTo(c); err != nil {
			return
		}
	}
}

// serverFrames converts the complete masked frames at the front of in to
// unmasked ones, and returns the number of bytes that they occupied.
func serverFrames(in []byte) (out []byte, used int) {
	for {
		b := in[used:]
		size := wholeFrame(b)
		if size == 0 || len(b) < size+4 {
			return out, used
		}
		head := headerSize(b)
		mask := b[head : head+4]
		if out == nil {
			out = make([]byte, 0, len(in))
		}
		out = append(out, b[0], b[1]&0x7f)
		out = append(out, b[2:head]...)
		at := len(out)
		out = append(out, b[head+4:size+4]...)
		unmask(out[at:], mask)
		used += size + 4
	}
}

// unmask removes the mask, eight bytes at a time.
func unmask(b, mask []byte) {
	word := binary.LittleEndian.Uint32(mask)
	double := uint64(word) | uint64(word)<<32
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^double)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= mask[i%4]
	}
}
