package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// maxEvent bounds one event. A gateway's own limit for a message is far lower;
// this one only keeps a broken one from filling the memory.
const maxEvent = 64 << 20

var errLongEvent = errors.New("an event has more than 64 MiB")

// rawEvent is one server-sent event.
type rawEvent struct {
	name, id string
	data     []byte
}

// eventReader reads server-sent events as the HTML standard has them: lines
// end with LF, CR or both, an event ends with an empty line, and what an
// unfinished one has begun is dropped.
type eventReader struct {
	r      *bufio.Reader
	wait   time.Duration // what the last retry field asked for; 0: none did
	first  bool          // nothing has been read yet
	afterR bool          // the last line ended with CR: a LF that follows belongs to it
	line   []byte
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReader(r), first: true}
}

// next returns the next event that has data. Its data is the caller's.
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

// field takes in one line, and reports whether it has data.
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

// readLine returns a line without its end; it is good until the next call.
func (s *eventReader) readLine(most int) ([]byte, error) {
	s.line = s.line[:0]
	for {
		some, err := s.some()
		if err != nil {
			return nil, err
		}
		rest := s.afterR && some[0] == '\n'
		s.afterR = false
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
		s.afterR = some[end] == '\r'
		_, _ = s.r.Discard(n + 1) // it is in the buffer
		return s.withoutMark(), nil
	}
}

// some waits for bytes and returns those that are there, one at least.
func (s *eventReader) some() ([]byte, error) {
	if _, err := s.r.Peek(1); err != nil {
		return nil, err
	}
	return s.r.Peek(s.r.Buffered())
}

// withoutMark drops the byte order mark that a stream may begin with.
func (s *eventReader) withoutMark() []byte {
	line := s.line
	if s.first {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	s.first = false
	return line
}
