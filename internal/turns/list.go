package turns

import (
	"iter"
	"math"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// Threads returns the threads of which the viewer may see a turn, youngest
// first, limit of them at most (0: defaultPage, at most MaxPage) and only such
// as began before a Seq (0: all). next is the bound of the next page; 0: there is
// none. Of each thread the beginning of one chat is masked, and nothing else.
func (t *Tracker) Threads(limit int, before protocol.Seq, v Viewer) (list []api.Thread, next protocol.Seq) {
	list = []api.Thread{}
	limit = pageSize(limit)
	d := t.display()
	scanned := 0
	for th := range t.listed(false, before) {
		scanned++
		if len(list) == limit || scanned > maxScanned {
			return list, before
		}
		before = th.seq
		last := t.nearest(th.id, newest, -1, &v)
		if last == nil {
			continue
		}
		updated := protocol.Time{Time: last.entry.Envelope.TS}
		info := api.Thread{
			ThreadID: th.id, SessionID: th.session, Seq: th.seq,
			LastTurn: last.at.turn, UpdatedAt: updated, StartedAt: updated,
		}
		if first := t.nearest(th.id, 1, 1, &v); first != nil && first.at.turn == 1 {
			info.Title, info.StartedAt = t.titleOf(th, d), protocol.Time{Time: first.entry.Envelope.TS}
		}
		list = append(list, info)
	}
	return list, 0
}

// Jobs returns the jobs of which the viewer may see something, like Threads.
func (t *Tracker) Jobs(limit int, before protocol.Seq, v Viewer) (list []api.Job, next protocol.Seq) {
	list = []api.Job{}
	limit = pageSize(limit)
	d := t.display()
	scanned := 0
	for th := range t.listed(true, before) {
		scanned++
		if len(list) == limit || scanned > maxScanned {
			return list, before
		}
		before = th.seq
		if r := t.jobRef(th.id); r != nil && v.isVisible(r.entry) {
			list = append(list, api.Job{
				JobID: th.id, SessionID: th.session, From: r.entry.Envelope.From, Title: t.titleOf(th, d),
				StartedAt: protocol.Time{Time: r.entry.Envelope.TS}, Seq: th.seq,
			})
		}
	}
	return list, 0
}

// listStep is how many threads are read at a time.
const listStep = 64

// listed yields the threads, or the jobs, that began before a Seq (0: all), the
// youngest first. It takes the lock in short steps.
func (t *Tracker) listed(job bool, before protocol.Seq) iter.Seq[*thread] {
	if before == 0 {
		before = math.MaxUint64
	}
	return func(yield func(*thread) bool) {
		for most := 2; ; most = min(2*most, listStep) {
			some, next := t.listSome(job, before, most)
			for _, th := range some {
				if !yield(th) {
					return
				}
			}
			if next == 0 {
				return
			}
			before = next
		}
	}
}

// listSome returns the threads of one step, and the Seq from which to go on; 0: there
// are no more.
func (t *Tracker) listSome(job bool, before protocol.Seq, most int) (some []*thread, next protocol.Seq) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	rows, err := t.index.rows.Before(directoryKey(job), before, most)
	t.index.check(err)
	for _, row := range rows {
		if th := t.index.thread(row.Seq); th != nil {
			some = append(some, th)
		}
		next = row.Seq
	}
	return some, next
}

// titleOf returns the masked title of a thread.
func (t *Tracker) titleOf(th *thread, d *reduce.Display) string {
	t.mu.Lock()
	now := th.title
	t.mu.Unlock()
	if now.done && now.rules == d.Rules {
		return now.shown
	}
	now.shown, now.rules, now.done = now.Masked(maxTitle, d.Mask), d.Rules, true
	t.mu.Lock()
	defer t.mu.Unlock()
	th.title = now
	return now.shown
}
