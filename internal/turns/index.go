package turns

import (
	"container/list"
	"encoding/binary"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// index is the threads, jobs and turns of a space: rows, of which the ones used last
// are in memory. A row that has changed stays in memory until it is saved.
type index struct {
	rows Rows
	salt []byte // of the hashes of names
	err  error  // the first error of rows; from then on there are no answers

	max, cost int // of the rows in memory that are saved, in bytes, about
	threads   map[protocol.Seq]*thread
	turns     map[ref]*turn
	lru       *list.List // of saved *thread and *turn, the ones not used for longest at the back

	unsavedThreads map[protocol.Seq]*thread
	unsavedTurns   map[ref]*turn
	buf            []byte
}

// node is the part of a thread or a turn by which the index keeps it in memory.
type node struct {
	element *list.Element // nil: it is not saved
	cost    int
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
	node
	job        bool
	seq        protocol.Seq
	id         protocol.ID
	session    string
	title      title
	roles      map[protocol.ParticipantID]role
	first, end int // numbers: of the oldest turn that is kept, and of the next one
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
	node
	at        ref
	from      protocol.ParticipantID
	started   int64        // µs since 1970
	audience  *audience    // nil: all participants
	chat      protocol.Seq // the first entry; of a job not a chat
	items     int          // entries
	bytes     int          // of their items, by reduce.Weigh
	latest    protocol.Seq
	deltas    []byte // from each entry after the chat to the one before it, as varints
	truncated bool
	contents  *contents // nil: in the log alone
}

// audience is who may see a chat that is addressed, or at least one entry of a job
// that has only addressed ones.
type audience struct{ to, others []protocol.ParticipantID }

// Bounds of one turn. Entries beyond are left out, with some room beyond for
// entries that end a call, answer the chat or rate the turn.
const (
	maxItems    = 2048
	maxAllItems = 2 * maxItems
	maxBytes    = 8 << 20
	maxAllBytes = 2 * maxBytes
)

// admits reports whether there is room for an entry of a kind.
func (t *turn) admits(k protocol.Kind) bool {
	switch k {
	case protocol.KindChat, protocol.KindChatCancel, protocol.KindMCPResponse, protocol.KindMCPWithdraw, protocol.KindMCPReject,
		protocol.KindReasoningConclusion, protocol.KindReasoningCancel, protocol.KindFeedback:
		return t.items < maxAllItems && t.bytes < maxAllBytes
	}
	return t.items < maxItems && t.bytes < maxBytes
}

func (th *thread) last() int { return th.end - 1 }

// What the index takes, in bytes, about.
const (
	threadCost = 650
	turnCost   = 250
	nameCost   = 64
)

func (th *thread) memory() int {
	return threadCost + len(th.session) + th.title.Len() + nameCost*len(th.roles)
}

func (t *turn) memory() int {
	n := turnCost + len(t.deltas)
	if t.audience != nil {
		n += nameCost * (len(t.audience.to) + len(t.audience.others))
	}
	return n
}

// begin adds a thread, or a job.
func (x *index) begin(job bool, id protocol.ID, seq protocol.Seq, session string, about reduce.Excerpt) *thread {
	th := &thread{
		job: job, seq: seq, id: id, session: session, first: 1, end: 1,
		title: title{Excerpt: about}, roles: make(map[protocol.ParticipantID]role),
	}
	if job {
		th.first, th.end = 0, 0
	}
	if before := x.byID(job, id); before != nil { // of two with one id, the younger one counts
		x.check(x.rows.Remove(directoryKey(job), before.seq))
	}
	x.threads[seq] = th
	x.changeThread(th)
	x.check(x.rows.Set(nameKey(job, id), appendSeq(nil, seq)))
	return th
}

func (x *index) beginTurn(th *thread, e *Entry) *turn {
	env := e.Envelope
	tu := &turn{at: ref{th.seq, th.end}, from: env.From, started: env.TS.UnixMicro(), chat: env.Seq, latest: env.Seq}
	if len(env.To) > 0 {
		tu.audience = &audience{slices.Clone(env.To), slices.Clone(e.Audience)}
	}
	if th.first == th.end { // the first one, or the first one that is kept
		x.check(x.rows.Add(directoryKey(th.job), th.seq, nil))
	}
	th.end++
	x.changeThread(th)
	x.turns[tu.at] = tu
	x.changeTurn(tu)
	at := encodeRef(tu.at, false)
	x.check(x.rows.Add(sessionKey(th.session), env.Seq, at))
	x.check(x.rows.Add(allTurns, env.Seq, at))
	return tu
}

// setRole records the role of a participant in a thread.
func (x *index) setRole(th *thread, who protocol.ParticipantID, as role) {
	if before := th.roles[who]; before == as || before == noRole && len(th.roles) >= maxRoles {
		return
	}
	th.roles[who] = as
	x.changeThread(th)
}

// maxAudience bounds the participants that are recorded for a job.
const maxAudience = 64

// extend records that an entry belongs to a turn, which is marked as changed, and of a
// job, who may see the entry.
func (t *turn) extend(e *Entry) {
	env := e.Envelope
	t.items++
	t.bytes += reduce.Weigh(e)
	switch {
	case !t.at.isJob() || t.audience == nil || env.Kind == protocol.KindFeedback:
	case len(env.To) == 0:
		t.audience = nil
	default:
		for _, who := range slices.Concat([]protocol.ParticipantID{env.From}, env.To, e.Audience) {
			if len(t.audience.others) < maxAudience && !slices.Contains(t.audience.others, who) {
				t.audience.others = append(t.audience.others, who)
			}
		}
	}
	if env.Seq == t.chat {
		return
	}
	t.deltas = binary.AppendUvarint(t.deltas, uint64(env.Seq-t.latest))
	t.latest = env.Seq
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
		env.To, e.Audience = t.audience.to, t.audience.others
	}
	return e
}
