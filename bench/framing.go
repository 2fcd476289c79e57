package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Opcodes of frames that a server sends without fragmentation. ackFrame is no frame of a
// WebSocket, but the acknowledgment of a message by JetStream.
const (
	ackFrame   = 0x01
	textFrame  = 0x81
	closeFrame = 0x88
	pingFrame  = 0x89
)

// webSocketReader splits a stream of unmasked frames into frames, regardless
// of block boundaries.
type webSocketReader struct {
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

// feed reads a block and calls visit for each frame that it completes. With
// bodies false the contents are skipped and visit gets nil. A body is valid
// until visit returns.
func (s *webSocketReader) feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
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
func (s *webSocketReader) header(block []byte) []byte {
	for len(block) > 0 {
		s.head[s.have] = block[0]
		s.have++
		block = block[1:]
		if s.have < headerSize(s.head[:s.have]) {
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

// headerSize returns the size of a header from its first bytes.
func headerSize(begun []byte) int {
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

// wholeFrame returns the size of the frame at the start of b, or 0 if b does
// not contain all of it.
func wholeFrame(b []byte) int {
	if len(b) < headerSize(b) {
		return 0
	}
	size := headerSize(b)
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

// clientFrames builds n equal masked text frames. The mask is zero, so that
// masking changes nothing and the frames can be written as they are.
func clientFrames(body []byte, n int) []byte {
	one := []byte{textFrame}
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

// natsFrames builds n equal messages to a subject. Their acknowledgments go to reply.
func natsFrames(subject, reply string, body []byte, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "PUB %s %s %d\r\n%s\r\n", subject, reply, len(body), body), n)
}

// acksSubscription is the id of the subscription that acknowledgments come from.
const acksSubscription = "2"

// natsReader splits a stream of a NATS server into messages, regardless of block
// boundaries.
type natsReader struct {
	line    []byte  // the control line so far
	op      byte    // of the message being read
	content content // of a message, with its end of line
}

// feed reads a block and calls visit for each message that it completes, as
// webSocketReader.feed does for frames. Acknowledgments always have their body.
func (s *natsReader) feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
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
		body, rest, whole := s.content.take(block, bodies || s.op == ackFrame)
		if !whole {
			return
		}
		block = rest
		visit(s.op, body)
	}
}

// control reads a control line: MSG subject id [reply] size, or another.
func (s *natsReader) control(visit func(op byte, body []byte)) {
	line := bytes.TrimSuffix(s.line, []byte("\r"))
	s.line = s.line[:0]
	rest, message := bytes.CutPrefix(line, []byte("MSG "))
	if !message {
		if bytes.HasPrefix(line, []byte("-ERR")) {
			visit(closeFrame, nil)
		}
		return
	}
	n, err := strconv.Atoi(string(rest[bytes.LastIndexByte(rest, ' ')+1:]))
	if err != nil {
		visit(closeFrame, nil)
		return
	}
	s.op, s.content.left = textFrame, uint64(n+len("\r\n"))
	_, rest, _ = bytes.Cut(rest, []byte(" "))
	if bytes.HasPrefix(rest, []byte(acksSubscription+" ")) {
		s.op = ackFrame
	}
}
