package turns

import (
	"container/list"
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// Entry is an envelope of the log with the data that decides who may see it.
type Entry = reduce.Entry

// Masker removes secrets from texts.
type Masker = reduce.Masker

// Reader is the log of one space.
type Reader interface {
	// Range yields the entries with first <= Seq <= last in order of Seq, as
	// far as they are still kept, hidden ones left out. It yields at most one
	// error, at the end. It may be called concurrently.
	Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[Entry, error]
}

// Viewer is the participant for which an answer is made.
type Viewer struct {
	// Allows reports whether the viewer may see an entry; nil: it sees all.
	Allows func(*Entry) bool
	// Present reports whether a participant is connected: a turn whose agents
	// have all left without ending it is interrupted. nil: all are connected.
	Present func(protocol.ParticipantID) bool
}

func (v *Viewer) isVisible(e *Entry) bool { return v.Allows == nil || v.Allows(e) }

// Options configures a Tracker.
type Options struct {
	Space string
	// Reader reads envelopes that are not in memory; nil: reading such a turn
	// fails.
	Reader Reader
	// Mask removes secrets from shown texts; nil: texts are shown as logged.
	Mask  Masker
	Clock func() time.Time // nil: time.Now; proposals expire by it

	// Rows stores the index of turns; nil: in memory, without a bound.
	Rows Rows
	// IndexBytes bounds the rows that are in memory and saved, about; 0: 4 MiB.
	IndexBytes int
	// CacheBytes bounds the cached contents of turns, about; 0: 8 MiB.
	// Negative: nothing is cached, and Apply returns no events.
	CacheBytes int
	// IDs is how many ids of envelopes are in memory at least; 0: 4,096. The others
	// are read from Rows.
	IDs int
}

// Defaults of Options.
const (
	defaultIndexBytes = 4 << 20
	DefaultCacheBytes = 8 << 20
	defaultIDs        = 1 << 12
)

// Tracker holds the turns of one space. Its methods may be called concurrently;
// Apply by one goroutine, in order of the log.
type Tracker struct {
	opts  Options
	rules atomic.Uint64 // generation of the mask's rules

	mu        sync.Mutex // never held while the log is read or a text is masked
	last      mark       // the last entry applied
	envelopes names      // by id
	contexts  names      // by the first segment of a path, and by nestedName of the last
	agents    names      // participants that opened contexts; the places are unused
	answers   *exchange.Answers
	index     *index
	cache     cache
}

// NewTracker returns a Tracker of an empty log, in memory.
func NewTracker(o Options) *Tracker {
	o.Rows = nil
	t, _, _ := Open(o)
	return t
}

// Open returns a Tracker that goes on where the one that was saved in its Rows was,
// and the data that was saved with it; nil: it is of an empty log.
func Open(o Options) (t *Tracker, extra []byte, err error) {
	if o.Rows == nil {
		o.Rows = newMemoryRows()
	}
	if o.IndexBytes <= 0 {
		o.IndexBytes = defaultIndexBytes
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.IDs <= 0 {
		o.IDs = defaultIDs
	}
	if o.Mask == nil {
		o.Mask = reduce.NoMask{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	x := &index{
		rows: o.Rows, max: o.IndexBytes, threads: make(map[protocol.Seq]*thread), turns: make(map[ref]*turn), lru: list.New(),
		unsavedThreads: make(map[protocol.Seq]*thread), unsavedTurns: make(map[ref]*turn),
	}
	t = &Tracker{
		opts: o, envelopes: x.names(keyEnvelope, o.IDs), contexts: x.names(keyContext, o.IDs/4+1), agents: x.names(keyAgent, o.IDs/16+1),
		index: x, cache: cache{max: o.CacheBytes, used: list.New()},
	}
	extra, err = t.restore()
	return t, extra, err
}

// Head returns the Seq of the last entry that was applied.
func (t *Tracker) Head() protocol.Seq {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last.Seq
}

// Remask discards masked texts: the rules of the mask have changed. The next
// answer masks again the texts that it shows. Nothing else is dropped.
func (t *Tracker) Remask() { t.rules.Add(1) }

func (t *Tracker) display() *reduce.Display {
	return &reduce.Display{Mask: t.opts.Mask, Rules: t.rules.Load(), Now: t.opts.Clock()}
}

// Apply adds the next entry of the log, which must not be a hidden one, and
// returns the event for the step that it ends, if it ends one. An entry at or
// before the head (a live one without a Seq among them) is ignored. ctx bounds
// reading the log for the beginning of a turn that has left the cache.
func (t *Tracker) Apply(ctx context.Context, e Entry) (Event, bool) {
	env := e.Envelope
	if env == nil {
		return Event{}, false
	}
	var it *reduce.Item
	if isRelevant(env.Kind) && env.From != protocol.GatewayID {
		it = reduce.NewItem(&e) // parsed outside the lock
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	if env.Seq <= t.last.Seq {
		return Event{}, false
	}
	t.last = markOf(env)
	at, ok := t.locate(&e, it)
	if !ok {
		return Event{}, false
	}
	t.envelopes.put(string(env.ID), place{at, env.Kind == protocol.KindChat})
	if it == nil {
		return Event{}, false
	}
	tu := t.index.turnAt(at)
	if tu == nil {
		return Event{}, false
	}
	if !tu.admits(env.Kind) {
		if !tu.truncated {
			tu.truncated = true
			t.index.changeTurn(tu)
		}
		return Event{}, false
	}
	t.index.changeTurn(tu) // it stays in memory until it is saved
	if t.reviveLocked(ctx, tu); t.index.turns[at] != tu {
		return Event{}, false // the log has dropped its beginning meanwhile
	}
	tu.extend(&e)
	if tu.contents == nil {
		return Event{}, false
	}
	held := tu.contents
	held.items = append(held.items, it)
	t.cache.charge(held, it.Weight)
	t.cache.used.MoveToFront(held.element)
	agent, ended := held.live.Add(it)
	return Event{Seq: env.Seq, at: at, agent: agent, bytes: tu.bytes}, ended
}

// isRelevant reports whether turns show envelopes of a kind. Other kinds matter
// only for envelopes that correlate to them.
func isRelevant(k protocol.Kind) bool {
	switch k {
	case protocol.KindChat, protocol.KindChatCancel, protocol.KindFeedback, protocol.KindMCPRequest, protocol.KindMCPResponse,
		protocol.KindMCPProposal, protocol.KindMCPWithdraw, protocol.KindMCPReject:
		return true
	}
	return k.IsReasoning()
}

// maxRevive bounds the contents that Apply reads from the log for the sake of
// one entry, in bytes.
const maxRevive = 64 << 10

// reviveLocked brings the contents of a turn that goes on back into the cache,
// so that the end of a step in it is noticed. It releases the lock meanwhile.
// A turn that is too large for that, or that cannot be read now, has no events
// until someone asks for it.
func (t *Tracker) reviveLocked(ctx context.Context, tu *turn) {
	if tu.contents != nil || tu.items == 0 || tu.bytes > maxRevive || t.opts.Reader == nil || t.cache.max < 0 {
		return
	}
	r := &turnRef{at: tu.at, tu: tu, seqs: tu.seqs()}
	t.mu.Unlock()
	err := t.read(ctx, []*turnRef{r})
	t.mu.Lock()
	if err == nil && tu.contents == nil && len(r.items) == tu.items {
		t.cache.put(tu, r.items, reduce.Build(r.items))
	}
}

// shrink keeps index and cache within their bounds.
func (t *Tracker) shrink() {
	for t.index.cost > t.index.max {
		if held := t.index.evict(); held != nil {
			t.cache.remove(held)
		}
	}
	for t.cache.bytes > max(t.cache.max, 0) {
		t.cache.evict()
	}
}

// LimitCache bounds the cached contents from now on.
func (t *Tracker) LimitCache(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cache.max = bytes
	t.shrink()
}

// Key names a turn, or a job.
type Key = reduce.Key

// TurnOf returns the turn or the job that an envelope belongs to. It reports false
// when it belongs to none, or to one that the log no longer has. It does not check
// who may see that turn: [Tracker.Turn] and [Tracker.Job] do.
func (t *Tracker) TurnOf(id protocol.ID) (Key, bool) {
	k, _, known := t.Question(id)
	return k, known
}

// Question is TurnOf with the Seq of the turn's question, or of the first entry of the job.
func (t *Tracker) Question(id protocol.ID) (Key, protocol.Seq, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	at, known := t.envelopes.get(string(id))
	if !known {
		return Key{}, 0, false
	}
	if r := t.index.outlineOf(at.ref); r != nil {
		return r.key, r.entry.Envelope.Seq, true
	}
	return Key{}, 0, false
}

// sessions is the namespace of session ids.
var sessions = uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:meup:session"))

// SessionID names the session of a thread or a job: the UUID of version 5 of
// "SPACE/ID" in the namespace that is itself the UUID of the URL
// "urn:meup:session".
func SessionID(space string, id protocol.ID) string {
	return uuid.NewSHA1(sessions, []byte(space+"/"+string(id))).String()
}
