package turns

import (
	"sort"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// maxLooked is how many threads are looked at for one page; a page that ends
// there may be shorter than was asked for.
const maxLooked = 2000

// Threads returns the threads of which the viewer may see something, those
// that began last first, limit of them at most (0: DefaultPage, at most
// MaxPage) and only such as began before a Seq (0: all). next is the bound of
// the page behind this one; 0: there is none.
func (p *Projection) Threads(limit int, before protocol.Seq, v Viewer) (list []ThreadInfo, next protocol.Seq) {
	list = []ThreadInfo{}
	limit = pageSize(limit)
	for range maxLooked {
		th, ok := p.threadBefore(before)
		if !ok {
			return list, 0
		}
		if len(list) == limit {
			return list, before
		}
		before = th.Seq
		if p.describe(&th, &v) {
			list = append(list, th)
		}
	}
	return list, before
}

// threadBefore returns the youngest thread that began before a Seq.
func (p *Projection) threadBefore(before protocol.Seq) (ThreadInfo, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	order := p.index.order
	i := len(order)
	if before > 0 {
		i = sort.Search(len(order), func(i int) bool { return order[i] >= before })
	}
	for i--; i >= 0; i-- {
		th := p.index.threads[order[i]]
		if th == nil || p.index.byID[th.id] != th {
			continue
		}
		return ThreadInfo{ThreadID: th.id, SessionID: SessionID(p.opts.Space, th.id), Title: th.title, Seq: th.seq}, true
	}
	return ThreadInfo{}, false
}

// describe fills in what the viewer may know of a thread, and reports whether
// that is anything.
func (p *Projection) describe(th *ThreadInfo, v *Viewer) bool {
	newest, _, err := p.pickSome(th.ThreadID, 1, 0, v)
	if err != nil || len(newest) == 0 {
		return false
	}
	th.LastTurn, th.UpdatedAt = newest[0].key.turn, micros(newest[0].started)
	first, ok := p.pickBelow(th.ThreadID, 2, 1)
	if ok && len(first) > 0 && v.sees(first[0].entry) {
		th.StartedAt = micros(first[0].started)
		return true
	}
	th.Title, th.StartedAt = "", th.UpdatedAt
	return true
}

func micros(n int64) Time { return Time{time.UnixMicro(n).UTC()} }
