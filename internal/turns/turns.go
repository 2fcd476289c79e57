package turns

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// Entry is an envelope of the log with what decides who may see it. It is
// shared: read-only. In what a [Viewer] is asked about, the envelope has no
// payload.
type Entry struct {
	Envelope *protocol.Envelope
	// Thread names the senders of what it correlates to, directly or through
	// one another; the log keeps them with it.
	Thread []protocol.ParticipantID
}

// Reader is the log of one space.
type Reader interface {
	// Range yields the entries with first <= Seq <= last in order of Seq, as
	// far as they are still kept, hidden ones left out. It yields at most one
	// error, at the end. It may be called concurrently.
	Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[Entry, error]
}

// Viewer is who asks.
type Viewer struct {
	// Sees reports whether the viewer may see an entry; nil: it sees all.
	Sees func(*Entry) bool
	// Present reports whether a participant is connected: a turn whose agents
	// have all gone without ending it is interrupted. nil: everybody is.
	Present func(protocol.ParticipantID) bool
}

func (v *Viewer) sees(e *Entry) bool { return v.Sees == nil || v.Sees(e) }

// Masker takes secrets out of texts. It must always do the same with the same
// text, may be called concurrently, and should be quick: it sees every text
// that a turn shows.
type Masker interface {
	// Text returns a text as it may be shown.
	Text(text string) string
	// Parameters returns the arguments of a call, an object, as they may be
	// shown; nil: as they are.
	Parameters(arguments protocol.Value) json.RawMessage
}

// noMask shows everything.
type noMask struct{}

func (noMask) Text(text string) string                   { return text }
func (noMask) Parameters(protocol.Value) json.RawMessage { return nil }

// Options says of which space, and how much is remembered of it.
type Options struct {
	Space string
	// Reader gives back what is not in memory; nil: reading a turn that is not
	// fails.
	Reader Reader
	// Mask takes secrets out of what is shown; nil: all is shown as it is in
	// the log.
	Mask Masker

	IndexBytes int // of the index of threads and turns, about; 0: 16 MiB
	CacheBytes int // of contents of turns, about; 0: 8 MiB
	// IDs is how many ids of envelopes are known at least, and as many of
	// chats besides; 0: 65,536. What correlates to an older one answers
	// nothing that is known. An id takes about 40 bytes.
	IDs int
}

// Defaults of Options.
const (
	DefaultIndexBytes = 16 << 20
	DefaultCacheBytes = 8 << 20
	DefaultIDs        = 1 << 16
)

// Projection is the turns of one space. Its methods may be called
// concurrently; Apply by one goroutine, in order of the log.
type Projection struct {
	opts Options

	mu       sync.Mutex
	head     protocol.Seq // of the last entry applied
	chats    refs         // by the id of a chat
	others   refs         // by the id of any other envelope
	contexts refs         // by the first segment of a path
	agents   refs         // seen opening contexts; the values mean nothing
	index    index
	jobs     map[protocol.Seq]*job // by their first entry
	cache    cache
}

// New makes a projection of an empty log.
func New(o Options) *Projection {
	if o.IndexBytes <= 0 {
		o.IndexBytes = DefaultIndexBytes
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.IDs <= 0 {
		o.IDs = DefaultIDs
	}
	if o.Mask == nil {
		o.Mask = noMask{}
	}
	return &Projection{
		opts: o, chats: newRefs(o.IDs), others: newRefs(o.IDs), contexts: newRefs(o.IDs/4 + 1), agents: newRefs(4096),
		index: newIndex(o.IndexBytes), jobs: make(map[protocol.Seq]*job), cache: newCache(o.CacheBytes),
	}
}

// Head returns the Seq of the last entry that was applied.
func (p *Projection) Head() protocol.Seq {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head
}

// Apply takes the next entry of the log, which must not be a hidden one, and
// returns what listeners are to be told of it. An entry that is not behind all
// those before it (a live one without a Seq among them) is ignored.
func (p *Projection) Apply(e Entry) []Event {
	env := e.Envelope
	if env == nil {
		return nil
	}
	var it *item
	if counts(env.Kind) && env.From != protocol.Gateway {
		it = newItem(&e, p.opts.Mask) // whoever asks does not wait for that
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if env.Seq <= p.head {
		return nil
	}
	p.head = env.Seq
	at, ok := p.place(&e, it)
	if !ok {
		return nil
	}
	if env.Kind == protocol.KindChat {
		p.chats.put(string(env.ID), at)
	} else {
		p.others.put(string(env.ID), at)
	}
	switch {
	case it == nil:
		return nil
	case at.isJob():
		return p.noteJob(at, &e, it)
	}
	return p.noteTurn(at, &e, it)
}

// counts reports whether a kind says anything of a turn. Others matter only
// for what correlates to them.
func counts(k protocol.Kind) bool {
	switch k {
	case protocol.KindChat, protocol.KindChatCancel, protocol.KindMCPRequest, protocol.KindMCPResponse,
		protocol.KindMCPProposal, protocol.KindMCPWithdraw, protocol.KindMCPReject:
		return true
	}
	return k.IsReasoning()
}

// noteTurn adds an entry to its turn.
func (p *Projection) noteTurn(at ref, e *Entry, it *item) []Event {
	th := p.index.threads[at.root]
	tu := th.turn(at.turn)
	if tu == nil || !tu.admits(e) {
		return nil
	}
	p.index.extend(th, tu, e)
	if tu.warm == nil {
		return nil
	}
	ended := p.cache.add(tu.warm, it, weigh(e))
	items := tu.warm.snapshot()
	p.shrink()
	if ended == nil {
		return nil
	}
	return []Event{{
		Name: ReasoningUpdate, Seq: e.Envelope.Seq, agent: ended.from, items: items, bytes: tu.bytes,
		key: key{session: SessionID(p.opts.Space, th.id), thread: th.id, turn: at.turn},
	}}
}

// Remask says that the mask finds more than before, or something else. Turns
// that are over are read from the log again when somebody asks; what goes on,
// and titles, pass the mask once more.
func (p *Projection) Remask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, th := range p.index.threads {
		th.title = p.opts.Mask.Text(th.title)
	}
	for at := p.cache.used.Front(); at != nil; {
		w, ok := at.Value.(*warm)
		at = at.Next()
		switch {
		case !ok:
			continue
		case w.turn != nil && !w.live.going():
			p.cache.remove(w)
			continue
		}
		items := make([]*item, len(w.items))
		for i, it := range w.items {
			items[i] = it.masked(p.opts.Mask)
		}
		w.items, w.live, w.shown, w.shownItems = items, read(items), nil, 0
	}
}

// shrink keeps index and cache within their bounds.
func (p *Projection) shrink() {
	for p.index.cost > p.index.max {
		for _, w := range p.index.drop() {
			p.cache.remove(w)
		}
	}
	for p.cache.bytes > p.cache.max {
		w := p.cache.victim()
		p.cache.remove(w)
		if w.job != nil {
			delete(p.jobs, w.job.seq) // of a job there is nothing to come back to
		}
	}
}

// sessions is the namespace of session ids.
var sessions = uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:meup:session"))

// SessionID names the session of a thread: the UUID of version 5 of
// "SPACE/THREAD" in the namespace that is itself that of the URL
// "urn:meup:session".
func SessionID(space string, thread protocol.ID) uuid.UUID {
	return uuid.NewSHA1(sessions, []byte(space+"/"+string(thread)))
}

// key names a turn.
type key struct {
	session uuid.UUID
	thread  protocol.ID
	turn    int
}
