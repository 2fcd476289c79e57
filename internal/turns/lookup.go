package turns

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/protocol"
)

// check records an error of the rows.
func (x *index) check(err error) {
	if x.err == nil {
		x.err = err
	}
}

func (x *index) get(key []byte) []byte {
	if x.err != nil {
		return nil
	}
	v, err := x.rows.Get(key)
	x.check(err)
	return v
}

// thread returns the thread or the job that begins with an entry; nil: there is none.
func (x *index) thread(seq protocol.Seq) *thread {
	if th := x.threads[seq]; th != nil {
		x.use(&th.node)
		return th
	}
	row := x.get(threadKey(seq))
	if row == nil {
		return nil
	}
	th, err := readThread(row, seq)
	if err != nil {
		x.check(err)
		return nil
	}
	x.threads[seq] = th
	x.keep(&th.node, th, th.memory())
	return th
}

// turn returns the turn with a number; nil: it is not kept.
func (x *index) turn(th *thread, n int) *turn {
	if n < th.first || n >= th.end {
		return nil
	}
	at := ref{th.seq, n}
	if tu := x.turns[at]; tu != nil {
		x.use(&tu.node)
		return tu
	}
	row := x.get(turnKey(at))
	if row == nil {
		return nil
	}
	tu, err := readTurn(row, at)
	if err != nil {
		x.check(err)
		return nil
	}
	x.turns[at] = tu
	x.keep(&tu.node, tu, tu.memory())
	return tu
}

// turnAt returns the turn of a reference; nil: it is not kept.
func (x *index) turnAt(at ref) *turn {
	if th := x.thread(at.root); th != nil {
		return x.turn(th, at.turn)
	}
	return nil
}

// byID returns the thread, or the job, with an id; nil: there is none.
func (x *index) byID(job bool, id protocol.ID) *thread {
	row := x.get(nameKey(job, id))
	if len(row) != 8 {
		return nil
	}
	return x.thread(protocol.Seq(binary.BigEndian.Uint64(row)))
}

// use marks a saved row as used.
func (x *index) use(n *node) {
	if n.element != nil {
		x.lru.MoveToFront(n.element)
	}
}

// keep adds a saved row to the ones that may be evicted.
func (x *index) keep(n *node, owner any, cost int) {
	n.cost = cost
	x.cost += cost
	n.element = x.lru.PushFront(owner)
}

// release takes a row from the ones that may be evicted.
func (x *index) release(n *node) {
	if n.element != nil {
		x.lru.Remove(n.element)
		n.element = nil
		x.cost -= n.cost
	}
}

// changeThread marks a thread as changed.
func (x *index) changeThread(th *thread) {
	x.release(&th.node)
	x.unsavedThreads[th.seq] = th
}

// changeTurn marks a turn as changed.
func (x *index) changeTurn(tu *turn) {
	x.release(&tu.node)
	x.unsavedTurns[tu.at] = tu
}

// save writes the changed rows. They are kept after the next Commit.
func (x *index) save() {
	for _, th := range x.unsavedThreads {
		x.buf = th.append(x.buf[:0])
		x.check(x.rows.Set(threadKey(th.seq), x.buf))
		x.keep(&th.node, th, th.memory())
	}
	for _, tu := range x.unsavedTurns {
		x.buf = tu.append(x.buf[:0])
		x.check(x.rows.Set(turnKey(tu.at), x.buf))
		x.keep(&tu.node, tu, tu.memory())
	}
	clear(x.unsavedThreads)
	clear(x.unsavedTurns)
}

// evict removes the saved row that was not used for longest from memory, and returns
// the cached contents of that turn.
func (x *index) evict() *contents {
	back := x.lru.Back()
	switch row := back.Value.(type) {
	case *thread:
		delete(x.threads, row.seq)
		x.release(&row.node)
	case *turn:
		delete(x.turns, row.at)
		x.release(&row.node)
		return row.contents
	}
	return nil
}

// trimTurn drops a turn or a job whose beginning the log no longer has, and returns
// its cached contents. A job is kept while the log has an entry of it. The thread
// keeps its number, without a title.
func (x *index) trimTurn(seq protocol.Seq, at ref, oldest protocol.Seq) *contents {
	th := x.thread(at.root)
	if th == nil {
		x.check(x.rows.Remove(allTurns, seq))
		return nil
	}
	if at.turn <= 1 && th.title.Len() > 0 {
		th.title = title{}
		x.changeThread(th)
	}
	tu := x.turn(th, at.turn)
	if tu != nil && at.isJob() && tu.latest >= oldest {
		return nil
	}
	x.check(x.rows.Remove(allTurns, seq))
	x.check(x.rows.Remove(sessionKey(th.session), seq))
	x.check(x.rows.Delete(turnKey(at)))
	th.first = max(th.first, at.turn+1)
	if th.first == th.end {
		x.check(x.rows.Remove(directoryKey(th.job), th.seq))
	}
	x.changeThread(th)
	if tu == nil {
		return nil
	}
	delete(x.turns, at)
	delete(x.unsavedTurns, at)
	x.release(&tu.node)
	return tu.contents
}

// names maps names to references: rows, of which the ones used last are in memory. The
// keys are hashes of 64 bits with a salt, since ids are chosen by their senders and may
// be long.
type names struct {
	index *index
	class byte
	most  int
	*recent.Map[uint64, place]
}

// place is where the envelope, the context or the participant of a name belongs.
type place struct {
	ref
	chat bool // the envelope is a chat
}

func (x *index) names(class byte, most int) names {
	return names{x, class, most, recent.New[uint64, place](most)}
}

func (x *index) hash(name string) uint64 {
	x.buf = append(append(x.buf[:0], x.salt...), name...)
	sum := sha256.Sum256(x.buf)
	return binary.BigEndian.Uint64(sum[:])
}

func (t *names) key(hash uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{t.class}, hash)
}

func (t *names) put(name string, p place) {
	h := t.index.hash(name)
	if before, ok := t.Get(h); ok && before == p {
		return
	}
	t.Put(h, p)
	t.index.check(t.index.rows.Set(t.key(h), encodeRef(p.ref, p.chat)))
}

func (t *names) get(name string) (p place, ok bool) {
	h := t.index.hash(name)
	p, ok = t.Get(h)
	if ok {
		return p, true
	}
	row := t.index.get(t.key(h))
	if row == nil {
		return place{}, false
	}
	d := &decoder{rest: row}
	p.ref, p.chat = d.ref()
	if err := d.finish(); err != nil {
		t.index.check(err)
		return place{}, false
	}
	t.Put(h, p)
	return p, true
}
