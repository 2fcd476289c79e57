package natsjournal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"slices"
	"sync"
)

// digest is the sum of the hashes of a stream's entries. It does not depend on
// their order, so entries that retention drops can be subtracted.
type digest struct{ hi, lo uint64 }

const digestBytes = 16

func (d digest) add(o digest) digest { return digest{d.hi + o.hi, d.lo + o.lo} }
func (d digest) sub(o digest) digest { return digest{d.hi - o.hi, d.lo - o.lo} }

func (d digest) append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, d.hi), d.lo)
}

func (d digest) String() string { return hex.EncodeToString(d.append(nil)) }

// MarshalText encodes the digest in hexadecimal.
func (d digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText decodes a digest that MarshalText encoded.
func (d *digest) UnmarshalText(text []byte) error {
	data, err := hex.DecodeString(string(text))
	if err != nil || len(data) != digestBytes {
		return errors.New("not a digest")
	}
	*d = decodeDigest(data)
	return nil
}

// decodeDigest decodes a digest that append encoded.
func decodeDigest(b []byte) digest {
	return digest{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// entryHasher hashes entries. It is not safe for concurrent use.
type entryHasher struct {
	h   hash.Hash
	buf []byte
}

// sum returns the digest of one entry. It covers the space and the encoding,
// which includes the Seq.
func (e *entryHasher) sum(space string, encoded []byte) digest {
	if e.h == nil {
		e.h = sha256.New()
	}
	e.h.Reset()
	e.buf = binary.AppendUvarint(e.buf[:0], uint64(len(space)))
	e.buf = append(e.buf, space...)
	_, _ = e.h.Write(e.buf) // a write to memory does not fail
	_, _ = e.h.Write(encoded)
	e.buf = e.h.Sum(e.buf[:0])
	return decodeDigest(e.buf)
}

const (
	// markEvery is the distance between the sequences whose digests are kept. All
	// gateways keep the same sequences, however each groups messages into batches.
	markEvery = 64
	// maxMarks bounds the number of kept marks of a stream.
	maxMarks = 512
)

// mark is the digest of a stream's entries up to a message.
type mark struct {
	Seq    uint64 `json:"seq"`
	Digest digest `json:"digest"`
}

// marks holds the recent marks of a stream, so that gateways can compare them. It is safe
// for concurrent use.
//
// Digests are not comparable everywhere. A gateway that finds messages purged lacks the
// entries that others drop only at the trim after them. After a gap it therefore records
// no marks before the position at which the stream ended then.
type marks struct {
	mu   sync.Mutex
	log  string // id of the log that the marks belong to
	kept []mark // at multiples of markEvery
	head mark   // of the last batch
}

// clear drops all marks, because later ones belong to another copy or log.
func (m *marks) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log, m.kept, m.head = "", nil, mark{}
}

// record adds the marks of a batch, which ends with head.
func (m *marks) record(log string, passed []mark, head mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if log != m.log {
		m.log, m.kept = log, nil
	}
	m.kept = append(m.kept, passed...)
	m.kept = slices.Delete(m.kept, 0, max(0, len(m.kept)-maxMarks))
	m.head = head
}

// Latest returns the id of the log, its head, and before it the last kept mark,
// if any. log is "" if there are no marks.
func (m *marks) Latest() (log string, list []mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log == "" {
		return "", nil
	}
	list = append(list, m.kept[max(0, len(m.kept)-1):]...)
	if len(list) > 0 && list[0].Seq == m.head.Seq {
		list = nil
	}
	return m.log, append(list, m.head)
}

// Compare returns the last mark of list, which is sorted, that is also kept
// here, and its digest here. ok is false if no mark is.
func (m *marks) Compare(log string, list []mark) (theirs mark, mine digest, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if log == "" || log != m.log {
		return theirs, mine, false
	}
	for _, p := range list {
		for _, own := range append(m.kept, m.head) {
			if own.Seq == p.Seq {
				theirs, mine, ok = p, own.Digest, true
			}
		}
	}
	return theirs, mine, ok
}
