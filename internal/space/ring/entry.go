package ring

import (
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Entry is an envelope encoded for delivery and shared by all members of a space.
// It is encoded once for each dialect, on first use.
type Entry struct {
	// Envelope is shared: read-only.
	Envelope *protocol.Envelope

	audience []protocol.ParticipantID // senders of the envelopes that it correlates to
	except   protocol.ParticipantID   // excluded recipient (presence: the participant itself)
	hidden   bool                     // for gateways only
	// targeted: visible only to its addressees and observers, regardless of the space's
	// visibility.
	targeted bool
	note     []byte         // holds the spelling for other dialects
	parsed   protocol.Value // absent: Payload parses
	settles  protocol.ID    // the proposal that it decides
	after    protocol.Seq   // Seq of the last durable entry up to here
	lives    uint64         // number of entries without a Seq before it in the ring

	// spelled is the payload in each dialect, where they differ by more than the
	// name of a chat's text; nil: the Envelope's.
	spelled *[protocol.DialectCount]json.RawMessage

	frames [protocol.DialectCount]atomic.Pointer[[]byte]
}

// NewEntry returns an entry of the log, for delivery.
func NewEntry(e *journal.Entry) *Entry {
	return &Entry{Envelope: &e.Envelope, audience: e.Audience, hidden: e.Hidden, note: e.Private, settles: e.Settles, after: e.Envelope.Seq,
		parsed: e.Parsed, targeted: e.Envelope.Kind == protocol.KindStreamData && ReadSpelling(e.Private).Targeted}
}

// NewPresence returns an entry without a Seq that all but one participant
// receive, with a payload for each dialect.
func NewPresence(e *protocol.Envelope, except protocol.ParticipantID, spelled *[protocol.DialectCount]json.RawMessage) *Entry {
	return &Entry{Envelope: e, except: except, spelled: spelled}
}

// WithoutContent returns an entry with the same visibility, without payload.
func (e *Entry) WithoutContent() *Entry {
	env := *e.Envelope
	env.Payload, env.Extra = nil, nil
	return &Entry{Envelope: &env, audience: e.audience, hidden: e.hidden, targeted: e.targeted}
}

// Hidden reports whether only gateways read the entry.
func (e *Entry) Hidden() bool { return e.hidden }

// After returns the Seq of the last durable entry up to this one.
func (e *Entry) After() protocol.Seq { return e.after }

// Private returns [journal.Entry.Private].
func (e *Entry) Private() []byte { return e.note }

// Settles returns [journal.Entry.Settles].
func (e *Entry) Settles() protocol.ID { return e.settles }

// Parse parses the payload and keeps the parsed form until DropParsed. Only the
// goroutine that made the entry may call both, before it puts it into a ring.
func (e *Entry) Parse() { e.parsed = e.Payload() }

// DropParsed drops the parsed form of the payload.
func (e *Entry) DropParsed() { e.parsed = protocol.Value{} }

// Payload returns the parsed payload; absent if it cannot be parsed. It is parsed
// in each call, unless the entry keeps the parsed form.
func (e *Entry) Payload() protocol.Value {
	if e.parsed.Exists() {
		return e.parsed
	}
	return e.Envelope.ParsePayload()
}

// Frame returns the entry as one WebSocket text frame in the dialect. The
// bytes are shared: read-only.
func (e *Entry) Frame(d protocol.Dialect) []byte {
	if f := e.frames[d].Load(); f != nil {
		return *f
	}
	if d == protocol.DialectMEW04 && e.Envelope.Kind == protocol.KindStreamData {
		raw, ok := protocol.AppendStreamFrame(nil, e.Envelope.Payload)
		if ok { // else it is sent as an envelope
			f := appendTextFrame(nil, func(dst []byte) []byte { return append(dst, raw...) })
			e.frames[d].Store(&f)
			return f
		}
	}
	spelled := *e.Envelope
	if e.spelled != nil {
		spelled.Payload = e.spelled[d]
	}
	if d != protocol.DialectMEUP01 {
		sp := ReadSpelling(e.note)
		sp.Apply(&spelled)
	}
	f := AppendFrame(nil, d, &spelled)
	e.frames[d].Store(&f) // concurrent calls store equal bytes
	return f
}

// AppendFrame appends an envelope as one WebSocket text frame in the dialect.
func AppendFrame(dst []byte, d protocol.Dialect, e *protocol.Envelope) []byte {
	dst = slices.Grow(dst, len(e.Payload)+len(e.Extra)+320)
	return appendTextFrame(dst, func(dst []byte) []byte { return protocol.AppendEnvelope(dst, d, e) })
}

// JSON returns the entry as JSON in the dialect. The bytes are shared.
func (e *Entry) JSON(d protocol.Dialect) []byte { return framePayload(e.Frame(d)) }

// Size is the cost of the entry in the ring, in bytes.
func (e *Entry) Size() int {
	return 2*(len(e.Envelope.Payload)+len(e.Envelope.Extra)) + e.parsed.Footprint() + 512
}

// VisibleTo reports whether section 1 lets a participant see the entry. Do not
// cache the result: a reload, a grant, a revocation and the end of a grant change it.
func (e *Entry) VisibleTo(v Visibility) bool {
	if e.hidden || e.except == v.ID || e.targeted && !v.Observes && !e.Envelope.AddressedTo(v.ID) {
		return false
	}
	return v.Allows(e.Envelope, e.audience)
}

// AllParticipants in an audience makes an addressed envelope visible to all
// participants. It is not a valid participant id.
const AllParticipants protocol.ParticipantID = "*"

// Audience returns the senders of the envelopes that the entry
// correlates to, directly or through one another. Shared: read-only.
func (e *Entry) Audience() []protocol.ParticipantID { return e.audience }

// IsAddressed reports whether some participants may not see the entry.
func (e *Entry) IsAddressed() bool { return isAddressed(e.Envelope, e.audience) }

func isAddressed(e *protocol.Envelope, audience []protocol.ParticipantID) bool {
	return len(e.To) > 0 && !slices.Contains(audience, AllParticipants)
}

// EncodeTogether encodes the default frames of entries in one block of memory, so
// that a writer can write all of them as one slice.
func EncodeTogether(entries []*Entry) {
	var block []byte
	ends := make([]int, len(entries))
	size := 0
	for _, e := range entries {
		size += len(e.Envelope.Payload) + len(e.Envelope.Extra) + 320
	}
	block = make([]byte, 0, size)
	for i, e := range entries {
		block = AppendFrame(block, protocol.DialectMEUP01, e.Envelope)
		ends[i] = len(block)
	}
	start := 0
	for i, e := range entries {
		f := block[start:ends[i]]
		e.frames[protocol.DialectMEUP01].Store(&f)
		start = ends[i]
	}
}

// Viewer is a participant that reads a space.
type Viewer struct {
	ID protocol.ParticipantID
	// VisibleAfter is the position of the invitation that gave the viewer this
	// identity. Of the envelopes up to it, the viewer sees only the ones without
	// addressees. 0 for viewers with a token of the configuration or the issuer.
	VisibleAfter protocol.Seq
}

// Visibility decides which envelopes a viewer may see at one moment.
type Visibility struct {
	Viewer
	Everyone bool
	Observes bool
}

// Allows reports whether section 1 lets the viewer see an envelope of the log
// that is not hidden; audience is [Entry.Audience].
func (v Visibility) Allows(e *protocol.Envelope, audience []protocol.ParticipantID) bool {
	if !isAddressed(e, audience) || v.Everyone || v.Observes {
		return true
	}
	if e.Seq != 0 && e.Seq <= v.VisibleAfter {
		return false
	}
	return e.From == v.ID || e.AddressedTo(v.ID) || slices.Contains(audience, v.ID)
}
