package main

import "encoding/binary"

// Opcodes of frames that a server sends without fragmentation.
const (
	frameText  = 0x81
	frameClose = 0x88
	framePing  = 0x89
)

// scanner splits a stream of unmasked WebSocket frames into frames, regardless
// of block boundaries.
type scanner struct {
	head [10]byte
	have int    // bytes of head
	op   byte   // of the frame being read
	left uint64 // remaining bytes of its content; meaningful if op != 0
	body []byte // the content so far, if it spans blocks
}

// feed reads a block and calls visit for each frame that it completes. With
// bodies false the contents are skipped and visit gets nil. A body is valid
// until visit returns.
func (s *scanner) feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
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
func (s *scanner) header(block []byte) []byte {
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
