package turns

import (
	"context"
	"iter"
	"math"

	"github.com/meup-protocol/meup/protocol"
)

// outlineOf returns a turn or a job that the index has; nil: it was dropped.
func (x *index) outlineOf(at ref) *turnRef {
	if th := x.thread(at.root); th != nil {
		return x.outline(th, at.turn)
	}
	return nil
}

// Session returns turns and jobs of a session that the viewer may see: the newest
// limit of them that began before a Seq (0: of all), like History. Each has the id
// of its thread or job.
func (t *Tracker) Session(ctx context.Context, id string, limit int, before protocol.Seq, v Viewer) (*History, error) {
	list, last, more, err := t.page(ctx, t.inSession(id, before, &v), limit, &v)
	if err != nil {
		return nil, err
	}
	if last == nil && first(t.inSession(id, 0, &v)) == nil {
		return nil, t.unknown("session %s", id)
	}
	h := &History{SessionID: id, HasMore: more}
	for _, s := range list {
		h.Turns = append(h.Turns, s.In(s.key))
	}
	if more {
		h.Next = last.entry.Envelope.Seq
	}
	return h, nil
}

// inSession yields the turns and jobs of a session that a viewer may see, the
// newest first, like visible.
func (t *Tracker) inSession(id string, before protocol.Seq, v *Viewer) iter.Seq[*turnRef] {
	return inSteps(v, func(after *turnRef, most int) []*turnRef {
		if after != nil {
			before = after.entry.Envelope.Seq
		}
		return t.sessionOutlines(id, before, most)
	})
}

func (t *Tracker) sessionOutlines(id string, before protocol.Seq, most int) (some []*turnRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	if before == 0 {
		before = math.MaxUint64
	}
	rows, err := t.index.rows.Before(sessionKey(id), before, most)
	t.index.check(err)
	for _, row := range rows {
		d := &decoder{rest: row.Value}
		at, _ := d.ref()
		t.index.check(d.finish())
		if r := t.index.outlineOf(at); r != nil {
			some = append(some, r)
		}
	}
	return some
}

// SessionOf returns the session of a thread; "" if there is no such thread.
func (t *Tracker) SessionOf(thread protocol.ID) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if th := t.index.byID(false, thread); th != nil {
		return th.session
	}
	return ""
}
