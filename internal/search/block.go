package search

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/meup-protocol/meup/protocol"
)

// block is the part of the index that leads from documents to the log: the Seqs of
// up to blockSize documents, and their earliest and latest time.
type block struct {
	number           uint32
	earliest, latest int64 // Unix milliseconds
	seqs             []protocol.Seq
}

func (b *block) add(seq protocol.Seq, t int64) {
	b.earliest, b.latest = min(b.earliest, t), max(b.latest, t)
	b.seqs = append(b.seqs, seq)
}

func (b *block) encode() []byte {
	v := binary.AppendVarint(nil, b.earliest)
	v = binary.AppendUvarint(v, uint64(b.latest-b.earliest))
	before := protocol.Seq(0)
	for _, seq := range b.seqs {
		v = binary.AppendUvarint(v, uint64(seq-before))
		before = seq
	}
	return v
}

// readBlock returns a block; an empty one if there is none.
func (x *Index) readBlock(p *Position, number uint32) (*block, error) {
	v, err := x.get(numberKey(keyBlock, p.Number, number))
	if err != nil {
		return nil, err
	}
	b := &block{number: number, earliest: math.MaxInt64, latest: math.MinInt64}
	if v == nil {
		return b, nil
	}
	if !b.decode(v) {
		return nil, x.failed(errPostings)
	}
	return b, nil
}

func (b *block) decode(v []byte) bool {
	earliest, n := binary.Varint(v)
	if n <= 0 {
		return false
	}
	long, m := binary.Uvarint(v[n:])
	if m <= 0 {
		return false
	}
	b.earliest, b.latest = earliest, earliest+int64(long)
	seq := protocol.Seq(0)
	for v = v[n+m:]; len(v) > 0; v = v[n:] {
		var distance uint64
		distance, n = binary.Uvarint(v)
		if n <= 0 {
			return false
		}
		seq += protocol.Seq(distance)
		b.seqs = append(b.seqs, seq)
	}
	return len(b.seqs) <= blockSize
}

// docAt returns the first document at a Seq or after it; Docs if there is none.
func (x *Index) docAt(p *Position, seq protocol.Seq) (uint32, error) {
	if p.Docs == 0 || seq > p.Read {
		return p.Docs, nil
	}
	var failed error
	first := p.FirstDoc >> blockBits
	after := sort.Search(int((p.Docs-1)>>blockBits-first)+1, func(i int) bool {
		b, err := x.readBlock(p, first+uint32(i))
		if err != nil {
			failed = err
		}
		return err != nil || len(b.seqs) > 0 && b.seqs[0] >= seq
	})
	if failed != nil || after == 0 {
		return p.FirstDoc, failed
	}
	b, err := x.readBlock(p, first+uint32(after)-1)
	if err != nil {
		return 0, err
	}
	i, _ := slices.BinarySearch(b.seqs, seq)
	return max(p.FirstDoc, b.number<<blockBits+uint32(i)), nil
}
