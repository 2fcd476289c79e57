package search

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/protocol"
)

// slot is a word that a hit must have, or with exclude must not have.
type slot struct {
	term    string
	prefix  bool
	exclude bool
}

// evaluation is a search under way.
type evaluation struct {
	ctx      context.Context //nolint:containedctx // of one search
	index    *Index
	plan     *plan
	who      Asker
	position *Position

	iter      *pebble.Iterator
	audiences []uint32 // of the asker, sorted, public first; unused if it may see all
	// Documents in first..end are searched; of other audiences than the public, the
	// ones in private..end.
	first, private, end uint32

	slots   []slot
	counts  []int // documents that have each slot
	buckets []bucketLists

	bytes, expanded int
	partial         bool
	blocks          map[uint32]*block
}

// bucketLists are the postings of a bucket that a search needs.
type bucketLists struct {
	number  uint32
	slots   [][]audienceList
	allowed *documents // by the filters; nil: all
}

// documents is a set of documents of a bucket.
type documents [bucketSize / 64]uint64

func (d *documents) has(doc uint32) bool { return d == nil || d[doc/64]>>(doc%64)&1 != 0 }

type audienceList struct {
	postings
	public bool
}

func (x *Index) newEvaluation(ctx context.Context, p *plan, who Asker, position Position) (*evaluation, error) {
	e := &evaluation{ctx: ctx, index: x, plan: p, who: who, position: &position, blocks: make(map[uint32]*block)}
	for _, c := range p.clauses {
		if c.exclude && len(c.words) > 1 {
			continue // decided by the text
		}
		for i, w := range c.words {
			e.slots = append(e.slots, slot{w, c.prefix && i == len(c.words)-1, c.exclude})
		}
	}
	e.counts = make([]int, len(e.slots)) // a positive word makes at least one
	// What is excluded is read last, when it is known that the bucket has hits.
	slices.SortStableFunc(e.slots, func(a, b slot) int { return boolean(a.exclude) - boolean(b.exclude) })
	var err error
	e.end, err = x.docAt(&position, p.after.upTo+1)
	if err != nil {
		return nil, err
	}
	e.private, err = x.docAt(&position, who.VisibleAfter+1)
	if err != nil {
		return nil, err
	}
	e.first = position.FirstDoc
	if !who.All {
		e.audiences, err = x.audiencesOf(&position, who.ID)
	}
	return e, err
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// audiencesOf returns the numbers of the audiences that a participant is in.
func (x *Index) audiencesOf(p *Position, id protocol.ParticipantID) ([]uint32, error) {
	all := []uint32{public}
	prefix := memberKey(p.Number, id)
	iter, err := x.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: append(prefix[:len(prefix)-1:len(prefix)-1], 1)})
	if err != nil {
		return nil, x.failed(err)
	}
	defer func() { _ = iter.Close() }()
	for ok := iter.First(); ok; ok = iter.Next() {
		_, n, ok := splitTerm(iter.Key()[5:])
		if !ok {
			return nil, x.failed(errPostings)
		}
		all = append(all, n)
	}
	if err := iter.Error(); err != nil {
		return nil, x.failed(err)
	}
	return all, nil
}

// gather reads the lists of all buckets, the newest first.
func (e *evaluation) gather() (err error) {
	if e.end <= e.first {
		return nil
	}
	e.iter, err = e.index.db.NewIter(&pebble.IterOptions{
		LowerBound: derivedb.SpaceKey(keyPostings, e.position.Number), UpperBound: derivedb.SpaceKey(keyPostings, e.position.Number+1),
	})
	if err != nil {
		return e.index.failed(err)
	}
	defer func() { _ = e.iter.Close() }()
	for bucket := (e.end - 1) >> bucketBits; ; bucket-- {
		if err := e.gatherBucket(bucket); err != nil {
			return err
		}
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
		if bucket == e.first>>bucketBits || e.partial {
			return nil
		}
	}
}

func (e *evaluation) gatherBucket(bucket uint32) error {
	lists := bucketLists{number: bucket, slots: make([][]audienceList, len(e.slots))}
	found := false
	for i, s := range e.slots {
		err := e.readTerms(bucket, s.term, s.prefix, nil, func(l audienceList) error {
			l.body = slices.Clone(l.body)
			lists.slots[i] = append(lists.slots[i], l)
			return nil
		})
		if err != nil {
			return err
		}
		missing := len(lists.slots[i]) == 0 && !s.exclude
		if missing && !e.plan.any {
			return nil
		}
		found = found || !missing && !s.exclude
	}
	if !found {
		return nil
	}
	if e.partial { // a bucket that was read in part has wrong hits
		return nil
	}
	if err := e.filter(&lists); err != nil {
		return err
	}
	for i := range lists.slots {
		for _, l := range lists.slots[i] {
			n, err := e.countOf(bucket, l)
			if err != nil {
				return e.index.failed(err)
			}
			e.counts[i] += n
		}
	}
	e.buckets = append(e.buckets, lists)
	return nil
}

// countOf returns how many documents of a list are searched. Only the buckets at
// the ends need a look at each.
func (e *evaluation) countOf(bucket uint32, l audienceList) (n int, err error) {
	first, end := e.bounds(bucket, l.public)
	if first == 0 && end == bucketSize {
		return l.count, nil
	}
	err = l.each(func(doc uint32, _ uint64) {
		if first <= doc && doc < end {
			n++
		}
	})
	return n, err
}

// bounds returns the documents of a bucket that are searched, in the lists of the
// public or in others.
func (e *evaluation) bounds(bucket uint32, public bool) (first, end uint32) {
	first = e.first
	if !public && !e.who.All {
		first = max(first, e.private)
	}
	base := uint64(bucket) << bucketBits
	within := func(doc uint32) uint32 { return uint32(min(max(uint64(doc), base)-base, bucketSize)) }
	return within(first), within(e.end)
}

// readTerms calls use for the lists of a term in a bucket, or of all terms with a
// prefix that accept returns true for. The list's body is valid during the call.
func (e *evaluation) readTerms(bucket uint32, term string, prefix bool, accept func(term []byte) bool, use func(audienceList) error) error {
	base := numberKey(keyPostings, e.position.Number, bucket)
	n := len(base)
	start := append(slices.Clone(base), term...)
	var current []byte
	wanted := false
	for ok := e.iter.SeekGE(start); ok; {
		key := e.iter.Key()
		if !bytes.HasPrefix(key, start) {
			break
		}
		found, audience, valid := splitTerm(key[n:])
		if !valid {
			return e.index.failed(errPostings)
		}
		if len(found) > len(term) && !prefix {
			break
		}
		if current == nil || !bytes.Equal(found, current) {
			current = append(current[:0], found...)
			e.expanded++
			if prefix && e.expanded > maxExpansion {
				e.partial = true
				return nil
			}
			wanted = accept == nil || accept(current)
		}
		next, mine := audience, wanted
		if !wanted {
			next, mine = math.MaxUint32, false
		} else if !e.who.All {
			i, has := slices.BinarySearch(e.audiences, audience)
			mine = has
			if !has && i < len(e.audiences) {
				next = e.audiences[i]
			} else if !has {
				next = math.MaxUint32
			}
		}
		if !mine {
			ok = e.iter.SeekGE(appendAudience(append(append(slices.Clone(base), current...), 0), next))
			continue
		}
		v, err := e.iter.ValueAndErr()
		if err != nil {
			return e.index.failed(err)
		}
		e.bytes += len(v)
		if e.bytes > maxListBytes {
			e.partial = true
			return nil
		}
		p, err := parsePostings(v)
		if err != nil {
			return e.index.failed(err)
		}
		if err := use(audienceList{p, audience == public}); err != nil || e.partial {
			return err
		}
		ok = e.iter.Next()
	}
	if err := e.iter.Error(); err != nil {
		return e.index.failed(err)
	}
	return nil
}

// filter sets which documents of a bucket the filters allow.
func (e *evaluation) filter(lists *bucketLists) error {
	f := e.plan.Filter
	var groups []func(use func(audienceList) error) error
	exact := func(terms []string) func(func(audienceList) error) error {
		return func(use func(audienceList) error) error {
			for _, term := range terms {
				if err := e.readTerms(lists.number, term, false, nil, use); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if len(f.From) > 0 {
		var terms []string
		for _, id := range f.From {
			terms = append(terms, classTerm(classFrom, string(id)))
		}
		groups = append(groups, exact(terms))
	}
	if len(f.Contexts) > 0 {
		var terms []string
		for _, path := range f.Contexts {
			terms = append(terms, contextTerm(protocol.ContextPath(path)))
		}
		groups = append(groups, exact(terms))
	}
	if len(f.Kinds) > 0 {
		groups = append(groups, func(use func(audienceList) error) error {
			return e.readTerms(lists.number, classTerm(classKind, ""), true, func(term []byte) bool {
				kind, _ := strings.CutPrefix(string(term), string(rune(classKind)))
				return e.plan.kinds.Match(&protocol.Envelope{Kind: protocol.Kind(kind)})
			}, use)
		})
	}
	if !e.plan.Since.IsZero() || !e.plan.Until.IsZero() {
		groups = append(groups, func(use func(audienceList) error) error { return e.sentInTime(lists.number, use) })
	}
	for _, read := range groups {
		var group documents
		err := read(func(l audienceList) error {
			return l.each(func(doc uint32, _ uint64) {
				if lists.allowed.has(doc) {
					group[doc/64] |= 1 << (doc % 64)
				}
			})
		})
		if err != nil {
			return e.index.failed(err)
		}
		lists.allowed = &group
	}
	return nil
}

// sentInTime yields the blocks of a bucket that have documents of the time.
func (e *evaluation) sentInTime(bucket uint32, use func(audienceList) error) error {
	since, until := int64(math.MinInt64), int64(math.MaxInt64)
	if !e.plan.Since.IsZero() {
		since = e.plan.Since.UnixMilli()
	}
	if !e.plan.Until.IsZero() {
		until = e.plan.Until.UnixMilli()
	}
	for i := range uint32(bucketSize / blockSize) {
		number := bucket<<(bucketBits-blockBits) + i
		if number<<blockBits >= e.end {
			break
		}
		b, err := e.index.readBlock(e.position, number)
		if err != nil {
			return err
		}
		if b.latest < since || b.earliest > until || len(b.seqs) == 0 {
			continue
		}
		var all audienceList
		for doc := range uint32(blockSize) {
			all.add(i<<blockBits+doc, 0)
		}
		if err := use(all); err != nil {
			return err
		}
	}
	return nil
}

// inverse returns the weight of each word: the fewer documents that the asker may
// see have it, the more. Their number is taken as four times the documents of the
// most frequent word, since the number of all depends on hidden ones.
func (e *evaluation) inverse() []float32 {
	total := 4 * float64(slices.Max(e.counts))
	weights := make([]float32, len(e.counts))
	for i, n := range e.counts {
		weights[i] = float32(math.Log1p((total - float64(n) + 0.5) / (float64(n) + 0.5)))
	}
	return weights
}

// each calls f for every document that the lists select, with its score.
func (e *evaluation) each(f func(doc uint32, score float32)) error {
	inverse := e.inverse()
	seen := make([]uint8, bucketSize)
	scores := make([]float32, bucketSize)
	for b := range e.buckets {
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
		lists := &e.buckets[b]
		clear(seen)
		required := uint8(0)
		for i, s := range e.slots {
			before, after := required, required+1
			if e.plan.any {
				before, after = 0, 1
			}
			if s.exclude {
				before, after = required, math.MaxUint8
			} else {
				required = after
			}
			for _, l := range lists.slots[i] {
				first, end := e.bounds(lists.number, l.public)
				err := l.each(func(doc uint32, weight uint64) {
					switch {
					case doc < first || doc >= end || !lists.allowed.has(doc):
					case seen[doc] == before:
						if before == 0 {
							scores[doc] = 0
						}
						seen[doc] = after
						scores[doc] += inverse[i] * levels[weight]
					case seen[doc] == after: // another term with the prefix
						scores[doc] += inverse[i] * levels[weight]
					}
				})
				if err != nil {
					return e.index.failed(err)
				}
			}
		}
		for doc, n := range seen {
			if n == required {
				f(lists.number<<bucketBits+uint32(doc), scores[doc])
			}
		}
	}
	return nil
}

func (e *evaluation) seqOf(doc uint32) (protocol.Seq, error) {
	number := doc >> blockBits
	b := e.blocks[number]
	if b == nil {
		var err error
		b, err = e.index.readBlock(e.position, number)
		if err != nil {
			return 0, err
		}
		if len(e.blocks) > 256 {
			clear(e.blocks)
		}
		e.blocks[number] = b
	}
	if i := int(doc % blockSize); i < len(b.seqs) {
		return b.seqs[i], nil
	}
	return 0, e.index.failed(errPostings)
}
