package llmhttp

import (
	"bytes"
	"fmt"
	"io"
)

const (
	maxEvent = 8 << 20 // bytes of one event
	readSize = 16 << 10
	maxEmpty = 100 // reads in a row that bring nothing
)

// Event is a server-sent event. Name is "" where the server gives none.
type Event struct {
	Name string
	Data []byte
}

// reader reads server-sent events, as the WHATWG's HTML standard (section
// 9.2.6) defines them: lines end with CR, LF or both, an event with an empty
// line; a byte order mark and comments are passed over; an event that the end
// of the stream interrupts is discarded. Of the fields, those for reconnection
// (id, retry) are ignored, since a model's answer cannot be resumed.
type reader struct {
	src io.Reader
	max int // bytes of a line, and of an event
	err error

	buf     []byte // storage for what is read
	unread  []byte // its part that has not been looked at
	afterCR bool   // a LF that comes now belongs to the last line's CR
	begun   bool   // the first line is past

	line    []byte
	name    string
	data    []byte
	hasData bool
}

func newReader(src io.Reader, maxSize int) *reader {
	return &reader{src: src, max: maxSize, buf: make([]byte, readSize)}
}

// next returns the next event. An error, io.EOF included, is there to stay.
func (r *reader) next() (Event, error) {
	for r.err == nil {
		line, err := r.readLine()
		switch {
		case err != nil:
			r.err = err
		case len(line) > 0:
			r.err = r.field(line)
		case r.hasData:
			return r.dispatch(), nil
		default:
			r.name = ""
		}
	}
	return Event{}, r.err
}

func (r *reader) dispatch() Event {
	ev := Event{Name: r.name, Data: bytes.Clone(r.data)}
	if ev.Data == nil {
		ev.Data = []byte{}
	}
	r.name, r.data, r.hasData = "", r.data[:0], false
	return ev
}

// field takes a line that is not empty.
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
		r.afterCR = r.unread[i] == '\r' // a LF is not waited for: the line is whole
		r.unread = r.unread[i+1:]
		return r.start(r.line), r.check(len(r.line))
	}
}

// start takes the byte order mark off the first line.
func (r *reader) start(line []byte) []byte {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	return line
}

// fill makes sure that something is unread.
func (r *reader) fill() error {
	for i := 0; len(r.unread) == 0; i++ {
		n, err := r.src.Read(r.buf)
		r.unread = r.buf[:n]
		switch {
		case n > 0:
			return nil // an error comes again
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
