package search

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
)

// A list of postings:
//
//	uvarint  first document, an offset in the bucket
//	uvarint  last document - first document
//	uvarint  number of documents
//	byte     weight of the first document
//	uvarint  distance<<4 | weight, for each further document
//
// A list of one document has its number and its weight alone: at most 4 bytes.
//
// Batches add lists, which [postingsMerger] joins.

var errPostings = fmt.Errorf("%w: postings cannot be read", derivedb.ErrDamaged)

const (
	weightBits = 4
	ratio      = 0.78 // of the weights of neighboring levels
)

// levels are the weights of the levels in postings: BM25's saturation,
// at most k1+1.
var levels = func() (l [1 << weightBits]float32) {
	w := k1 + 1
	for i := len(l) - 1; i >= 0; i-- {
		l[i] = float32(w)
		w *= ratio
	}
	return l
}()

// Parameters of BM25. The average length is a constant, so that a score does not
// depend on envelopes that the asker may not see.
const (
	k1            = 1.2
	lengthShare   = 0.75
	averageLength = 24
)

// weight returns the level of a term that occurs n times in a document of a length
// in tokens.
func weight(n, length int) uint64 {
	f := float64(n)
	w := f * (k1 + 1) / (f + k1*(1-lengthShare+lengthShare*float64(length)/averageLength))
	level := len(levels) - 1 - int(math.Round(math.Log(w/(k1+1))/math.Log(ratio)))
	return uint64(min(max(level, 0), len(levels)-1))
}

// postings is a list that is being built, or the head of a stored one.
type postings struct {
	first, last uint32
	count       int
	body        []byte // from the weight of the first document on
}

// add appends a document, which must follow the others.
func (p *postings) add(doc uint32, weight uint64) {
	if p.count == 0 {
		p.first, p.body = doc, append(p.body, byte(weight))
	} else {
		p.body = binary.AppendUvarint(p.body, uint64(doc-p.last)<<weightBits|weight)
	}
	p.last = doc
	p.count++
}

// append encodes the list.
func (p *postings) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.first))
	if p.count == 1 {
		return append(dst, p.body[0])
	}
	dst = binary.AppendUvarint(dst, uint64(p.last-p.first))
	dst = binary.AppendUvarint(dst, uint64(p.count))
	return append(dst, p.body...)
}

// parsePostings reads the head of a list; the body refers to data.
func parsePostings(data []byte) (p postings, err error) {
	n := [3]uint64{2: 1}
	for i := range n {
		if i == 1 && len(data) == 1 {
			break
		}
		x, size := binary.Uvarint(data)
		if size <= 0 || x > bucketSize {
			return p, errPostings
		}
		n[i], data = x, data[size:]
	}
	p = postings{first: uint32(n[0]), last: uint32(n[0] + n[1]), count: int(n[2]), body: data}
	if p.last >= bucketSize || p.count == 0 || len(data) < p.count {
		return p, errPostings
	}
	return p, nil
}

// each calls f for every document until it returns false. The documents are less
// than bucketSize for any data.
func (p *postings) each(f func(doc uint32, weight uint64)) error {
	if len(p.body) == 0 {
		return errPostings
	}
	doc, body := p.first, p.body[1:]
	f(doc, uint64(p.body[0])&(1<<weightBits-1))
	for range p.count - 1 {
		var x uint64
		switch { // one and two bytes are the rule
		case len(body) > 0 && body[0] < 0x80:
			x, body = uint64(body[0]), body[1:]
		case len(body) > 1 && body[1] < 0x80:
			x, body = uint64(body[0]&0x7f)|uint64(body[1])<<7, body[2:]
		default:
			var size int
			x, size = binary.Uvarint(body)
			if size <= 0 {
				return errPostings
			}
			body = body[size:]
		}
		d := x >> weightBits
		if d == 0 || d >= bucketSize-uint64(doc) {
			return errPostings
		}
		doc += uint32(d)
		f(doc, x&(1<<weightBits-1))
	}
	if doc != p.last {
		return errPostings
	}
	return nil
}

// join appends a list that follows. Documents that p has already are left out.
func (p *postings) join(next *postings) error {
	if next.first > p.last {
		distance := uint64(next.first-p.last)<<weightBits | uint64(next.body[0])&(1<<weightBits-1)
		p.body = append(binary.AppendUvarint(p.body, distance), next.body[1:]...)
		p.last, p.count = next.last, p.count+next.count
		return nil
	}
	return next.each(func(doc uint32, weight uint64) {
		if doc > p.last {
			p.add(doc, weight)
		}
	})
}

// postingsMerger joins the lists of one key.
var postingsMerger = pebble.Merger{
	Name: "meup.postings",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		m := new(merging)
		return m, m.MergeNewer(value)
	},
}

type merging struct{ values []postings }

// MergeNewer adds a list; the order of the calls does not matter.
func (m *merging) MergeNewer(value []byte) error {
	p, err := parsePostings(slices.Clone(value))
	if err == nil {
		m.values = append(m.values, p)
	}
	return err
}

// MergeOlder adds a list.
func (m *merging) MergeOlder(value []byte) error { return m.MergeNewer(value) }

// Finish joins the lists.
func (m *merging) Finish(bool) ([]byte, io.Closer, error) {
	slices.SortFunc(m.values, func(a, b postings) int { return int(a.first) - int(b.first) })
	size := 0
	for i := range m.values {
		size += len(m.values[i].body) + 2
	}
	p := m.values[0]
	p.body = append(make([]byte, 0, size), p.body...)
	for i := range m.values[1:] {
		if err := p.join(&m.values[1+i]); err != nil {
			return nil, nil, err
		}
	}
	return p.append(make([]byte, 0, size+12)), nil, nil
}
