// Package wire frames and splits the messages of the benchmarks' connections: of
// WebSocket without masking, and of NATS.
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
	head [10]byte
	have int    // bytes of head
	op   byte   // of the frame being read
	left uint64 // remaining bytes of its content; meaningful if op != 0
	body []byte // the content so far, if it spans blocks
}

// Feed reads a block and calls visit for each frame that it completes. With
// bodies false the contents are skipped and visit gets nil. A body is valid
// until visit returns.
func (s *WebSocket) Feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
	for {
		if s.op == 0 {
			if block = s.header(block); s.op == 0 {
				return
			}
		}
		n := min(s.left, uint64(len(block)))
		content := block[:n]
		block = block[n:]
		s.left -= n
		if bodies && (s.left > 0 || len(s.body) > 0) {
			s.body = append(s.body, content...)
			content = s.body
		}
		if s.left > 0 {
			return
		}
		op := s.op
		s.op = 0
		if !bodies {
			content = nil
		}
		visit(op, content)
		s.body = s.body[:0]
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
			s.left = uint64(binary.BigEndian.Uint16(s.head[2:]))
		case 127:
			s.left = binary.BigEndian.Uint64(s.head[2:])
		default:
			s.left = uint64(length)
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
	line []byte // the control line so far
	left int    // remaining bytes of a message with its end of line
	body []byte // the content so far, if it spans blocks
}

// Feed reads a block and calls visit for each message that it completes, as
// WebSocket.Feed does for frames.
func (s *NATS) Feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
	for len(block) > 0 {
		if s.left == 0 {
			head, rest, whole := bytes.Cut(block, []byte("\n"))
			s.line = append(s.line, head...)
			block = rest
			if whole {
				s.control(visit)
			}
			continue
		}
		n := min(s.left, len(block))
		content := block[:n]
		block = block[n:]
		s.left -= n
		if bodies && (s.left > 0 || len(s.body) > 0) {
			s.body = append(s.body, content...)
			content = s.body
		}
		if s.left > 0 {
			return
		}
		if !bodies {
			content = nil
		}
		visit(Text, content)
		s.body = s.body[:0]
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
		s.left = n + len("\r\n")
	case strings.HasPrefix(line, "-ERR"):
		visit(Close, nil)
	}
}
