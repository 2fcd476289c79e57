package turns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// ErrUnknown: the thread, turn or job does not exist, the viewer may not see it, or the
// log no longer has its beginning.
var ErrUnknown = errors.New("no such thread or turn")

// unknown returns ErrUnknown, or the error because of which the index has no answers.
func (t *Tracker) unknown(format string, args ...any) error {
	if err := t.Err(); err != nil {
		return err
	}
	return fmt.Errorf(format+": %w", append(args, ErrUnknown)...)
}

// Bounds of one page.
const (
	defaultPage  = 50
	MaxPage      = 200
	maxPageBytes = maxBytes // of contents; a page that reaches it ends there
	// maxScanned is how many threads are looked at for one page of threads; a page
	// that ends there may be shorter than was asked for.
	maxScanned = 2000
)

func pageSize(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, MaxPage)
}

// turnRef is a requested turn as it was at one moment.
type turnRef struct {
	at    ref
	key   Key
	tu    *turn
	entry *Entry // the first one, as far as the index has it
	bytes int

	// Set by load.
	truncated bool
	items     []*reduce.Item
	seqs      []protocol.Seq // of items that are to be read from the log
	shown     *reduce.View   // of all items, if it is cached
}

// outline copies the part of a turn that decides who may see it; nil: there is no
// such turn.
func (x *index) outline(th *thread, n int) *turnRef {
	tu := x.turn(th, n)
	if tu == nil {
		return nil
	}
	r := &turnRef{at: ref{th.seq, n}, key: Key{Session: th.session, Turn: n}, tu: tu, entry: tu.entry(), bytes: tu.bytes}
	if th.job {
		r.key.Job = th.id
	} else {
		r.key.Thread = th.id
	}
	return r
}

// newest is the number from which visible yields all turns downward.
const newest = math.MaxInt

// inSteps yields the turns from read that a viewer may see. read
// is called with the last one that it returned (nil: none yet) and how many to
// return. read takes the lock in short steps, so that Apply does not wait for long
// and the viewer is not asked under the lock.
func inSteps(v *Viewer, read func(after *turnRef, most int) []*turnRef) iter.Seq[*turnRef] {
	return func(yield func(*turnRef) bool) {
		var after *turnRef
		for most := 2; ; most = min(2*most, 64) {
			some := read(after, most)
			for _, r := range some {
				after = r
				if v.isVisible(r.entry) && !yield(r) {
					return
				}
			}
			if len(some) == 0 {
				return
			}
		}
	}
}

// visible yields the turns of a thread that a viewer may see: those with a number
// and higher, or with step -1 those with it and lower.
func (t *Tracker) visible(id protocol.ID, from, step int, v *Viewer) iter.Seq[*turnRef] {
	return inSteps(v, func(after *turnRef, most int) []*turnRef {
		if after != nil {
			from = after.at.turn + step
		}
		return t.outlines(id, from, step, most)
	})
}

func (t *Tracker) outlines(id protocol.ID, from, step, most int) (some []*turnRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	th := t.index.byID(false, id)
	if th == nil {
		return nil
	}
	n := min(from, th.last())
	if step > 0 {
		n = max(from, th.first)
	}
	for ; n >= th.first && n <= th.last() && len(some) < most; n += step {
		if r := t.index.outline(th, n); r != nil {
			some = append(some, r)
		}
	}
	return some
}

// nearest returns the first turn that visible yields; nil: none.
func (t *Tracker) nearest(id protocol.ID, from, step int, v *Viewer) *turnRef {
	return first(t.visible(id, from, step, v))
}

// first returns the first turn of a sequence; nil: none.
func first(all iter.Seq[*turnRef]) *turnRef {
	for r := range all {
		return r
	}
	return nil
}

// History returns turns of a thread that the viewer may see: the newest limit
// of them below the number before (0: of all). A limit of 0 is defaultPage, and
// MaxPage the highest. It ends earlier when the turns are very large. The error
// wraps [ErrUnknown], or is the log's.
func (t *Tracker) History(ctx context.Context, thread protocol.ID, limit, before int, v Viewer) (*History, error) {
	from := before - 1
	if before == 0 {
		from = newest
	}
	list, last, more, err := t.page(ctx, t.visible(thread, from, -1, &v), limit, &v)
	if err != nil {
		return nil, err
	}
	// A viewer that sees no turn gets the answer for a thread that does not exist.
	if last == nil && t.nearest(thread, newest, -1, &v) == nil {
		return nil, t.unknown("thread %s", thread)
	}
	h := &History{ThreadID: thread, SessionID: t.SessionOf(thread), HasMore: more}
	for _, s := range list {
		h.Turns = append(h.Turns, s.Turn)
	}
	return h, nil
}

// pageTurn is a turn of a page.
type pageTurn struct {
	Turn
	key Key
}

// page shows the first limit of the turns of a sequence from new to old, in
// chronological order. It also returns the oldest turn that it looked at, nil if
// there is none, and whether there are more.
func (t *Tracker) page(ctx context.Context, all iter.Seq[*turnRef], limit int, v *Viewer) (list []pageTurn, last *turnRef, more bool, err error) {
	var refs []*turnRef
	size := 0
	for r := range all {
		size += r.bytes
		if len(refs) == pageSize(limit) || len(refs) > 0 && size > maxPageBytes {
			more = true
			break
		}
		refs, last = append(refs, r), r
	}
	refs, err = t.load(ctx, refs)
	if err != nil {
		return nil, nil, false, err
	}
	d := t.display()
	size = 0
	for _, r := range refs {
		shown := t.view(r, v, d)
		if shown == nil {
			continue
		}
		size += shown.Bytes
		if size > maxPageBytes && len(list) > 0 {
			more = true
			break
		}
		list, last = append(list, pageTurn{shown.Show(v.Present), r.key}), r
	}
	slices.Reverse(list)
	return list, last, more, nil
}

// All yields all turns of a thread that the viewer may see, oldest first, and
// at most one error, at the end: it wraps [ErrUnknown], or is the log's. It reads
// one turn at a time.
func (t *Tracker) All(ctx context.Context, thread protocol.ID, v Viewer) iter.Seq2[*api.Turn, error] {
	return func(yield func(*api.Turn, error) bool) {
		yielded := false
		for r := range t.visible(thread, 1, 1, &v) {
			shown, visible, err := t.show(ctx, r, &v)
			if err != nil {
				yield(nil, err)
				return
			}
			if visible {
				yielded = true
				if !yield(&shown.Turn, nil) {
					return
				}
			}
		}
		if !yielded && t.nearest(thread, newest, -1, &v) == nil {
			yield(nil, t.unknown("thread %s", thread))
		}
	}
}

// Turn returns one turn of a thread. The error wraps [ErrUnknown], or is the
// log's.
func (t *Tracker) Turn(ctx context.Context, thread protocol.ID, number int, v Viewer) (Turn, error) {
	if r := t.nearest(thread, number, 1, &v); r != nil && r.at.turn == number {
		if shown, visible, err := t.show(ctx, r, &v); visible || err != nil {
			return shown, err
		}
	}
	return Turn{}, t.unknown("turn %d of thread %s", number, thread)
}

// Begins returns the Seq of the first question of a thread that a viewer may see. The error
// wraps [ErrUnknown].
func (t *Tracker) Begins(thread protocol.ID, v Viewer) (protocol.Seq, error) {
	if r := t.nearest(thread, 0, 1, &v); r != nil {
		return r.entry.Envelope.Seq, nil
	}
	return 0, t.unknown("thread %s", thread)
}

// Job returns a job, as the only turn of a page. The error wraps [ErrUnknown], or is
// the log's.
func (t *Tracker) Job(ctx context.Context, id protocol.ID, v Viewer) (*History, error) {
	if r := t.jobRef(id); r != nil && v.isVisible(r.entry) {
		shown, visible, err := t.show(ctx, r, &v)
		if err != nil {
			return nil, err
		}
		if visible {
			return &History{JobID: id, SessionID: r.key.Session, Turns: []Turn{shown}}, nil
		}
	}
	return nil, t.unknown("job %s", id)
}

func (t *Tracker) jobRef(id protocol.ID) *turnRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	if th := t.index.byID(true, id); th != nil {
		return t.index.outline(th, 0)
	}
	return nil
}

// show returns a turn that a viewer may see. It reports false if its chat, or the
// turn, is gone.
func (t *Tracker) show(ctx context.Context, r *turnRef, v *Viewer) (shown Turn, visible bool, err error) {
	refs, err := t.load(ctx, []*turnRef{r})
	if err != nil || len(refs) == 0 {
		return Turn{}, false, err
	}
	if out := t.view(r, v, t.display()); out != nil {
		return out.Show(v.Present), true, nil
	}
	return Turn{}, false, nil
}

// view renders a turn for a viewer; nil if it does not see the chat, or nothing of
// a job. The view of all items is cached.
func (t *Tracker) view(r *turnRef, v *Viewer, d *reduce.Display) *reduce.View {
	visible := filterVisible(r.items, v)
	if len(visible) == 0 || !r.at.isJob() && visible[0].Env().Seq != r.entry.Envelope.Seq {
		return nil
	}
	whole := len(visible) == len(r.items)
	if whole && r.shown != nil && r.shown.IsCurrent(r.truncated, d) {
		return r.shown
	}
	out := reduce.Build(visible).Render(r.key, r.truncated, d)
	if !whole || out == nil {
		return out
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if held := r.tu.contents; held != nil && len(held.items) == len(r.items) {
		t.cache.show(held, out)
		t.shrink()
	}
	return out
}

// filterVisible returns the items that a viewer may see: the same slice, if it
// is all.
func filterVisible(items []*reduce.Item, v *Viewer) []*reduce.Item {
	hidden := func(it *reduce.Item) bool { return !v.isVisible(&it.Entry) }
	if !slices.ContainsFunc(items, hidden) {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), hidden)
}

// History is a page of a thread or a session, oldest turn first, or a job as its
// only turn.
type History struct {
	ThreadID  protocol.ID // of a thread
	JobID     protocol.ID // of a job
	SessionID string
	Turns     []Turn
	HasMore   bool         // there are older turns
	Next      protocol.Seq // of a session: before for the page with them
}

// All yields the turns of the page, and no error.
func (h *History) All() iter.Seq2[*api.Turn, error] {
	return func(yield func(*api.Turn, error) bool) {
		for i := range h.Turns {
			if !yield(&h.Turns[i].Turn, nil) {
				return
			}
		}
	}
}

// Turn is a turn as it is shown to a viewer.
type Turn = reduce.Turn

// JSON encodes the page like an [api.History], each turn once for all viewers that
// see the same: most of the cost of a cached page is encoding.
func (h *History) JSON() ([]byte, error) {
	body, err := reduce.Encode(&api.History{ThreadID: h.ThreadID, JobID: h.JobID, SessionID: h.SessionID, Turns: []api.Turn{}, HasMore: h.HasMore, Next: h.Next})
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(h.Turns))
	for i := range h.Turns {
		list[i], err = h.Turns[i].JSON()
		if err != nil {
			return nil, err
		}
	}
	at := bytes.LastIndexByte(body, '[') + 1
	return slices.Concat(body[:at], bytes.Join(list, []byte{','}), body[at:]), nil
}
