package natsjournal

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// controlOverhead bounds the headers of a message with a control block, in bytes.
const controlOverhead = 1 << 10

// The layout of a block, the data of one message:
//
//	magic    1 byte
//	version  1 byte
//	type     1 byte: drafts, packed drafts, trim, epoch, base, hold
//	body
//
// The body of a trim is a Seq. The body of an epoch is a byte, 1 if all earlier
// messages are void, and its name. The body of a hold is the last message of
// the copy that shows the loss, and where that copy is. The body of drafts has one section for each
// Append: the number of drafts, and for each draft its CheckedAtStateSeq, its
// length and the encoded entry. Numbers are unsigned varints. A packed body is
// compressed as a whole, which is done only if it would not fit otherwise.
const (
	magic   = 0xB7
	version = 1

	// headerSize is the size of magic, version and type.
	headerSize = 3
	// blockOverhead is an upper bound of the difference in size between a block of one
	// draft that is not packed and the encoded entry.
	blockOverhead = headerSize + 32

	typeDrafts = 1
	typePacked = 2
	typeTrim   = 3
	typeEpoch  = 4
	typeBase   = 5 // gateways of earlier versions skip it
	typeHold   = 6 // they skip it, too
)

// maxDrafts is the maximum number of drafts in a block, and the distance
// between the Seqs of consecutive messages.
const maxDrafts = 1024

// blockSeq returns the Seq of the draft at a position in a message of the stream.
func blockSeq(message uint64, position int) protocol.Seq {
	return protocol.Seq(message)*maxDrafts + protocol.Seq(position)
}

// blockMessage returns the message that has the draft with this Seq.
func blockMessage(seq protocol.Seq) uint64 { return uint64(seq) / maxDrafts }

// maxUnpacked bounds the size of a packed block after decompression.
const maxUnpacked = 64 << 20

var (
	// errInvalidBlock means that no gateway wrote the message. All gateways skip it.
	errInvalidBlock = errors.New("not a block")
	// errNewerBlock means that the block has a later version. It must not be skipped,
	// because gateways that can read it do not skip it.
	errNewerBlock = errors.New("block was written by a later version of the gateway")
)

// block is a decoded message. Exactly one of the fields Calls, Trim, Base, Epoch and
// Hold is set.
type block struct {
	Calls [][]*journal.Draft // the drafts of each Append
	Trim  protocol.Seq       // the space is trimmed below it
	Base  journal.Base       // of the space
	Epoch string
	Reset bool // the epoch begins with an empty log
	Hold  hold
}

// hold stops a stream that has lost entries until an epoch begins.
type hold struct {
	Seq uint64 // the last message of the copy that shows the loss
	By  string // where that copy is
}

// appendDraft appends the encoded draft.
func appendDraft(dst, scratch []byte, d *journal.Draft) (out, scratchOut []byte) {
	e := *d
	e.Envelope.Seq = 0
	scratch = journal.AppendEntry(scratch[:0], &e)
	dst = binary.AppendUvarint(dst, uint64(d.CheckedAtStateSeq))
	dst = binary.AppendUvarint(dst, uint64(len(scratch)))
	return append(dst, scratch...), scratch
}

// encodeSection returns the section of an Append with the encoded drafts.
func encodeSection(count int, drafts []byte) []byte {
	section := make([]byte, 0, binary.MaxVarintLen16+len(drafts))
	return append(binary.AppendUvarint(section, uint64(count)), drafts...)
}

// encodeDrafts builds a block from sections, packed if it is larger than limit.
func encodeDrafts(sections [][]byte, limit int) []byte {
	size := headerSize
	for _, s := range sections {
		size += len(s)
	}
	data := append(make([]byte, 0, size), magic, version, typeDrafts)
	for _, s := range sections {
		data = append(data, s...)
	}
	if size <= limit {
		return data
	}
	// Packing has to shrink even the worst JSON of some size by 3 %, which needs a
	// Huffman code where nothing repeats. Deflate uses one at its default level, but not
	// at faster levels. Such blocks are rare.
	var packed bytes.Buffer
	packed.Write([]byte{magic, version, typePacked})
	w, _ := flate.NewWriter(&packed, flate.DefaultCompression) // a valid level
	_, _ = w.Write(data[headerSize:])                          // a write to memory does not fail
	_ = w.Close()
	return packed.Bytes()
}

// encodeTrim builds a trim block.
func encodeTrim(before protocol.Seq) []byte {
	return binary.AppendUvarint([]byte{magic, version, typeTrim}, uint64(before))
}

// encodeBase builds a block with the base of a space.
func encodeBase(base journal.Base) []byte {
	return append(binary.AppendUvarint([]byte{magic, version, typeBase}, uint64(base.Before)), base.Data...)
}

// encodeEpoch builds a block that begins an epoch of the stream.
func encodeEpoch(name string, reset bool) []byte {
	header := []byte{magic, version, typeEpoch, 0}
	if reset {
		header[headerSize] = 1
	}
	return append(header, name...)
}

// encodeHold builds a block that holds a stream back.
func encodeHold(h hold) []byte {
	return append(binary.AppendUvarint([]byte{magic, version, typeHold}, h.Seq), h.By...)
}

// decodeBlock decodes a message. Err: ErrInvalid, ErrNewer.
func decodeBlock(data []byte) (block, error) {
	if len(data) < headerSize || data[0] != magic {
		return block{}, errInvalidBlock
	}
	if data[1] != version {
		return block{}, fmt.Errorf("%w: format %d, this build reads %d", errNewerBlock, data[1], version)
	}
	body := data[headerSize:]
	switch data[2] {
	case typeTrim:
		before, rest, ok := cutUvarint(body)
		if !ok || len(rest) > 0 || before == 0 {
			return block{}, fmt.Errorf("%w: trim", errInvalidBlock)
		}
		return block{Trim: protocol.Seq(before)}, nil
	case typeBase:
		before, rest, ok := cutUvarint(body)
		if !ok || before == 0 {
			return block{}, fmt.Errorf("%w: base", errInvalidBlock)
		}
		return block{Base: journal.Base{Data: rest, Before: protocol.Seq(before)}}, nil
	case typeEpoch:
		if len(body) < 2 {
			return block{}, fmt.Errorf("%w: epoch", errInvalidBlock)
		}
		return block{Epoch: string(body[1:]), Reset: body[0] != 0}, nil
	case typeHold:
		seq, by, ok := cutUvarint(body)
		if !ok || seq == 0 {
			return block{}, fmt.Errorf("%w: hold", errInvalidBlock)
		}
		return block{Hold: hold{Seq: seq, By: string(by)}}, nil
	case typePacked:
		unpacked, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxUnpacked+1))
		if err != nil {
			return block{}, fmt.Errorf("%w: unpack: %w", errInvalidBlock, err)
		}
		if len(unpacked) > maxUnpacked {
			return block{}, fmt.Errorf("%w: unpacks to more than %d bytes", errInvalidBlock, maxUnpacked)
		}
		return decodeCalls(unpacked)
	case typeDrafts:
		return decodeCalls(body)
	}
	return block{}, fmt.Errorf("%w: type %d", errInvalidBlock, data[2])
}

func decodeCalls(body []byte) (block, error) {
	var b block
	total := 0
	for len(body) > 0 {
		n, rest, ok := cutUvarint(body)
		if !ok || n == 0 || n > uint64(maxDrafts-total) {
			return block{}, fmt.Errorf("%w: number of drafts", errInvalidBlock)
		}
		call := make([]*journal.Draft, n)
		for i := range call {
			var err error
			call[i], rest, err = decodeDraft(rest)
			if err != nil {
				return block{}, err
			}
		}
		b.Calls = append(b.Calls, call)
		total += int(n)
		body = rest
	}
	if total == 0 {
		return block{}, fmt.Errorf("%w: no drafts", errInvalidBlock)
	}
	return b, nil
}

func decodeDraft(body []byte) (*journal.Draft, []byte, error) {
	basis, body, ok := cutUvarint(body)
	if !ok {
		return nil, nil, fmt.Errorf("%w: basis", errInvalidBlock)
	}
	size, body, ok := cutUvarint(body)
	if !ok || size > uint64(len(body)) {
		return nil, nil, fmt.Errorf("%w: length of a draft", errInvalidBlock)
	}
	if size > 0 && body[0] > journal.MaxVersion {
		return nil, nil, fmt.Errorf("%w: an entry of format %d, this build reads up to %d", errNewerBlock, body[0], journal.MaxVersion)
	}
	e, err := journal.DecodeEntry(body[:size])
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errInvalidBlock, err)
	}
	e.CheckedAtStateSeq = protocol.Seq(basis)
	return e, body[size:], nil
}

func cutUvarint(b []byte) (uint64, []byte, bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}
