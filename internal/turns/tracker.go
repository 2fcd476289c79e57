package turns

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/answers"
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

	IndexBytes int // of the index of threads and turns, about; 0: 16 MiB
	// CacheBytes bounds the cached contents of turns, about; 0: 8 MiB.
	// Negative: nothing is cached, and Apply returns no events.
	CacheBytes int
	// IDs is how many ids of envelopes are known at least, and as many of chats
	// in addition; 0: 65,536. A correlation to an older one answers nothing. An
	// id takes about 40 bytes.
	IDs int
}

// Defaults of Options.
const (
	DefaultIndexBytes = 16 << 20
	DefaultCacheBytes = 8 << 20
	DefaultIDs        = 1 << 16
)

// Tracker holds the turns of one space. Its methods may be called concurrently;
// Apply by one goroutine, in order of the log.
type Tracker struct {
	opts  Options
	rules atomic.Uint64 // generation of the mask's rules

	mu       sync.Mutex   // never held while the log is read or a text is masked
	head     protocol.Seq // of the last entry applied
	chats    refs         // by the id of a chat
	others   refs         // by the id of any other envelope
	contexts refs         // by the first segment of a path, and by nestedName of the last
	answers  *answers.Tracker
	agents   refs // participants that opened contexts; the values are unused
	index    index
	cache    cache
}

// NewTracker returns a Tracker of an empty log.
func NewTracker(o Options) *Tracker {
	if o.IndexBytes <= 0 {
		o.IndexBytes = DefaultIndexBytes
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.IDs <= 0 {
		o.IDs = DefaultIDs
	}
	if o.Mask == nil {
		o.Mask = reduce.NoMask{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Tracker{
		opts: o, chats: newRefs(o.IDs), others: newRefs(o.IDs), contexts: newRefs(o.IDs/4 + 1), agents: newRefs(4096),
		answers: answers.NewTracker(),
		index:   newIndex(o.IndexBytes), cache: newCache(o.CacheBytes),
	}
}

// Head returns the Seq of the last entry that was applied.
func (t *Tracker) Head() protocol.Seq {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head
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
	if env.Seq <= t.head {
		return Event{}, false
	}
	t.head = env.Seq
	at, ok := t.locate(&e, it)
	if !ok {
		return Event{}, false
	}
	if env.Kind == protocol.KindChat {
		t.chats.put(string(env.ID), at)
	} else {
		t.others.put(string(env.ID), at)
	}
	if it == nil {
		return Event{}, false
	}
	return t.addLocked(ctx, at, &e, it)
}

// isRelevant reports whether turns show envelopes of a kind. Other kinds matter
// only for envelopes that correlate to them.
func isRelevant(k protocol.Kind) bool {
	switch k {
	case protocol.KindChat, protocol.KindChatCancel, protocol.KindMCPRequest, protocol.KindMCPResponse,
		protocol.KindMCPProposal, protocol.KindMCPWithdraw, protocol.KindMCPReject:
		return true
	}
	return k.IsReasoning()
}

// addLocked adds an entry to its turn.
func (t *Tracker) addLocked(ctx context.Context, at ref, e *Entry, it *reduce.Item) (Event, bool) {
	th := t.index.all[at.root]
	tu := th.turn(at.turn)
	if tu == nil || !tu.admits(e) {
		return Event{}, false
	}
	t.reviveLocked(ctx, tu)
	t.index.extend(th, tu, e)
	if tu.contents == nil {
		return Event{}, false
	}
	held := tu.contents
	held.items = append(held.items, it)
	t.cache.charge(held, it.Weight)
	t.cache.used.MoveToFront(held.element)
	agent, ended := held.live.Add(it)
	t.shrink()
	return Event{Seq: e.Envelope.Seq, at: at, agent: agent, bytes: tu.bytes}, ended
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
	r := &turnRef{tu: tu, seqs: tu.seqs()}
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
		for _, c := range t.index.drop() {
			t.cache.remove(c)
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
// when it belongs to none, or is too old to be known by its id. It does not check
// who may see that turn: [Tracker.Turn] and [Tracker.Job] do.
func (t *Tracker) TurnOf(id protocol.ID) (Key, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, known := t.chats.get(string(id))
	if !known {
		at, known = t.others.get(string(id))
	}
	if !known {
		return Key{}, false
	}
	if r := t.index.outlineOf(at); r != nil {
		return r.key, true
	}
	return Key{}, false
}

// sessions is the namespace of session ids.
var sessions = uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:meup:session"))

// SessionID names the session of a thread or a job: the UUID of version 5 of
// "SPACE/ID" in the namespace that is itself the UUID of the URL
// "urn:meup:session".
func SessionID(space string, id protocol.ID) string {
	return uuid.NewSHA1(sessions, []byte(space+"/"+string(id))).String()
}
