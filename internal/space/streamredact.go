package space

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// StreamRedactor masks the data of one stream across the borders of its chunks.
// It holds back the end of a chunk that may be the beginning of a secret. Its
// methods must not be called concurrently.
type StreamRedactor interface {
	// Data inspects a payload of stream.data and its unknown fields, an object or
	// absent. empty: all of its data is held back.
	Data(ctx context.Context, payload, extra protocol.Value) (r Redaction, empty bool, err *protocol.Error)
	// Rest returns the masked rest at the end of the stream, and the rules that
	// changed it.
	Rest() (text string, redacted []string)
	// Size is the number of bytes held back.
	Size() int
}

// Bounds of the texts of streams.
const (
	maxStreamTexts = 4096     // of a space, and as many that were not opened
	maxOwnTexts    = 1 << 20  // bytes that one participant writes
	maxHubTexts    = 32 << 20 // bytes in all spaces
)

// streamTexts are the inspected streams of a space: streams of reasoning, which
// are opened or written within a context.
type streamTexts struct {
	mu   sync.Mutex
	list map[string]*streamText
	own  map[protocol.ParticipantID]int // bytes by writer
}

// streamText is the text of one stream.
type streamText struct {
	id     string
	opener protocol.ParticipantID // "": the stream was not opened

	mu       sync.Mutex // held while a chunk is inspected
	redactor StreamRedactor
	// Of the last chunk: the fields of the envelope that carries the rest.
	last     protocol.Envelope
	thread   []protocol.ParticipantID
	spelling spelling

	// Guarded by streamTexts.mu.
	used   time.Time
	writer protocol.ParticipantID
	size   int
}

// apply adds streams of reasoning that are opened, and drops the ones that were
// closed elsewhere.
func (t *streamTexts) apply(s *Space, e *Entry) {
	switch e.Envelope.Kind {
	case protocol.KindStreamOpen:
		if e.Envelope.Context != "" {
			t.get(e.Payload().Get("stream_id").Text(), e.Envelope.From, s.now())
		}
	case protocol.KindStreamClose:
		t.remove(s, e.Payload().Get("stream_id").Text())
	}
}

// get returns the text of a stream and creates it if needed; nil if there are too
// many. Opened streams have a bound of their own, so that streams that were not
// opened cannot displace them.
func (t *streamTexts) get(id string, opener protocol.ParticipantID, now time.Time) *streamText {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, most := t.list[id], maxStreamTexts
	if opener != "" {
		most += maxStreams
	}
	if x == nil && len(t.list) < most && id != "" {
		if t.list == nil {
			t.list, t.own = make(map[string]*streamText), make(map[protocol.ParticipantID]int)
		}
		x = &streamText{id: id}
		t.list[id] = x
	}
	if x != nil {
		x.used = now
		if x.opener == "" {
			x.opener = opener
		}
	}
	return x
}

func (t *streamTexts) find(id string) *streamText {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list[id]
}

// remove drops a stream.
func (t *streamTexts) remove(s *Space, id string) *streamText {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.list[id]
	if x != nil {
		t.chargeLocked(s, x, x.writer, 0)
		delete(t.list, id)
	}
	return x
}

// drop drops all streams of a retired space.
func (t *streamTexts) drop(s *Space) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.list {
		s.hub.streamBytes.Add(int64(-x.size))
	}
	t.list, t.own = nil, nil
}

// byParticipant returns the streams that a participant opened, or was the last to
// write to.
func (t *streamTexts) byParticipant(id protocol.ParticipantID) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for stream, x := range t.list {
		if x.opener == id || x.writer == id {
			list = append(list, stream)
		}
	}
	slices.Sort(list)
	return list
}

// oldest returns the least recently written of the streams that were not opened.
func (t *streamTexts) oldest() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *streamText
	for _, x := range t.list {
		if x.opener == "" && (found == nil || x.used.Before(found.used)) {
			found = x
		}
	}
	if found == nil {
		return ""
	}
	return found.id
}

// charge records the size of a stream and its writer.
func (t *streamTexts) charge(s *Space, x *streamText, writer protocol.ParticipantID, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list[x.id] == x {
		t.chargeLocked(s, x, writer, size)
	}
}

func (t *streamTexts) chargeLocked(s *Space, x *streamText, writer protocol.ParticipantID, size int) {
	s.hub.streamBytes.Add(int64(size - x.size))
	if t.own[x.writer] -= x.size; t.own[x.writer] <= 0 {
		delete(t.own, x.writer)
	}
	if x.writer, x.size = writer, size; size > 0 {
		t.own[writer] += size
	}
}

// full reports whether a participant's bound or the hub's is exceeded.
func (t *streamTexts) full(s *Space, writer protocol.ParticipantID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own[writer] > maxOwnTexts || s.hub.streamBytes.Load() > maxHubTexts
}

// inspected returns the stream of an envelope's data; nil: the data is not
// inspected.
func (b *batch) inspected(p *Pending) (*streamText, *protocol.Error) {
	s, e := b.space, &p.draft.Envelope
	safety := s.hub.services.Safety
	if e.Kind != protocol.KindStreamData || safety == nil {
		return nil, nil
	}
	id := p.In.Payload.Get("stream_id").Text()
	x := s.texts.find(id)
	if x == nil && e.Context == "" && !safety.Applies(e.Kind) {
		return nil, nil
	}
	if x = s.texts.get(id, "", b.now); x == nil {
		s.endStream(s.texts.oldest()) // perhaps of a sender without a connection
		x = s.texts.get(id, "", b.now)
	}
	if x == nil || s.texts.full(s, b.from.ID) {
		err := protocol.Errorf(protocol.CodeRateLimited, "Too much text of streams is held back, or too many streams are open; close some first.")
		err.Limit, err.RetryAfterMS = "stream_bytes", 1000
		return nil, err
	}
	return x, nil
}

// redactStream masks a chunk of a stream and charges the work to the sender. It
// reports whether there is anything to deliver. before is the text that was held
// back for another writer or other recipients, to be delivered first; nil: none.
func (b *batch) redactStream(ctx context.Context, p *Pending) (deliver bool, before *journal.Draft, err *protocol.Error) {
	x, err := b.inspected(p)
	if x == nil {
		return err == nil, nil, err
	}
	e := &p.draft.Envelope
	x.mu.Lock()
	defer x.mu.Unlock()
	empty := false
	_, err = b.inspect(p, func(extra protocol.Value) (r Redaction, err *protocol.Error) {
		if last := &x.last; last.From != e.From || !slices.Equal(last.To, e.To) {
			before = x.restLocked(b.space)
			x.redactor = nil
		}
		if x.redactor == nil {
			x.redactor = b.space.hub.services.Safety.Stream()
		}
		r, empty, err = x.redactor.Data(ctx, p.In.Payload, extra)
		return r, err
	})
	if err != nil {
		return false, before, err
	}
	x.last = *e
	x.last.Payload, x.last.Extra = nil, nil
	x.thread, x.spelling = p.draft.Audience, p.spelling
	x.spelling.ID, x.spelling.Sum = "", ""
	b.space.texts.charge(b.space, x, b.from.ID, x.redactor.Size())
	return !empty, before, nil
}

// stream delivers the part of a chunk that is not held back.
func (b *batch) stream(ctx context.Context, p *Pending) {
	deliver, before, err := b.redactStream(ctx, p)
	if before != nil {
		b.space.publishLive(before)
	}
	switch {
	case err != nil:
		b.refuse(p, err)
	case deliver:
		p.Seq = b.space.publishLive(&p.draft)
	default:
		p.Seq = b.space.Head()
	}
}

// followStream tracks the streams that the sender opens and closes. A stream of
// reasoning is inspected from its first chunk on, and its rest is delivered
// before its close.
func (b *batch) followStream(p *Pending) {
	e := &p.draft.Envelope
	id := p.In.Payload.Get("stream_id").Text()
	switch {
	case e.Kind == protocol.KindStreamOpen && e.Context != "":
		b.space.texts.get(id, e.From, b.now)
	case e.Kind == protocol.KindStreamClose:
		if x := b.space.texts.find(id); x != nil && (x.opener != "" || x.writtenBy(e.From)) {
			b.space.endStream(id)
		}
	}
}

func (x *streamText) writtenBy(id protocol.ParticipantID) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last.From == id
}

// endStreamsOf delivers the rests of a leaving participant's streams. Others may
// continue to write into streams that they did not open.
func (s *Space) endStreamsOf(id protocol.ParticipantID) {
	for _, stream := range s.texts.byParticipant(id) {
		x := s.texts.find(stream)
		s.endStream(stream)
		if x != nil && x.opener != "" && x.opener != id {
			s.texts.get(stream, x.opener, s.now())
		}
	}
}

// endStream delivers the rest of a stream, as data of the participant that wrote
// it, and drops the stream.
func (s *Space) endStream(id string) {
	x := s.texts.remove(s, id)
	if x == nil {
		return
	}
	x.mu.Lock()
	rest := x.restLocked(s)
	x.mu.Unlock()
	if rest != nil {
		s.publishLive(rest)
	}
}

// restLocked returns the text that is held back, with the fields of the last
// chunk; nil if there is none. The redactor must not be used again.
func (x *streamText) restLocked(s *Space) *journal.Draft {
	if x.redactor == nil {
		return nil
	}
	rest, redacted := x.redactor.Rest()
	if rest == "" {
		return nil
	}
	payload, err := json.Marshal(struct {
		StreamID string   `json:"stream_id"`
		Data     string   `json:"data"`
		Redacted []string `json:"redacted,omitempty"`
	}{x.id, rest, redacted})
	if err != nil {
		s.log.Error("encode the rest of a stream", "stream", x.id, "error", err)
		return nil
	}
	e := x.last
	e.ID, e.TS, e.Payload = s.hub.newID(), s.now(), payload
	note := (&Pending{spelling: x.spelling}).note()
	return &journal.Draft{Envelope: e, Audience: x.thread, Private: note}
}
