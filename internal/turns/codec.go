package turns

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// ErrDamaged: a row cannot be decoded.
var ErrDamaged = errors.New("the index of turns has a row that cannot be read")

// encodeRef encodes a reference; flag is a bit that goes with it.
func encodeRef(at ref, flag bool) []byte {
	dst := binary.AppendUvarint(nil, uint64(at.root))
	return binary.AppendUvarint(dst, uint64(at.turn)<<1|uint64(boolByte(flag)))
}

func (d *decoder) ref() (at ref, flag bool) {
	at.root = protocol.Seq(d.uint())
	n := d.uint()
	at.turn = int(n >> 1 & maxCount)
	return at, n&1 != 0
}

// maxCount bounds decoded numbers, so that they fit into an int.
const maxCount = 1<<31 - 1

// append encodes a thread or a job.
func (th *thread) append(dst []byte) []byte {
	dst = append(dst, boolByte(th.job))
	dst = appendName(appendName(dst, string(th.id)), th.session)
	dst = th.title.Append(dst)
	dst = binary.AppendUvarint(dst, uint64(th.first))
	dst = binary.AppendUvarint(dst, uint64(th.end))
	dst = binary.AppendUvarint(dst, uint64(len(th.roles)))
	for _, who := range slices.Sorted(maps.Keys(th.roles)) {
		dst = append(appendName(dst, string(who)), byte(th.roles[who]))
	}
	return dst
}

func readThread(b []byte, seq protocol.Seq) (*thread, error) {
	d := &decoder{rest: b}
	th := &thread{seq: seq, job: d.byte() != 0, id: protocol.ID(d.text()), session: d.text(), roles: make(map[protocol.ParticipantID]role)}
	th.title.Excerpt, d.rest = reduce.ReadExcerpt(d.rest)
	th.first, th.end = d.int(), d.int()
	for range min(d.int(), maxRoles) {
		who := protocol.ParticipantID(d.text())
		th.roles[who] = role(d.byte())
	}
	return th, d.finish()
}

// append encodes a turn.
func (t *turn) append(dst []byte) []byte {
	dst = appendName(dst, string(t.from))
	dst = binary.AppendVarint(dst, t.started)
	dst = binary.AppendUvarint(dst, uint64(t.chat))
	dst = binary.AppendUvarint(dst, uint64(t.latest-t.chat))
	dst = binary.AppendUvarint(dst, uint64(t.items))
	dst = binary.AppendUvarint(dst, uint64(t.bytes))
	dst = append(dst, boolByte(t.truncated)|boolByte(t.audience != nil)<<1)
	if t.audience != nil {
		dst = appendNames(appendNames(dst, t.audience.to), t.audience.others)
	}
	return append(dst, t.deltas...)
}

func appendNames(dst []byte, names []protocol.ParticipantID) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, who := range names {
		dst = appendName(dst, string(who))
	}
	return dst
}

func readTurn(b []byte, at ref) (*turn, error) {
	d := &decoder{rest: b}
	t := &turn{at: at, from: protocol.ParticipantID(d.text()), started: d.signed(), chat: protocol.Seq(d.uint())}
	t.latest = t.chat + protocol.Seq(d.uint())
	t.items, t.bytes = d.int(), d.int()
	flags := d.byte()
	t.truncated = flags&1 != 0
	if flags&2 != 0 {
		t.audience = &audience{to: d.names(), others: d.names()}
	}
	t.deltas = slices.Clone(d.rest)
	entries, latest := 1, t.chat
	for len(d.rest) > 0 {
		latest += protocol.Seq(d.uint())
		entries++
	}
	if d.rest == nil || entries != t.items || latest != t.latest {
		return nil, ErrDamaged
	}
	return t, nil
}

// decoder decodes a row. After an error rest is nil.
type decoder struct{ rest []byte }

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.skip(n)
	return v
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.rest)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	if n <= 0 || d.rest == nil {
		d.rest = nil
		return
	}
	d.rest = d.rest[n:]
}

func (d *decoder) int() int {
	v := d.uint()
	if v > maxCount {
		d.rest = nil
		return 0
	}
	return int(v)
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.rest = nil
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.rest)) || d.rest == nil {
		d.rest = nil
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) names() (list []protocol.ParticipantID) {
	for n := d.int(); n > 0 && d.rest != nil; n-- {
		list = append(list, protocol.ParticipantID(d.text()))
	}
	return list
}

// finish reports whether all was decoded, and nothing is left.
func (d *decoder) finish() error {
	if d.rest == nil || len(d.rest) > 0 {
		return ErrDamaged
	}
	return nil
}
