package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// maxEvent bounds one event, in bytes. A gateway's own limit for a message is
// far lower; this one only protects the memory from a faulty gateway.
const maxEvent = 64 << 20

var errLongEvent = errors.New("an event has more than 64 MiB")

// rawEvent is one server-sent event.
type rawEvent struct {
	name, id string
	data     []byte
}

// eventReader reads server-sent events as specified by the HTML standard: lines
// end with LF, CR or both, an empty line ends an event, and an incomplete event
// is dropped.
type eventReader struct {
	r       *bufio.Reader
	wait    time.Duration // the value of the last retry field; 0: none
	first   bool          // nothing has been read yet
	afterCR bool          // the last line ended with CR: a following LF belongs to it
	line    []byte
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReader(r), first: true}
}

// next returns the next event that has data. The caller owns the data.
func (s *eventReader) next() (rawEvent, error) {
	var e rawEvent
	some, size := false, 0
	for {
		line, err := s.readLine(maxEvent - size)
		if err != nil {
			return rawEvent{}, err
		}
		size += len(line)
		if len(line) == 0 {
			if some {
				return e, nil
			}
			e, size = rawEvent{}, 0
			continue
		}
		some = s.field(&e, line, some) || some
	}
}

// field processes one line, and reports whether it is data.
func (s *eventReader) field(e *rawEvent, line []byte, more bool) bool {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		e.name = string(value)
	case "id":
		if !bytes.ContainsRune(value, 0) {
			e.id = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			s.wait = time.Duration(ms) * time.Millisecond
		}
	case "data":
		if more {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		return true
	}
	return false
}

// readLine returns a line without its terminator; it is valid until the next
// call.
func (s *eventReader) readLine(most int) ([]byte, error) {
	s.line = s.line[:0]
	for {
		some, err := s.buffered()
		if err != nil {
			return nil, err
		}
		rest := s.afterCR && some[0] == '\n'
		s.afterCR = false
		if rest {
			_, _ = s.r.Discard(1) // it is in the buffer
			continue
		}
		end := bytes.IndexAny(some, "\r\n")
		n := end
		if end < 0 {
			n = len(some)
		}
		if len(s.line)+n > most {
			return nil, errLongEvent
		}
		s.line = append(s.line, some[:n]...)
		if end < 0 {
			_, _ = s.r.Discard(n) // it is in the buffer
			continue
		}
		s.afterCR = some[end] == '\r'
		_, _ = s.r.Discard(n + 1) // it is in the buffer
		return s.trimBOM(), nil
	}
}

// buffered blocks until there are bytes, and returns the buffered ones, at
// least one.
func (s *eventReader) buffered() ([]byte, error) {
	if _, err := s.r.Peek(1); err != nil {
		return nil, err
	}
	return s.r.Peek(s.r.Buffered())
}

// trimBOM removes the byte order mark that a stream may begin with.
func (s *eventReader) trimBOM() []byte {
	line := s.line
	if s.first {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	s.first = false
	return line
}
