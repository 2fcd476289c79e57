// Package wire is what the programs of the benchmarks share. It frames and splits the
// messages of their connections (WebSocket without masking, NATS, centrifuge), makes the
// contents of these, runs the bare broadcaster, and draws charts.
package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Opcodes of frames that a server sends without fragmentation.
const (
	Text  = 0x81
	Close = 0x88
	Ping  = 0x89
)

// WebSocket splits a stream of unmasked frames into frames, regardless
// of block boundaries.
type WebSocket struct {
	head    [10]byte
	have    int  // bytes of head
	op      byte // of the frame being read
	content content
}

// content is the content of a message, which may span blocks.
type content struct {
	left  uint64 // remaining bytes
	begun []byte // the bytes so far, if it spans blocks
}

// take takes the content from the front of a block. When it is complete, it returns
// the content, which is valid until the next call, or nil if it is not kept.
func (c *content) take(block []byte, bodies bool) (body, rest []byte, whole bool) {
	n := min(c.left, uint64(len(block)))
	body, rest = block[:n], block[n:]
	c.left -= n
	if !bodies {
		return nil, rest, c.left == 0
	}
	if c.left > 0 || len(c.begun) > 0 {
		c.begun = append(c.begun, body...)
		body = c.begun
	}
	if c.left == 0 {
		c.begun = c.begun[:0]
	}
	return body, rest, c.left == 0
}

// Feed reads a block and calls visit for each frame that it completes. With
// bodies false the contents are skipped and visit gets nil. A body is valid
// until visit returns.
func (s *WebSocket) Feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
	for {
		if s.op == 0 {
			block = s.header(block)
			if s.op == 0 {
				return
			}
		}
		body, rest, whole := s.content.take(block, bodies)
		if !whole {
			return
		}
		block = rest
		op := s.op
		s.op = 0
		visit(op, body)
	}
}

// header continues reading the header and returns the rest of the block; op is
// set once the header is complete.
func (s *WebSocket) header(block []byte) []byte {
	for len(block) > 0 {
		s.head[s.have] = block[0]
		s.have++
		block = block[1:]
		if s.have < HeaderSize(s.head[:s.have]) {
			continue
		}
		s.op, s.have = s.head[0], 0
		switch length := s.head[1] & 0x7f; length {
		case 126:
			s.content.left = uint64(binary.BigEndian.Uint16(s.head[2:]))
		case 127:
			s.content.left = binary.BigEndian.Uint64(s.head[2:])
		default:
			s.content.left = uint64(length)
		}
		return block
	}
	return nil
}

// HeaderSize returns the size of a header from its first bytes.
func HeaderSize(begun []byte) int {
	if len(begun) < 2 {
		return 2
	}
	switch begun[1] & 0x7f {
	case 126:
		return 4
	case 127:
		return 10
	}
	return 2
}

// WholeFrame returns the size of the frame at the start of b, or 0 if b does
// not contain all of it.
func WholeFrame(b []byte) int {
	if len(b) < HeaderSize(b) {
		return 0
	}
	size := HeaderSize(b)
	switch length := b[1] & 0x7f; length {
	case 126:
		size += int(binary.BigEndian.Uint16(b[2:]))
	case 127:
		size += int(binary.BigEndian.Uint64(b[2:]))
	default:
		size += int(length)
	}
	if len(b) < size {
		return 0
	}
	return size
}

// ClientFrames builds n equal masked text frames. The mask is zero, so that
// masking changes nothing and the frames can be written as they are.
func ClientFrames(body []byte, n int) []byte {
	one := []byte{Text}
	switch {
	case len(body) < 126:
		one = append(one, 0x80|byte(len(body)))
	case len(body) <= 0xFFFF:
		one = binary.BigEndian.AppendUint16(append(one, 0x80|126), uint16(len(body)))
	default:
		one = binary.BigEndian.AppendUint64(append(one, 0x80|127), uint64(len(body)))
	}
	one = append(one, 0, 0, 0, 0)
	one = append(one, body...)
	return bytes.Repeat(one, n)
}

// NATSFrames builds n equal messages to a subject.
func NATSFrames(subject string, body []byte, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "PUB %s %d\r\n%s\r\n", subject, len(body), body), n)
}

// NATS splits a stream of a NATS server into messages, regardless of block
// boundaries.
type NATS struct {
	line    []byte  // the control line so far
	content content // of a message, with its end of line
}

// Feed reads a block and calls visit for each message that it completes, as
// WebSocket.Feed does for frames.
func (s *NATS) Feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
	for len(block) > 0 {
		if s.content.left == 0 {
			head, rest, whole := bytes.Cut(block, []byte("\n"))
			s.line = append(s.line, head...)
			block = rest
			if whole {
				s.control(visit)
			}
			continue
		}
		body, rest, whole := s.content.take(block, bodies)
		if !whole {
			return
		}
		block = rest
		visit(Text, body)
	}
}

// control reads a control line.
func (s *NATS) control(visit func(op byte, body []byte)) {
	line := strings.TrimSuffix(string(s.line), "\r")
	s.line = s.line[:0]
	switch {
	case strings.HasPrefix(line, "MSG "):
		n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		if err != nil {
			visit(Close, nil)
			return
		}
		s.content.left = uint64(n + len("\r\n"))
	case strings.HasPrefix(line, "-ERR"):
		visit(Close, nil)
	}
}

// CentrifugeConnect is the command that opens a session of centrifuge's JSON protocol.
const CentrifugeConnect = `{"id":1,"connect":{}}`

// CentrifugeFrames builds n equal commands that publish to a channel.
func CentrifugeFrames(channel string, data []byte, n int) []byte {
	return ClientFrames(fmt.Appendf(nil, `{"id":2,"publish":{"channel":%q,"data":%s}}`, channel, data), n)
}

// Centrifuge splits a stream of frames of centrifuge's JSON protocol into the
// publications in them. A frame has one or more lines.
type Centrifuge struct{ frames WebSocket }

// Feed reads a block and calls visit for each publication that it completes, as
// WebSocket.Feed does for frames. Replies to commands are skipped.
func (s *Centrifuge) Feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
	s.frames.Feed(block, true, func(op byte, body []byte) {
		if op != Text {
			visit(op, nil)
			return
		}
		for line := range bytes.Lines(body) {
			if !bytes.HasPrefix(line, []byte(`{"push":`)) {
				continue
			}
			if !bodies {
				line = nil
			}
			visit(Text, line)
		}
	})
}
