package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of a connection.
const (
	maxLine     = 8 << 20 // bytes of one message
	maxGarbage  = 1000    // lines in a row that are no messages, such as the log of a package manager
	maxQueued   = 256     // notifications that wait
	maxInFlight = 64      // requests of the peer in progress
	maxUnread   = 64      // messages to the peer whose senders no longer wait, because it does not read
)

// Errors of a connection that was ended because of its peer.
var (
	errTooLong = errors.New("a message is longer than 8 MiB")
	errGarbage = errors.New("the output is not the Agent Client Protocol")
	ErrEnded   = errors.New("the connection has ended")
	ErrUnread  = errors.New("the program does not read its messages; start it again")
)

// Codes of JSON-RPC errors.
const (
	CodeNoSuchMethod  = -32601
	codeInvalidParams = -32602
	codeInternal      = -32603
	CodeAuthRequired  = -32000
)

// Error is an error of JSON-RPC.
type Error = acp.RequestError

// NewError returns an error of JSON-RPC.
func NewError(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Handler handles a request or a notification of the peer. Notifications are handled
// one after the other, requests concurrently, each after the notifications that were
// received before it. The result of a notification is ignored. ctx ends with the
// connection, and that of a request when the peer cancels it.
type Handler func(ctx context.Context, method string, params json.RawMessage) (any, error)

// Conn is a connection over the input and output of a program: JSON-RPC 2.0, one message
// per line.
//
// The protocol library reads and correlates the messages. Conn gives it bounds: the length
// of a line, the lines that are no messages, the notifications that wait, and the requests
// of the peer in progress. (The connection of coder/acp-go-sdk closes when its peer is 1,024
// notifications ahead, and hands requests over before the notifications that precede them.)
// A peer that sends faster than they are handled is not read until they are.
type Conn struct {
	rpc    *acp.Connection
	in     *lines
	handle Handler
	log    *slog.Logger
	unread atomic.Int64 // calls of send that have returned and whose message is not written
}

// NewConn returns a connection that reads from and writes to a peer, from Start on. It ends
// with the input. log gets the peer's faults, without its texts.
func NewConn(r io.Reader, w io.Writer, log *slog.Logger, handle Handler) *Conn {
	in := &lines{in: bufio.NewReaderSize(r, 64<<10), started: make(chan struct{})}
	in.changed.L = &in.mu
	c := &Conn{in: in, handle: handle, log: log}
	c.rpc = acp.NewConnection(c.received, w, c.in)
	c.rpc.SetLogger(slog.New(slog.DiscardHandler)) // the library logs whole messages
	return c
}

// Start begins to read, and so to call the handler, which may use the connection.
func (c *Conn) Start() { close(c.in.started) }

// Call sends a request and decodes its result. It returns after the notifications
// that the peer sent before its response are handled. Errors: *Error for one of the
// peer, the reason why the connection ended, ErrUnread, ctx's.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	var raw json.RawMessage
	err := c.send(ctx, func() (err error) {
		raw, err = acp.SendRequest[json.RawMessage](c.rpc, ctx, method, params)
		return err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.ended():
		return c.Err()
	default:
		return err
	}
	if result == nil || len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("read the result of %s: %s", method, textutil.JSONFault(err))
	}
	return nil
}

// Params decodes the params of a request. Error: *Error for the peer.
func Params(params json.RawMessage, into any) error {
	if len(params) == 0 {
		return NewError(codeInvalidParams, "invalid params: expected an object; there are none")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return NewError(codeInvalidParams, "invalid params: %s", textutil.JSONFault(err))
	}
	return nil
}

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, func() error { return c.rpc.SendNotification(ctx, method, params) })
}

// send calls a function of the library, and returns when ctx ends: the library does not
// while the peer does not read. maxUnread bounds the calls that are left behind.
func (c *Conn) send(ctx context.Context, call func() error) error {
	if c.unread.Load() >= maxUnread {
		return ErrUnread
	}
	sent, over := make(chan error, 1), new(atomic.Bool)
	go func() { // ends when the peer reads, or with the output
		sent <- call()
		if over.Swap(true) {
			c.unread.Add(-1)
		}
	}()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		if !over.Swap(true) {
			c.unread.Add(1)
		}
		return context.Cause(ctx)
	}
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.rpc.Done() }

func (c *Conn) ended() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// Err returns why the connection ended.
func (c *Conn) Err() error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.in.err == nil || errors.Is(c.in.err, io.EOF) {
		return ErrEnded
	}
	return c.in.err
}

// Close stops reading and waits for the handlers. The input must end too.
func (c *Conn) Close() {
	c.in.close()
	<-c.Done()
	c.in.handlers.Wait()
}

// received handles a message that lines passed to the library.
func (c *Conn) received(ctx context.Context, method string, params json.RawMessage) (result any, fault *acp.RequestError) {
	number, method, isNotification := unmark(method)
	ctx = context.WithValue(ctx, numberKey{}, number)
	defer c.in.handled(isNotification)
	defer func() {
		if cause := recover(); cause != nil {
			c.log.Error("a handler panicked", "method", method, "panic", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
			result, fault = nil, NewError(codeInternal, "internal error")
		}
	}()
	if !isNotification {
		c.in.awaitNotifications()
	}
	result, err := c.handle(ctx, method, params)
	if err == nil {
		return result, nil
	}
	if errors.As(err, &fault) {
		return nil, fault
	}
	return nil, NewError(codeInternal, "%v", err)
}

// mark adds to the method of a message its number and whether it is a notification: the
// library does not tell either.
func mark(number uint64, method string, isNotification bool) string {
	kind := "r"
	if isNotification {
		kind = "n"
	}
	return fmt.Sprintf("%d%s:%s", number, kind, method)
}

func unmark(marked string) (number uint64, method string, isNotification bool) {
	prefix, method, _ := strings.Cut(marked, ":")
	digits, isNotification := strings.CutSuffix(prefix, "n")
	number, _ = strconv.ParseUint(strings.TrimSuffix(digits, "r"), 10, 64) // of mark
	return number, method, isNotification
}

type numberKey struct{}

// Number returns the number of the message that a Handler with ctx handles: messages have
// increasing numbers in the order in which the peer sent them.
func Number(ctx context.Context) uint64 {
	n, _ := ctx.Value(numberKey{}).(uint64)
	return n
}

// lines passes the messages of a peer to the library.
type lines struct {
	in      *bufio.Reader
	rest    []byte        // of the line that is being read; owned by Read, as number
	number  uint64        // of the last message for a handler
	started chan struct{} // the library is set up

	handlers sync.WaitGroup

	mu       sync.Mutex
	changed  sync.Cond
	queued   int // notifications passed on
	done     int // of them, handled
	inFlight int // requests of the peer
	closed   bool
	err      error // of reading
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	<-l.started
	if len(l.rest) == 0 {
		line, err := l.next()
		if err != nil {
			l.awaitNotifications() // at the end of the input the library drops the ones that wait
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			return 0, io.EOF
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next message with the newline, when there is room for it.
func (l *lines) next() ([]byte, error) {
	for range maxGarbage {
		line, err := l.readLine()
		if err != nil {
			return nil, err
		}
		var m message
		if json.Unmarshal(line, &m) != nil || m.ID == nil && m.Method == "" {
			continue
		}
		if m.Method == "" || m.ID == nil && m.Method == "$/cancel_request" { // not for a handler
			return line, nil
		}
		isNotification := m.ID == nil
		l.number++
		m.Method = mark(l.number, m.Method, isNotification)
		// Of a message for a handler the library gets the fields that were decoded, so
		// that it cannot take it for another one.
		m.Version = "2.0"
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false) // params stay as the peer wrote them
		if enc.Encode(m) != nil {
			continue
		}
		return out.Bytes(), l.admit(isNotification)
	}
	return nil, errGarbage
}

// message is a request or a notification.
type message struct {
	Version string           `json:"jsonrpc"`
	ID      *json.RawMessage `json:"id,omitempty"`
	Method  string           `json:"method"`
	Params  json.RawMessage  `json:"params,omitempty"`
}

// readLine returns the next line that is not empty.
func (l *lines) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errTooLong
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err // a message that is not complete is none
		case strings.TrimSpace(string(line)) != "":
			return line, nil
		default:
			line = line[:0]
		}
	}
}

// admit waits until there is room for a notification or a request, and counts it.
func (l *lines) admit(isNotification bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && (isNotification && l.queued-l.done >= maxQueued || !isNotification && l.inFlight >= maxInFlight) {
		l.changed.Wait()
	}
	if l.closed {
		return ErrEnded
	}
	l.handlers.Add(1)
	if isNotification {
		l.queued++
	} else {
		l.inFlight++
	}
	return nil
}

func (l *lines) handled(isNotification bool) {
	l.mu.Lock()
	if isNotification {
		l.done++
	} else {
		l.inFlight--
	}
	l.mu.Unlock()
	l.changed.Broadcast()
	l.handlers.Done()
}

// awaitNotifications waits until the notifications that were received are handled, or
// until close.
func (l *lines) awaitNotifications() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for received := l.queued; l.done < received && !l.closed; {
		l.changed.Wait()
	}
}

func (l *lines) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.changed.Broadcast()
}
