package turns

import (
	"sort"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// Threads returns the threads of which the viewer may see a turn, youngest
// first, limit of them at most (0: DefaultPage, at most MaxPage) and only such
// as began before a Seq (0: all). next is the bound of the next page; 0: there is
// none. Of each thread the beginning of one chat is masked, and nothing else.
func (t *Tracker) Threads(limit int, before protocol.Seq, v Viewer) (list []api.Thread, next protocol.Seq) {
	list = []api.Thread{}
	limit = pageSize(limit)
	d := t.display()
	for range maxScanned {
		th := t.listed(false, before)
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

// Jobs returns the jobs of which the viewer may see something, like Threads.
func (t *Tracker) Jobs(limit int, before protocol.Seq, v Viewer) (list []api.Job, next protocol.Seq) {
	list = []api.Job{}
	limit = pageSize(limit)
	d := t.display()
	for range maxScanned {
		th := t.listed(true, before)
		if th == nil {
			return list, 0
		}
		if len(list) == limit {
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
	return list, before
}

// listed returns the youngest thread, or job, that began before a Seq; nil: none.
func (t *Tracker) listed(job bool, before protocol.Seq) *thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir := t.index.directoryOf(job)
	i := len(dir.order)
	if before > 0 {
		i = sort.Search(len(dir.order), func(i int) bool { return dir.order[i] >= before })
	}
	for i--; i >= 0; i-- {
		if th := t.index.all[dir.order[i]]; th != nil && dir.byID[th.id] == th {
			return th
		}
	}
	return nil
}

// describe returns a thread as a viewer may see it. It reports false when the
// viewer sees none of its turns.
func (t *Tracker) describe(th *thread, v *Viewer, d *reduce.Display) (api.Thread, bool) {
	last := t.nearest(th.id, newest, -1, v)
	if last == nil {
		return api.Thread{}, false
	}
	updated := protocol.Time{Time: last.entry.Envelope.TS}
	info := api.Thread{
		ThreadID: th.id, SessionID: th.session, Seq: th.seq,
		LastTurn: last.at.turn, UpdatedAt: updated, StartedAt: updated,
	}
	if first := t.nearest(th.id, 1, 1, v); first != nil && first.at.turn == 1 {
		info.Title, info.StartedAt = t.titleOf(th, d), protocol.Time{Time: first.entry.Envelope.TS}
	}
	return info, true
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
