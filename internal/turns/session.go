package turns

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/meup-protocol/meup/protocol"
)

// session is the turns and jobs of one session, in order of their beginning.
type session struct {
	list    []sessionTurn
	dropped int // of the list; the index does not have them any more
}

// sessionTurn is a turn or a job of a session.
type sessionTurn struct {
	seq protocol.Seq // of its first entry
	at  ref
}

// addToSession records the newest turn of a thread.
func (x *index) addToSession(th *thread, seq protocol.Seq) {
	s := x.sessions[th.session]
	if s == nil {
		s = new(session)
		x.sessions[th.session] = s
	}
	s.list = append(s.list, sessionTurn{seq, ref{th.seq, th.last()}})
}

// dropFromSession records that the index has dropped n turns of a thread.
func (x *index) dropFromSession(th *thread, n int) {
	s := x.sessions[th.session]
	if s.dropped += n; s.dropped == len(s.list) {
		delete(x.sessions, th.session)
	} else if s.dropped > len(s.list)/2+16 {
		s.list, s.dropped = slices.DeleteFunc(s.list, func(e sessionTurn) bool { return x.outlineOf(e.at) == nil }), 0
	}
}

// outlineOf returns a turn or a job that the index has; nil: it was dropped.
func (x *index) outlineOf(at ref) *turnRef {
	if th := x.all[at.root]; th != nil {
		return th.outline(at.turn)
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
		return nil, fmt.Errorf("session %s: %w", id, ErrUnknown)
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
	s := t.index.sessions[id]
	if s == nil {
		return nil
	}
	i := len(s.list)
	if before > 0 {
		i = sort.Search(len(s.list), func(i int) bool { return s.list[i].seq >= before })
	}
	for i--; i >= 0 && len(some) < most; i-- {
		if r := t.index.outlineOf(s.list[i].at); r != nil {
			some = append(some, r)
		}
	}
	return some
}

// SessionOf returns the session of a thread; "" if there is no such thread.
func (t *Tracker) SessionOf(thread protocol.ID) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if th := t.index.threads.byID[thread]; th != nil {
		return th.session
	}
	return ""
}
