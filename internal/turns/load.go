package turns

import (
	"context"
	"errors"
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// errNoReader is that of a projection without a log.
var errNoReader = errors.New("there is no log to read from")

// maxGap is how far apart two entries may be for the log to be read through
// from one to the other, rather than twice.
const maxGap = 128

// wanted is an entry that some pick needs.
type wanted struct {
	seq protocol.Seq
	by  *pick
}

// load reads the items of those picks that have none.
func (p *Projection) load(ctx context.Context, picks []*pick) error {
	var list []wanted
	for _, k := range picks {
		if k.items == nil {
			for _, seq := range k.seqs {
				list = append(list, wanted{seq, k})
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	if p.opts.Reader == nil {
		return errNoReader
	}
	slices.SortFunc(list, func(a, b wanted) int { return compare(a.seq, b.seq) })
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].seq-list[n-1].seq <= maxGap {
			n++
		}
		if err := p.loadRange(ctx, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	for _, k := range picks {
		if k.seqs != nil {
			p.keep(k)
		}
	}
	return nil
}

// loadRange reads what lies close together. What is wanted and not there any
// more is left out.
func (p *Projection) loadRange(ctx context.Context, list []wanted) error {
	for e, err := range p.opts.Reader.Range(ctx, list[0].seq, list[len(list)-1].seq) {
		if err != nil {
			return err
		}
		if e.Envelope == nil {
			continue
		}
		for len(list) > 0 && list[0].seq < e.Envelope.Seq {
			list = list[1:]
		}
		if len(list) > 0 && list[0].seq == e.Envelope.Seq {
			list[0].by.items = append(list[0].by.items, newItem(&e, p.opts.Mask))
		}
	}
	return ctx.Err()
}

// keep puts a turn that was read into the cache, if it is still the same.
func (p *Projection) keep(k *pick) {
	w := &warm{turn: k.tu, items: slices.Clip(k.items), live: read(k.items)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k.tu.warm != nil || k.tu.items != len(k.items) || !p.holdsLocked(k) {
		return
	}
	k.tu.warm = w
	p.cache.put(w)
	w.bytes += k.tu.bytes
	p.cache.bytes += k.tu.bytes
	p.shrink()
}

// holdsLocked reports whether the index still has the turn.
func (p *Projection) holdsLocked(k *pick) bool {
	th := p.index.byID[k.key.thread]
	return th != nil && th.turn(k.key.turn) == k.tu
}

func compare(a, b protocol.Seq) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
