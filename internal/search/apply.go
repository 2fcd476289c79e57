package search

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/protocol"
)

// Doc is an envelope to index. The documents of a space come in order of Seq.
type Doc struct {
	Envelope *protocol.Envelope
	Payload  protocol.Value
	// Audience are the participants that may see the envelope; empty: all.
	Audience []protocol.ParticipantID
}

// Apply adds documents of a space, and records that its log was read up to read,
// in one step. The caller bounds the size of the documents. built reports that
// the end of the log is reached. Errors: errFull, derivedb.ErrDamaged.
func (x *Index) Apply(space string, docs []Doc, read protocol.Seq, built bool) error {
	if x.derived.Full() {
		return errFull
	}
	p, err := x.Position(space)
	if err != nil {
		return err
	}
	w := &writer{
		index: x, batch: x.db.NewBatch(), position: &p,
		lists: make(map[string]*postings), audiences: make(map[string]uint32), counts: make(map[string]int),
	}
	defer func() { _ = w.batch.Close() }()
	for i := range docs {
		if docs[i].Envelope.Seq > p.Read && Searchable(docs[i].Envelope.Kind) {
			if err := w.add(&docs[i]); err != nil {
				return x.failed(err)
			}
		}
	}
	var buf []byte
	for key, l := range w.lists {
		buf = l.append(buf[:0])
		if err := w.batch.Merge([]byte(key), buf, nil); err != nil {
			return x.failed(err)
		}
	}
	err = w.writeBlock()
	p.Read, p.Built = max(p.Read, read), p.Built || built
	if err == nil {
		err = derivedb.SetSpace(w.batch, space, p)
	}
	return x.commit(w.batch, err)
}

// writer collects the postings of one batch.
type writer struct {
	index    *Index
	batch    *pebble.Batch
	position *Position

	lists     map[string]*postings // by key
	audiences map[string]uint32    // numbers, by names
	key       []byte
	counts    map[string]int // occurrences of the terms of one document

	block *block // of the last document; nil: none yet
}

func (w *writer) add(d *Doc) error {
	e := d.Envelope
	audience, err := w.audience(d.Audience)
	if err != nil {
		return err
	}
	length := 0
	clear(w.counts)
	fields(d.Payload, func(f field) bool {
		tokens(f.text, true, func(folded []byte, _, _ int) bool {
			length++
			if n, ok := w.counts[string(folded)]; ok {
				w.counts[string(folded)] = n + 1
			} else {
				w.counts[string(folded)] = 1
			}
			return true
		})
		return true
	})
	doc := w.position.Docs
	w.position.Docs++
	for term, n := range w.counts {
		w.post(doc, term, audience, weight(n, length))
	}
	w.post(doc, classTerm(classFrom, string(e.From)), audience, 0)
	w.post(doc, classTerm(classKind, string(e.Kind)), audience, 0)
	w.post(doc, contextTerm(e.Context), audience, 0)
	for path := e.Context.Parent(); path != ""; path = path.Parent() {
		w.post(doc, contextTerm(path), audience, 0)
	}
	if w.block == nil || w.block.number != doc>>blockBits {
		if err := w.writeBlock(); err != nil {
			return err
		}
		w.block, err = w.index.readBlock(w.position, doc>>blockBits)
		if err != nil {
			return err
		}
	}
	w.block.add(e.Seq, e.TS.UnixMilli())
	return nil
}

func (w *writer) post(doc uint32, term string, audience uint32, weight uint64) {
	w.key = append(w.key[:0], keyPostings)
	w.key = binary.BigEndian.AppendUint32(w.key, w.position.Number)
	w.key = binary.BigEndian.AppendUint32(w.key, doc>>bucketBits)
	w.key = appendAudience(append(append(w.key, term...), 0), audience)
	l := w.lists[string(w.key)]
	if l == nil {
		l = new(postings)
		w.lists[string(w.key)] = l
	}
	l.add(doc%bucketSize, weight)
}

// audience returns the number of a set of participants.
func (w *writer) audience(ids []protocol.ParticipantID) (uint32, error) {
	if len(ids) == 0 {
		return public, nil
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var names strings.Builder
	for _, id := range ids {
		names.WriteString(string(id))
		names.WriteByte(0)
	}
	if n, ok := w.audiences[names.String()]; ok {
		return n, nil
	}
	key := append(derivedb.SpaceKey(keyAudience, w.position.Number), names.String()...)
	v, err := w.index.get(key)
	if err != nil {
		return 0, err
	}
	if v != nil {
		n, _ := binary.Uvarint(v)
		w.audiences[names.String()] = uint32(n)
		return uint32(n), nil
	}
	w.position.Audiences++
	n := w.position.Audiences
	w.audiences[names.String()] = n
	if err := w.batch.Set(key, binary.AppendUvarint(nil, uint64(n)), nil); err != nil {
		return 0, err
	}
	for _, id := range ids {
		key := append(memberKey(w.position.Number, id), appendAudience(nil, n)...)
		if err := w.batch.Set(key, nil, nil); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func memberKey(space uint32, id protocol.ParticipantID) []byte {
	return append(append(derivedb.SpaceKey(keyMember, space), id...), 0)
}

func (w *writer) writeBlock() error {
	if w.block == nil {
		return nil
	}
	return w.batch.Set(numberKey(keyBlock, w.position.Number, w.block.number), w.block.encode(), nil)
}
