package ring

import (
	"encoding/binary"
	"iter"
)

// maxFrameHeader is the longest header of a server's frame, in bytes.
const maxFrameHeader = 10

// First bytes of the frames that the gateway writes.
const (
	opText = 0x81 // final fragment, text
	opPing = 0x89 // final fragment, ping
	opPong = 0x8A // final fragment, pong
	opEnd  = 0x88 // final fragment, close
)

// appendTextFrame appends a whole WebSocket text frame whose content is written by body. A
// text frame that a server sends has the same bytes for every receiver, so that it is
// made once and written to a thousand connections (RFC 6455, section 5.2).
func appendTextFrame(dst []byte, body func(dst []byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, maxFrameHeader)...)
	dst = body(dst)
	n := len(dst) - start - maxFrameHeader
	header := [maxFrameHeader]byte{opText, byte(n)}
	head := 2
	switch {
	case n > 0xFFFF:
		header[1], head = 127, 10
		binary.BigEndian.PutUint64(header[2:], uint64(n))
	case n >= 126:
		header[1], head = 126, 4
		binary.BigEndian.PutUint16(header[2:], uint16(n))
	}
	copy(dst[start+head:], dst[start+maxFrameHeader:])
	copy(dst[start:], header[:head])
	return dst[:start+head+n]
}

// framePayload returns the payload of a frame made by appendTextFrame.
func framePayload(f []byte) []byte {
	switch {
	case len(f) < 2:
		return nil
	case f[1] == 126:
		return f[4:]
	case f[1] == 127:
		return f[10:]
	}
	return f[2:]
}

// SplitFrames yields the payloads of adjacent text frames, and reports pings.
func SplitFrames(frames []byte) iter.Seq2[[]byte, bool] {
	return func(yield func(content []byte, ping bool) bool) {
		for len(frames) >= 2 {
			head, n := 2, uint64(frames[1])
			switch frames[1] {
			case 126:
				head, n = 4, uint64(binary.BigEndian.Uint16(frames[2:]))
			case 127:
				head, n = 10, binary.BigEndian.Uint64(frames[2:])
			}
			end := uint64(head) + n
			if op := frames[0]; op != opPong && !yield(frames[head:end], op == opPing) {
				return
			}
			frames = frames[end:]
		}
	}
}

// PingFrame is an empty ping frame.
var PingFrame = []byte{opPing, 0}

// AppendCloseFrame appends a close frame; the reason is cut to what fits.
func AppendCloseFrame(dst []byte, code int, reason string) []byte {
	reason = reason[:min(len(reason), 123)]
	dst = append(dst, opEnd, byte(2+len(reason)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(code))
	return append(dst, reason...)
}

// IsCloseFrame reports whether a frame is a close frame.
func IsCloseFrame(f []byte) bool { return len(f) > 0 && f[0] == opEnd }

// AppendPongFrame appends the answer to a ping; a control frame carries at most 125
// bytes.
func AppendPongFrame(dst, payload []byte) []byte {
	payload = payload[:min(len(payload), 125)]
	dst = append(dst, opPong, byte(len(payload)))
	return append(dst, payload...)
}
