package llm

import (
	"bytes"
	"fmt"
	"io"
)

const (
	maxEvent = 8 << 20 // bytes of one event
	readSize = 16 << 10
	maxEmpty = 100 // consecutive reads without data
)

// ServerEvent is a server-sent event. Name is "" if the server sends none.
type ServerEvent struct {
	Name string
	Data []byte
}

// reader reads server-sent events as defined by the WHATWG's HTML standard
// (section 9.2.6): lines end with CR, LF or both, and an empty line ends an
// event; a byte order mark and comments are skipped; an event that the end of
// the stream interrupts is discarded. The fields for reconnection (id, retry)
// are ignored, since a model's answer cannot be resumed.
type reader struct {
	src io.Reader
	max int // bytes of a line, and of an event
	err error

	buf     []byte // storage for unread
	unread  []byte // the part of buf that is not parsed yet
	afterCR bool   // an LF now belongs to the CR that ended the last line
	begun   bool   // the first line was read
	page    bool   // it begins like a web page

	line    []byte
	name    string
	data    []byte
	hasData bool
}

func newReader(src io.Reader, maxSize int) *reader {
	return &reader{src: src, max: maxSize, buf: make([]byte, readSize)}
}

// next returns the next event. Errors, io.EOF included, are permanent.
func (r *reader) next() (ServerEvent, error) {
	for r.err == nil {
		line, err := r.readLine()
		switch {
		case err != nil:
			r.err = err
		case len(line) > 0:
			r.err = r.field(line)
		case r.hasData:
			ev := ServerEvent{Name: r.name, Data: append([]byte{}, r.data...)} // never nil
			r.name, r.data, r.hasData = "", r.data[:0], false
			return ev, nil
		default:
			r.name = ""
		}
	}
	return ServerEvent{}, r.err
}

// field parses a non-empty line.
func (r *reader) field(line []byte) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) { // "" is a comment
	case "event":
		r.name = string(value)
	case "data":
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
		r.hasData = true
	}
	return r.check(len(r.data))
}

// readLine returns a line without its end, valid until the next call.
func (r *reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if err := r.fill(); err != nil {
			r.start(r.line) // a page may be one line without an end
			return nil, err
		}
		if r.afterCR {
			r.afterCR = false
			if r.unread[0] == '\n' {
				r.unread = r.unread[1:]
				continue
			}
		}
		i := bytes.IndexAny(r.unread, "\r\n")
		if i < 0 {
			r.line = append(r.line, r.unread...)
			r.unread = nil
			if err := r.check(len(r.line)); err != nil {
				return nil, err
			}
			continue
		}
		r.line = append(r.line, r.unread[:i]...)
		r.afterCR = r.unread[i] == '\r' // the line is complete; do not wait for an LF
		r.unread = r.unread[i+1:]
		return r.start(r.line), r.check(len(r.line))
	}
}

// start removes the byte order mark from the first line, and notes whether that begins like
// a web page.
func (r *reader) start(line []byte) []byte {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		r.page = bytes.HasPrefix(bytes.TrimSpace(line), []byte("<"))
	}
	return line
}

// fill reads until unread is not empty.
func (r *reader) fill() error {
	for i := 0; len(r.unread) == 0; i++ {
		n, err := r.src.Read(r.buf)
		r.unread = r.buf[:n]
		switch {
		case n > 0:
			return nil // the next read returns the error again
		case err != nil:
			return err
		case i >= maxEmpty:
			return io.ErrNoProgress
		}
	}
	return nil
}

func (r *reader) check(size int) error {
	if size > r.max {
		return fmt.Errorf("%w: an event of more than %d bytes", ErrTooLarge, r.max)
	}
	return nil
}
