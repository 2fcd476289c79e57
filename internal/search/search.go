package search

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a search.
const (
	// maxSearches is how many searches run at once; others wait.
	maxSearches = 2
	// maxListBytes bounds the postings that a search reads: about 8 million.
	maxListBytes = 16 << 20
	// maxExpansion bounds the terms of all prefixes, and the kinds.
	maxExpansion = 4096
	// maxVerify bounds the envelopes that a search reads from the log.
	maxVerify = 2000
)

// Asker is a participant that searches.
type Asker struct {
	ID protocol.ParticipantID
	// VisibleAfter is the position up to which the asker sees only public
	// envelopes.
	VisibleAfter protocol.Seq
	// All: the asker may see every envelope.
	All bool
	// Read returns the envelope at a position of the log if the asker may see it
	// now, or else nil.
	Read func(ctx context.Context, seq protocol.Seq) (*protocol.Envelope, error)
	// Mask returns a text as it may be shown; nil: as it is.
	Mask func(string) string
}

// Hit is an envelope that a query selects.
type Hit struct {
	Envelope *protocol.Envelope
	Score    float32
	Snippet  Snippet
}

// Result is a page of hits, the best first; of equal ones, the newest first.
type Result struct {
	Hits []Hit
	// Next is the cursor of the next page; "": there is none.
	Next string
	// Partial reports that a bound was reached: there may be better hits, and
	// others than the pages have.
	Partial bool
	// Match is how many of the words the hits have: all, or any.
	Match Match
	// Position is the position of the index.
	Position Position
	Work     int // what the search has read, in bytes
}

// Search returns a page of the envelopes of a space that the asker may see and
// that the query selects. Errors: a SyntaxError, derivedb.ErrDamaged, ctx's, and the ones
// of Read.
func (x *Index) Search(ctx context.Context, space string, who Asker, q Query) (*Result, error) {
	plans, err := q.compile()
	if err != nil {
		return nil, err
	}
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	position, err := x.Position(space)
	if err != nil {
		return nil, err
	}
	r := &Result{Position: position}
	for _, p := range plans {
		r.Hits, r.Match = []Hit{}, MatchAll
		if p.any {
			r.Match = MatchAny
		}
		if position.Log == "" {
			continue
		}
		if p.after.upTo == 0 {
			p.after = cursor{upTo: position.Read}
			if p.Before > 0 {
				p.after.upTo = min(p.after.upTo, p.Before-1)
			}
		}
		p.after.query = p.hash()
		e, err := x.newEvaluation(ctx, p, who, position)
		if err == nil {
			err = e.gather()
		}
		if err == nil {
			err = e.fill(r)
		}
		if err != nil {
			return nil, err
		}
		r.Work += e.bytes
		if len(r.Hits) > 0 || r.Next != "" {
			break
		}
	}
	return r, nil
}

// fill ranks the candidates and reads them from the log until the page is full.
func (e *evaluation) fill(r *Result) error {
	reads := 0
	for len(r.Hits) < e.plan.limit {
		k := max(e.plan.limit-len(r.Hits), min(reads, maxVerify)) + 1
		candidates, err := e.rank(k)
		if err != nil {
			return err
		}
		for _, c := range candidates {
			if len(r.Hits) == e.plan.limit || reads == maxVerify {
				r.Partial = r.Partial || reads == maxVerify
				r.Next = e.plan.after.encode()
				r.Partial = r.Partial || e.partial
				return nil
			}
			reads++
			seq, err := e.seqOf(c.doc)
			if err != nil {
				return err
			}
			e.plan.after.score, e.plan.after.seq = c.score, seq
			hit, err := e.verify(seq, c.score)
			if err != nil {
				return err
			}
			if hit != nil {
				r.Hits = append(r.Hits, *hit)
			}
		}
		if len(candidates) < k {
			r.Partial = r.Partial || e.partial
			return nil
		}
	}
	r.Next, r.Partial = e.plan.after.encode(), r.Partial || e.partial
	return nil
}

// verify reads a candidate from the log; nil: it is no hit.
func (e *evaluation) verify(seq protocol.Seq, score float32) (*Hit, error) {
	env, err := e.who.Read(e.ctx, seq)
	p := e.plan
	switch {
	case err != nil:
		return nil, err
	case env == nil, !p.matcher.Match(env), !Searchable(env.Kind),
		!p.Since.IsZero() && env.TS.Before(p.Since), !p.Until.IsZero() && !env.TS.Before(p.Until):
		return nil, nil //nolint:nilnil // documented
	}
	e.bytes += len(env.Payload)
	payload := env.ParsePayload()
	s, ok := p.matches(payload, nil)
	if ok && e.who.Mask != nil {
		s, ok = p.matches(payload, e.who.Mask)
	}
	if !ok {
		return nil, nil //nolint:nilnil // documented
	}
	return &Hit{Envelope: env, Score: score, Snippet: s}, nil
}

// candidate is an envelope that the lists select.
type candidate struct {
	doc   uint32
	score float32
}

// compare orders candidates, the best first.
func (c candidate) compare(d candidate) int {
	return cmp.Or(cmp.Compare(d.score, c.score), cmp.Compare(d.doc, c.doc))
}

// worstFirst is a heap of the best candidates.
type worstFirst []candidate

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(candidate)) } //nolint:forcetypeassert // only candidates
func (h *worstFirst) Pop() any          { panic("unused") }

// rank returns the k best candidates after the cursor.
func (e *evaluation) rank(k int) ([]candidate, error) {
	best := make(worstFirst, 0, min(k, 1024))
	var after candidate
	if e.plan.after.seq > 0 {
		doc, err := e.index.docAt(e.position, e.plan.after.seq)
		if err != nil {
			return nil, err
		}
		after = candidate{doc, e.plan.after.score}
	}
	err := e.each(func(doc uint32, score float32) {
		c := candidate{doc, score}
		switch {
		case e.plan.after.seq > 0 && c.compare(after) <= 0:
		case len(best) < k:
			heap.Push(&best, c)
		case c.compare(best[0]) < 0:
			best[0] = c
			heap.Fix(&best, 0)
		}
	})
	slices.SortFunc(best, candidate.compare)
	return best, err
}
