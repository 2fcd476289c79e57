package turns

import (
	"container/list"
	"encoding/binary"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// index holds all threads and jobs as far as that takes no reading of the log.
type index struct {
	max, cost int                      // bytes, about
	all       map[protocol.Seq]*thread // threads and jobs
	threads   directory
	jobs      directory
	sessions  map[string]*session
	lru       *list.List // of *thread, the quietest at the back
}

// directory is all threads, or all jobs.
type directory struct {
	byID  map[protocol.ID]*thread
	order []protocol.Seq // by their beginning; dropped ones may be among them
}

func newIndex(most int) index {
	return index{
		max: most, all: make(map[protocol.Seq]*thread), lru: list.New(), sessions: make(map[string]*session),
		threads: directory{byID: make(map[protocol.ID]*thread)}, jobs: directory{byID: make(map[protocol.ID]*thread)},
	}
}

// role is the part of a participant in a thread.
type role uint8

const (
	noRole role = iota
	asker
	agent
)

// Bounds of one thread.
const (
	maxRoles = 64  // participants; the roles of more are not known
	maxTitle = 120 // bytes
)

// thread is a thread, or a job: then it has one turn, number 0, without a chat.
type thread struct {
	job     bool
	seq     protocol.Seq
	id      protocol.ID
	session string
	title   title
	roles   map[protocol.ParticipantID]role
	first   int     // number of the oldest turn that is kept
	turns   []*turn // from that one on
	element *list.Element
	cost    int
}

// title is the beginning of the first chat of a thread, or of the subject of a job. The masked form is
// computed when it is shown first, and again for other rules.
type title struct {
	reduce.Excerpt
	shown string
	rules uint64
	done  bool // shown is set
}

// turn is the index's record of a turn.
type turn struct {
	from     protocol.ParticipantID
	started  int64        // µs since 1970
	audience *audience    // nil: all participants
	chat     protocol.Seq // the first entry; of a job not a chat
	size
	latest    protocol.Seq
	deltas    []byte // from each entry after the chat to the one before it, as varints
	truncated bool
	contents  *contents // nil: in the log alone
}

// audience is who may see a chat that is addressed, or at least one entry of a job
// that has only addressed ones.
type audience struct{ to, thread []protocol.ParticipantID }

// Bounds of one turn. Entries beyond are left out, with some room beyond for
// entries that end a call or answer the chat.
const (
	maxItems    = 2048
	maxAllItems = 2 * maxItems
	maxBytes    = 8 << 20
	maxAllBytes = 2 * maxBytes
)

// size is the size of a turn.
type size struct{ items, bytes int }

func (s *size) admits(e *Entry) bool {
	if ends(e.Envelope.Kind) {
		return s.items < maxAllItems && s.bytes < maxAllBytes
	}
	return s.items < maxItems && s.bytes < maxBytes
}

func (s *size) add(e *Entry) {
	s.items++
	s.bytes += reduce.Weigh(e)
}

// ends reports whether a kind ends a call, a context or a turn.
func ends(k protocol.Kind) bool {
	switch k {
	case protocol.KindChat, protocol.KindChatCancel, protocol.KindMCPResponse, protocol.KindMCPWithdraw, protocol.KindMCPReject:
		return true
	}
	return k.ClosesContext()
}

func (t *turn) admits(e *Entry) bool {
	ok := t.size.admits(e)
	t.truncated = t.truncated || !ok
	return ok
}

func (th *thread) last() int { return th.first + len(th.turns) - 1 }

// turn returns the turn with a number; nil if it is not kept.
func (th *thread) turn(n int) *turn {
	if n < th.first || n > th.last() {
		return nil
	}
	return th.turns[n-th.first]
}

// What the index takes, in bytes, about.
const (
	threadCost = 650
	turnCost   = 250
	nameCost   = 64
)

func (x *index) charge(th *thread, n int) {
	th.cost += n
	x.cost += n
}

// directoryOf returns the directory that has a thread or a job.
func (x *index) directoryOf(job bool) *directory {
	if job {
		return &x.jobs
	}
	return &x.threads
}

// begin adds a thread, or a job.
func (x *index) begin(job bool, id protocol.ID, seq protocol.Seq, session string, about reduce.Excerpt) *thread {
	th := &thread{
		job: job, seq: seq, id: id, session: session, first: 1,
		title: title{Excerpt: about}, roles: make(map[protocol.ParticipantID]role),
	}
	if job {
		th.first = 0
	}
	x.all[seq] = th
	dir := x.directoryOf(job)
	dir.byID[id] = th
	dir.order = append(dir.order, seq)
	th.element = x.lru.PushFront(th)
	x.charge(th, threadCost+len(session)+th.title.Len())
	return th
}

func (x *index) beginTurn(th *thread, e *Entry) *turn {
	env := e.Envelope
	tu := &turn{from: env.From, started: env.TS.UnixMicro(), chat: env.Seq, latest: env.Seq}
	if len(env.To) > 0 {
		tu.audience = &audience{slices.Clone(env.To), slices.Clone(e.Thread)}
		x.charge(th, nameCost*(len(env.To)+len(e.Thread)))
	}
	th.turns = append(th.turns, tu)
	x.addToSession(th, env.Seq)
	x.charge(th, turnCost)
	return tu
}

// setRole records the role of a participant in a thread.
func (x *index) setRole(th *thread, who protocol.ParticipantID, as role) {
	if th.roles[who] == noRole {
		if len(th.roles) >= maxRoles {
			return
		}
		x.charge(th, nameCost)
	}
	th.roles[who] = as
}

// maxAudience bounds the participants that are recorded for a job.
const maxAudience = 64

// widen records who may see another entry of a job.
func (x *index) widen(th *thread, tu *turn, e *Entry) {
	if tu.audience == nil {
		return
	}
	before := tu.cost()
	if len(e.Envelope.To) == 0 {
		tu.audience = nil
	} else {
		for _, who := range slices.Concat([]protocol.ParticipantID{e.Envelope.From}, e.Envelope.To, e.Thread) {
			if len(tu.audience.thread) < maxAudience && !slices.Contains(tu.audience.thread, who) {
				tu.audience.thread = append(tu.audience.thread, who)
			}
		}
	}
	x.charge(th, tu.cost()-before)
}

// extend records that an entry belongs to a turn.
func (x *index) extend(th *thread, tu *turn, e *Entry) {
	x.lru.MoveToFront(th.element)
	tu.add(e)
	if th.job {
		x.widen(th, tu, e)
	}
	if e.Envelope.Seq == tu.chat {
		return
	}
	before := len(tu.deltas)
	tu.deltas = binary.AppendUvarint(tu.deltas, uint64(e.Envelope.Seq-tu.latest))
	tu.latest = e.Envelope.Seq
	x.charge(th, len(tu.deltas)-before)
}

// seqs returns the Seqs of all entries of the turn, in order.
func (t *turn) seqs() []protocol.Seq {
	list := append(make([]protocol.Seq, 0, t.items), t.chat)
	at := t.chat
	for rest := t.deltas; len(rest) > 0; {
		d, n := binary.Uvarint(rest)
		at += protocol.Seq(d)
		list = append(list, at)
		rest = rest[n:]
	}
	return list
}

// entry returns the first entry of a turn as far as the index knows it: enough to
// decide who may see it.
func (t *turn) entry() *Entry {
	env := &protocol.Envelope{From: t.from, Kind: protocol.KindChat, Seq: t.chat, TS: time.UnixMicro(t.started).UTC()}
	e := &Entry{Envelope: env}
	if t.audience != nil {
		env.To, e.Thread = t.audience.to, t.audience.thread
	}
	return e
}

// drop removes the quietest thread, or the older half of the turns of the only
// one, and returns their cached contents.
func (x *index) drop() []*contents {
	th, ok := x.lru.Back().Value.(*thread)
	if !ok {
		return nil
	}
	gone := th.turns
	if len(x.all) > 1 || len(gone) == 0 {
		x.forget(th)
	} else {
		half := (len(gone) + 1) / 2
		th.turns, gone = slices.Clone(gone[half:]), gone[:half]
		th.first += half
		x.dropFromSession(th, half)
		spent := 0
		for _, tu := range gone {
			spent += tu.cost()
		}
		x.charge(th, -spent)
	}
	var held []*contents
	for _, tu := range gone {
		if tu.contents != nil {
			held = append(held, tu.contents)
		}
	}
	return held
}

func (t *turn) cost() int {
	n := turnCost + len(t.deltas)
	if t.audience != nil {
		n += nameCost * (len(t.audience.to) + len(t.audience.thread))
	}
	return n
}

func (x *index) forget(th *thread) {
	x.cost -= th.cost
	x.lru.Remove(th.element)
	delete(x.all, th.seq)
	x.dropFromSession(th, len(th.turns))
	dir := x.directoryOf(th.job)
	if dir.byID[th.id] == th {
		delete(dir.byID, th.id)
	}
	if len(dir.order) > 2*len(dir.byID)+16 {
		dir.order = slices.DeleteFunc(dir.order, func(s protocol.Seq) bool { return x.all[s] == nil })
	}
}
