package ring

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Redactor masks the data of one stream across the borders of its chunks.
// It holds back the end of a chunk that may be the beginning of a secret. Its
// methods must not be called concurrently.
type Redactor interface {
	// Data inspects a payload of stream.data and its unknown fields, an object or
	// absent. empty: all of its data is held back.
	Data(ctx context.Context, payload, extra protocol.Value) (r Redaction, empty bool, err error)
	// Rest returns the masked rest at the end of the stream, and the rules that
	// changed it.
	Rest() (text string, redacted []string)
	// Size is the number of bytes held back.
	Size() int
}

// Redaction is the result of masking a payload. For a rejected payload only Work
// is set.
type Redaction struct {
	Payload []byte   // the form to store; nil: unchanged
	Extra   []byte   // the same for the unknown fields, without braces
	Blocked []string // names of rules that removed text
	Warned  []string // names of rules that only log
	Work    int      // bytes scanned
}

// Bounds of the texts of streams.
const (
	maxStreamTexts = 4096     // of a space, and as many that were not opened
	maxOwnTexts    = 1 << 20  // bytes that one participant writes
	maxHubTexts    = 32 << 20 // bytes in all spaces
)

// StreamTexts are the inspected streams of a space: streams of reasoning, which
// are opened or written within a context. Their text is held back while it may be
// the beginning of a secret.
type StreamTexts struct {
	Total *atomic.Int64 // bytes in all spaces

	mu   sync.Mutex
	list map[string]*StreamText
	own  map[protocol.ParticipantID]int // bytes by writer
}

// StreamText is the text of one stream.
type StreamText struct {
	id     string
	Opener protocol.ParticipantID // "": the stream was not opened

	mu       sync.Mutex // held while a chunk is inspected
	redactor Redactor
	// Of the last chunk: the fields of the envelope that carries the rest.
	last     protocol.Envelope
	audience []protocol.ParticipantID
	spelling Spelling

	// Guarded by StreamTexts.mu.
	used   time.Time
	writer protocol.ParticipantID
	size   int
}

// Apply adds streams of reasoning that are opened, and drops the ones that were
// closed elsewhere.
func (t *StreamTexts) Apply(e *Entry, now time.Time) {
	switch e.Envelope.Kind {
	case protocol.KindStreamOpen:
		if e.Envelope.Context != "" {
			t.Get(e.Payload().Get("stream_id").Text(), e.Envelope.From, now)
		}
	case protocol.KindStreamClose:
		t.Remove(e.Payload().Get("stream_id").Text())
	}
}

// Get returns the text of a stream and creates it if needed; nil if there are too
// many. Opened streams have a bound of their own, so that streams that were not
// opened cannot displace them.
func (t *StreamTexts) Get(id string, opener protocol.ParticipantID, now time.Time) *StreamText {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, most := t.list[id], maxStreamTexts
	if opener != "" {
		most += maxStreams
	}
	if x == nil && len(t.list) < most && id != "" {
		if t.list == nil {
			t.list, t.own = make(map[string]*StreamText), make(map[protocol.ParticipantID]int)
		}
		x = &StreamText{id: id}
		t.list[id] = x
	}
	if x != nil {
		x.used = now
		if x.Opener == "" {
			x.Opener = opener
		}
	}
	return x
}

// Find returns the text of a stream; nil if there is none.
func (t *StreamTexts) Find(id string) *StreamText {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list[id]
}

// Remove drops a stream.
func (t *StreamTexts) Remove(id string) *StreamText {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.list[id]
	if x != nil {
		t.chargeLocked(x, x.writer, 0)
		delete(t.list, id)
	}
	return x
}

// Drop drops all streams of a retired space.
func (t *StreamTexts) Drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.list {
		t.Total.Add(int64(-x.size))
	}
	t.list, t.own = nil, nil
}

// ByParticipant returns the streams that a participant opened, or was the last to
// write to.
func (t *StreamTexts) ByParticipant(id protocol.ParticipantID) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for stream, x := range t.list {
		if x.Opener == id || x.writer == id {
			list = append(list, stream)
		}
	}
	slices.Sort(list)
	return list
}

// Oldest returns the least recently written of the streams that were not opened.
func (t *StreamTexts) Oldest() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *StreamText
	for _, x := range t.list {
		if x.Opener == "" && (found == nil || x.used.Before(found.used)) {
			found = x
		}
	}
	if found == nil {
		return ""
	}
	return found.id
}

// charge records the size of a stream and its writer.
func (t *StreamTexts) charge(x *StreamText, writer protocol.ParticipantID, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list[x.id] == x {
		t.chargeLocked(x, writer, size)
	}
}

func (t *StreamTexts) chargeLocked(x *StreamText, writer protocol.ParticipantID, size int) {
	t.Total.Add(int64(size - x.size))
	t.own[x.writer] -= x.size
	if t.own[x.writer] <= 0 {
		delete(t.own, x.writer)
	}
	x.writer, x.size = writer, size
	if size > 0 {
		t.own[writer] += size
	}
}

// Full reports whether a participant's bound or the hub's is exceeded.
func (t *StreamTexts) Full(writer protocol.ParticipantID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own[writer] > maxOwnTexts || t.Total.Load() > maxHubTexts
}

// StreamChunk is a chunk of a stream to be inspected, with its unknown fields, an object
// or absent.
type StreamChunk struct {
	Draft          *journal.Draft
	Spelling       Spelling
	Payload, Extra protocol.Value
}

// Data inspects a chunk; open returns a redactor for a new text. empty: all of
// its data is held back. before is the text that was held back for another writer
// or other recipients, to be delivered first; nil: none.
func (t *StreamTexts) Data(ctx context.Context, x *StreamText, c *StreamChunk, open func() Redactor) (r Redaction, empty bool, before *journal.Draft, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := &c.Draft.Envelope
	if last := &x.last; last.From != e.From || !slices.Equal(last.To, e.To) {
		before = x.restLocked()
		x.redactor = nil
	}
	if x.redactor == nil {
		x.redactor = open()
	}
	r, empty, err = x.redactor.Data(ctx, c.Payload, c.Extra)
	if err != nil {
		return r, false, before, err
	}
	x.last = *e
	x.last.Payload, x.last.Extra = nil, nil
	x.audience, x.spelling = c.Draft.Audience, c.Spelling
	x.spelling.ID, x.spelling.Sum = "", ""
	t.charge(x, e.From, x.redactor.Size())
	return r, empty, before, nil
}

// Rest returns the text that is held back, with the fields of the last chunk but
// without an id and a time; nil if there is none. The text must not be used again.
func (x *StreamText) Rest() *journal.Draft {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.restLocked()
}

// WrittenBy reports whether the participant wrote the last chunk.
func (x *StreamText) WrittenBy(id protocol.ParticipantID) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last.From == id
}

func (x *StreamText) restLocked() *journal.Draft {
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
		return nil // strings always marshal
	}
	e := x.last
	e.Payload = payload
	return &journal.Draft{Envelope: e, Audience: x.audience, Private: x.spelling.Note(nil, nil)}
}
