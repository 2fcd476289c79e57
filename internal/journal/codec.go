package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// ErrDamaged means that AppendEntry did not write these bytes, or that they
// have changed since.
var ErrDamaged = errors.New("damaged entry")

// The layout of an encoded entry. Numbers are varints unless noted otherwise.
//
//	version   1 byte: 1, or 2 for an entry that settles a proposal
//	flags     1 byte
//	seq       unsigned
//	ts        signed, microseconds since 1970
//	textLen   4 bytes, little endian: length of the text section
//	text      id, from, kind, context; correlation, to, audience;
//	          in version 2 the proposal, not empty
//	blobs     payload, extra, private
//
// A string is its length and its bytes. A list and a blob begin with their
// length plus one, with 0 for nil, so that nil and empty stay distinct. All
// strings are in one section, so that decoding copies them at once.
const (
	versionPlain    = 1
	versionSettling = 2
	// MaxVersion is the highest version of an encoded entry, its first byte,
	// that DecodeEntry reads.
	MaxVersion = versionSettling

	flagState    = 1 << 0
	flagHidden   = 1 << 1
	flagArray    = 1 << 2 // the correlation was written as an array
	flagsDefined = flagState | flagHidden | flagArray

	textLenBytes = 4
)

// AppendEntry appends the encoded entry to dst and returns the extended slice.
func AppendEntry(dst []byte, e *Entry) []byte {
	env := &e.Envelope
	version := byte(versionPlain)
	if e.Settles != "" {
		version = versionSettling
	}
	var flags byte
	if e.State {
		flags |= flagState
	}
	if e.Hidden {
		flags |= flagHidden
	}
	if env.Correlation.Array {
		flags |= flagArray
	}
	dst = append(dst, version, flags)
	dst = binary.AppendUvarint(dst, uint64(env.Seq))
	dst = binary.AppendVarint(dst, env.TS.UnixMicro())

	lenAt := len(dst)
	dst = append(dst, make([]byte, textLenBytes)...)
	dst = appendString(dst, string(env.ID))
	dst = appendString(dst, string(env.From))
	dst = appendString(dst, string(env.Kind))
	dst = appendString(dst, string(env.Context))
	dst = appendList(dst, env.Correlation.IDs)
	dst = appendList(dst, env.To)
	dst = appendList(dst, e.Audience)
	if version == versionSettling {
		dst = appendString(dst, string(e.Settles))
	}
	binary.LittleEndian.PutUint32(dst[lenAt:], uint32(len(dst)-lenAt-textLenBytes))

	dst = appendBlob(dst, env.Payload)
	dst = appendBlob(dst, env.Extra)
	return appendBlob(dst, e.Private)
}

// DecodeEntry decodes an entry that AppendEntry encoded. The entry shares no
// memory with data. Errors wrap ErrDamaged; no input causes a panic.
func DecodeEntry(data []byte) (*Entry, error) {
	if len(data) < 2 {
		return nil, damaged("header")
	}
	version, flags, rest := data[0], data[1], data[2:]
	if version < versionPlain || version > MaxVersion {
		return nil, fmt.Errorf("%w: version %d is unknown", ErrDamaged, version)
	}
	if flags&^flagsDefined != 0 {
		return nil, damaged("flags")
	}
	seq, n := binary.Uvarint(rest)
	if n <= 0 {
		return nil, damaged("seq")
	}
	rest = rest[n:]
	micros, n := binary.Varint(rest)
	if n <= 0 {
		return nil, damaged("time")
	}
	rest = rest[n:]
	if len(rest) < textLenBytes || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-textLenBytes) {
		return nil, damaged("text length")
	}
	textEnd := textLenBytes + int(binary.LittleEndian.Uint32(rest))

	e := &Entry{State: flags&flagState != 0, Hidden: flags&flagHidden != 0}
	e.Envelope.Seq = protocol.Seq(seq)
	e.Envelope.TS = time.UnixMicro(micros).UTC()
	e.Envelope.Correlation.Array = flags&flagArray != 0
	if err := decodeText(e, string(rest[textLenBytes:textEnd]), version == versionSettling); err != nil {
		return nil, err
	}
	blobs := append([]byte(nil), rest[textEnd:]...) // one copy for all
	var ok [3]bool
	e.Envelope.Payload, blobs, ok[0] = readBlob(blobs)
	e.Envelope.Extra, blobs, ok[1] = readBlob(blobs)
	e.Private, blobs, ok[2] = readBlob(blobs)
	if !ok[0] || !ok[1] || !ok[2] || len(blobs) != 0 {
		return nil, damaged("payload, extra or note")
	}
	return e, nil
}

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrDamaged, what) }
