package turns

import (
	"sort"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// maxScanned is how many threads are looked at for one page; a page that ends
// there may be shorter than was asked for.
const maxScanned = 2000

// Threads returns the threads of which the viewer may see a turn, youngest
// first, limit of them at most (0: DefaultPage, at most MaxPage) and only such
// as began before a Seq (0: all). next is the bound of the next page; 0: there is
// none. Of each thread the beginning of one chat is masked, and nothing else.
func (t *Tracker) Threads(limit int, before protocol.Seq, v Viewer) (list []api.Thread, next protocol.Seq) {
	list = []api.Thread{}
	limit = pageSize(limit)
	d := t.display()
	for range maxScanned {
		th := t.threadBefore(before)
		if th == nil {
			return list, 0
		}
		if len(list) == limit {
			return list, before
		}
		before = th.seq
		if info, ok := t.describe(th, &v, d); ok {
			list = append(list, info)
		}
	}
	return list, before
}

// threadBefore returns the youngest thread that began before a Seq; nil: none.
func (t *Tracker) threadBefore(before protocol.Seq) *thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	order := t.index.order
	i := len(order)
	if before > 0 {
		i = sort.Search(len(order), func(i int) bool { return order[i] >= before })
	}
	for i--; i >= 0; i-- {
		if th := t.index.threads[order[i]]; th != nil && t.index.byID[th.id] == th {
			return th
		}
	}
	return nil
}

// describe returns a thread as a viewer may see it. It reports false when the
// viewer sees none of its turns.
func (t *Tracker) describe(th *thread, v *Viewer, d *display) (api.Thread, bool) {
	newest, _, err := t.refsBelow(th.id, 1, 0, v)
	if err != nil || len(newest) == 0 {
		return api.Thread{}, false
	}
	info := api.Thread{
		ThreadID: th.id, SessionID: SessionID(t.opts.Space, th.id), Seq: th.seq,
		LastTurn: newest[0].at.turn, UpdatedAt: micros(newest[0].started), StartedAt: micros(newest[0].started),
	}
	first, ok := t.outlinesBelow(th.id, 2, 1)
	if ok && len(first) > 0 && v.isVisible(first[0].entry) {
		info.Title, info.StartedAt = t.titleOf(th, d), micros(first[0].started)
	}
	return info, true
}

// titleOf returns the masked title of a thread.
func (t *Tracker) titleOf(th *thread, d *display) string {
	t.mu.Lock()
	now := th.title
	t.mu.Unlock()
	if now.done && now.rules == d.rules {
		return now.shown
	}
	now.shown, now.rules, now.done = now.masked(maxTitle, d.mask), d.rules, true
	t.mu.Lock()
	defer t.mu.Unlock()
	th.title = now
	return now.shown
}

func micros(n int64) api.Time { return api.Time{Time: time.UnixMicro(n).UTC()} }
