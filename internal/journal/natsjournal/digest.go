package natsjournal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
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

// MarshalText encodes the digest for reports.
func (d digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

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
	// markRing bounds the number of kept marks of a stream.
	markRing = 512
)

// mark is the digest of a stream's entries up to a message.
type mark struct {
	Seq    uint64 `json:"seq"`
	Digest digest `json:"digest"`
}

// marks holds the recent marks of a stream. stream.run writes them; the auditor
// reads them.
type marks struct {
	mu   sync.Mutex
	log  string // id of the log that the marks belong to
	ring []mark // at multiples of markEvery; when full, the oldest is at next
	next int
	head mark // of the last batch
}

// clear drops all marks, because later ones belong to another copy or log.
func (m *marks) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ring, m.next, m.head, m.log = nil, 0, mark{}, ""
}

// record adds the marks of a batch, which ends with head.
func (m *marks) record(log string, passed []mark, head mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if log != m.log {
		m.ring, m.next, m.log = nil, 0, log
	}
	for _, p := range passed {
		if len(m.ring) < markRing {
			m.ring = append(m.ring, p)
			continue
		}
		m.ring[m.next] = p
		m.next = (m.next + 1) % markRing
	}
	m.head = head
}

// latest returns the last mark of the ring, if any, and the head.
func (m *marks) latest() (log string, list []mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log == "" {
		return "", nil
	}
	if n := len(m.ring); n > 0 {
		if last := m.ring[(m.next+n-1)%n]; last.Seq != m.head.Seq {
			list = append(list, last)
		}
	}
	return m.log, append(list, m.head)
}

// at returns the digest at a sequence of the log, if it is kept.
func (m *marks) at(log string, seq uint64) (digest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if log != m.log || log == "" {
		return digest{}, false
	}
	if m.head.Seq == seq {
		return m.head.Digest, true
	}
	for _, p := range m.ring {
		if p.Seq == seq {
			return p.Digest, true
		}
	}
	return digest{}, false
}

// compare returns the last mark of list that is also kept here, and its digest
// here. ok is false if no mark is.
func (m *marks) compare(log string, list []mark) (theirs mark, mine digest, ok bool) {
	for _, p := range list {
		if d, found := m.at(log, p.Seq); found && (!ok || p.Seq > theirs.Seq) {
			theirs, mine, ok = p, d, true
		}
	}
	return theirs, mine, ok
}
