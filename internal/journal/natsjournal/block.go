package natsjournal

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/natsconn"
	"github.com/meup-protocol/meup/protocol"
)

// The layout of a block, the data of one message:
//
//	magic    1 byte
//	version  1 byte
//	type     1 byte: drafts, packed drafts, trim, epoch
//	body
//
// The body of a trim is a Seq. The body of an epoch is a byte, 1 if all earlier
// messages are void, and its name. The body of drafts has one section for each
// Append: the number of drafts, and for each draft its CheckedAtStateSeq, its
// length and the encoded entry. Numbers are unsigned varints. A packed body is
// compressed as a whole, which is done only if it would not fit otherwise.
const (
	blockMagic   = 0xB7
	blockVersion = 1
	blockHeader  = 3

	typeDrafts = 1
	typePacked = 2
	typeTrim   = 3
	typeEpoch  = 4
)

// seqsPerBlock is the maximum number of drafts in a block, and the distance
// between the Seqs of consecutive messages.
const seqsPerBlock = 1024

// maxUnpacked bounds the size of a packed block after decompression.
const maxUnpacked = 64 << 20

var (
	// errGarbage means that no gateway wrote the message. All gateways skip it.
	errGarbage = errors.New("not a block")
	// errNewer means that the block has a later version. It must not be skipped,
	// because gateways that can read it do not skip it.
	errNewer = errors.New("block was written by a later version of the gateway")
)

// block is a decoded message. Exactly one of the fields calls, trim and epoch
// is set.
type block struct {
	calls [][]*journal.Draft
	trim  protocol.Seq
	epoch string
	reset bool // the epoch begins with an empty log
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

// encodeDrafts builds a block from sections, packed if it is larger than limit.
func encodeDrafts(sections [][]byte, limit int) []byte {
	size := blockHeader
	for _, s := range sections {
		size += len(s)
	}
	data := append(make([]byte, 0, size), blockMagic, blockVersion, typeDrafts)
	for _, s := range sections {
		data = append(data, s...)
	}
	if size <= limit {
		return data
	}
	return pack(data[blockHeader:])
}

// pack builds a packed block. It has to shrink even the worst JSON of some size
// by 3 %, which needs a Huffman code where nothing repeats. Deflate uses one at
// its default level, but not at faster levels. Such blocks are rare.
func pack(body []byte) []byte {
	var b bytes.Buffer
	b.Write([]byte{blockMagic, blockVersion, typePacked})
	w, _ := flate.NewWriter(&b, flate.DefaultCompression) // a valid level
	_, _ = w.Write(body)                                  // a write to memory does not fail
	_ = w.Close()
	return b.Bytes()
}

func unpack(body []byte) ([]byte, error) {
	r := io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxUnpacked+1)
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%w: unpack: %w", errGarbage, err)
	}
	if len(data) > maxUnpacked {
		return nil, fmt.Errorf("%w: unpacks to more than %d bytes", errGarbage, maxUnpacked)
	}
	return data, nil
}

// encodeTrim builds a trim block.
func encodeTrim(before protocol.Seq) []byte {
	return binary.AppendUvarint([]byte{blockMagic, blockVersion, typeTrim}, uint64(before))
}

// encodeEpoch builds a block that begins an epoch of the stream.
func encodeEpoch(name string, reset bool) []byte {
	header := []byte{blockMagic, blockVersion, typeEpoch, 0}
	if reset {
		header[blockHeader] = 1
	}
	return append(header, name...)
}

// decodeBlock decodes a message. Err: errGarbage, errNewer.
func decodeBlock(data []byte) (block, error) {
	if len(data) < blockHeader || data[0] != blockMagic {
		return block{}, errGarbage
	}
	if data[1] != blockVersion {
		return block{}, errNewer
	}
	body := data[blockHeader:]
	switch data[2] {
	case typeTrim:
		before, rest, ok := cutUvarint(body)
		if !ok || len(rest) > 0 || before == 0 {
			return block{}, fmt.Errorf("%w: trim", errGarbage)
		}
		return block{trim: protocol.Seq(before)}, nil
	case typeEpoch:
		if len(body) < 2 {
			return block{}, fmt.Errorf("%w: epoch", errGarbage)
		}
		return block{epoch: string(body[1:]), reset: body[0] != 0}, nil
	case typePacked:
		unpacked, err := unpack(body)
		if err != nil {
			return block{}, err
		}
		return decodeCalls(unpacked)
	case typeDrafts:
		return decodeCalls(body)
	}
	return block{}, fmt.Errorf("%w: type %d", errGarbage, data[2])
}

func decodeCalls(body []byte) (block, error) {
	var b block
	total := 0
	for len(body) > 0 {
		n, rest, ok := cutUvarint(body)
		if !ok || n == 0 || n > uint64(seqsPerBlock-total) {
			return block{}, fmt.Errorf("%w: number of drafts", errGarbage)
		}
		call := make([]*journal.Draft, n)
		for i := range call {
			var err error
			if call[i], rest, err = decodeDraft(rest); err != nil {
				return block{}, err
			}
		}
		b.calls = append(b.calls, call)
		total += int(n)
		body = rest
	}
	if total == 0 {
		return block{}, fmt.Errorf("%w: no drafts", errGarbage)
	}
	return b, nil
}

func decodeDraft(body []byte) (*journal.Draft, []byte, error) {
	basis, body, ok := cutUvarint(body)
	if !ok {
		return nil, nil, fmt.Errorf("%w: basis", errGarbage)
	}
	size, body, ok := cutUvarint(body)
	if !ok || size > uint64(len(body)) {
		return nil, nil, fmt.Errorf("%w: length of a draft", errGarbage)
	}
	if size > 0 && body[0] > journal.MaxVersion {
		return nil, nil, errNewer
	}
	e, err := journal.DecodeEntry(body[:size])
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errGarbage, err)
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

// names encodes and decodes the names of streams and subjects on NATS.
type names struct {
	prefix  string // as in Options
	streams int
}

// bucket returns the index of the stream that has the space.
func (n names) bucket(space string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(space)) // a write to memory does not fail
	return int(h.Sum32() % uint32(n.streams))
}

// stream returns the name of a stream: MEUP_07.
func (n names) stream(index int) string {
	return fmt.Sprintf("%s_%02d", strings.ToUpper(n.prefix), index)
}

func (n names) root(index int) string {
	return fmt.Sprintf("%s.%02d.", strings.ToLower(n.prefix), index)
}

// all returns the pattern of a stream's subjects: meup.07.>
func (n names) all(index int) string { return n.root(index) + ">" }

// stateSuffix marks the subject of a space's state entries, which is never
// purged.
const stateSuffix = ".state"

// epoch returns the subject of a stream's epochs: meup.07.%epoch, which is
// never the encoded name of a space.
func (n names) epoch(index int) string { return n.root(index) + "%epoch" }

// subject returns the subject of the blocks of a space: meup.07.lab, or
// meup.07.lab.state for blocks with a state entry.
func (n names) subject(space string, state bool) string {
	s := n.root(n.bucket(space)) + natsconn.EncodeToken(space)
	if state {
		s += stateSuffix
	}
	return s
}

// space decodes the space from a subject of a stream.
func (n names) space(index int, subject string) (string, bool) {
	token, ok := strings.CutPrefix(subject, n.root(index))
	if !ok {
		return "", false
	}
	token = strings.TrimSuffix(token, stateSuffix)
	space, ok := natsconn.DecodeToken(token)
	return space, ok && n.bucket(space) == index
}
