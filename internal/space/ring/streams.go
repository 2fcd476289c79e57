package ring

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a space's open streams; a participant may use a quarter of them.
const (
	maxStreams       = 4096
	maxStreamDetails = 1 << 20 // bytes of the payloads that are repeated in welcomes
	maxStreamID      = 256     // bytes
)

// IsStream reports whether envelopes of the kind are about a stream.
func IsStream(k protocol.Kind) bool { return strings.HasPrefix(string(k), "stream.") }

// Stream is an open stream. Its slices are shared: read-only.
type Stream struct {
	Opened  protocol.Envelope // its stream.open, without the payload
	Owner   protocol.ParticipantID
	Writers []protocol.ParticipantID   // the owner is one of them
	Targets []protocol.ParticipantID   // exclusive receivers of its data; nil: all that may see the stream
	Details map[string]json.RawMessage // fields of its stream.open; nil if they are too large
	size    int                        // of details, in bytes
}

// Audience returns the participants that may see the stream; nil: all.
func (s *Stream) Audience() []protocol.ParticipantID {
	if len(s.Opened.To) == 0 {
		return nil
	}
	list := s.Opened.To
	if s.Opened.From != protocol.GatewayID {
		list = WithParticipant(list, s.Opened.From)
	}
	for _, id := range s.Writers {
		list = WithParticipant(list, id)
	}
	return list
}

// Streams holds the open streams of a space by id: who owns them and may write into
// them. It is a fold over the log, so
// all gateways agree on it, except for streams whose owner was lost with its
// gateway: each gateway drops these by itself.
type Streams struct {
	mu   sync.Mutex
	open map[string]Stream
}

// Apply folds an entry of the log. A request about a stream has an effect only if
// its sender owns the stream at that position in the log.
func (t *Streams) Apply(entry *Entry) {
	e, payload := entry.Envelope, entry.Payload()
	id := payload.Get("stream_id").Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	s, open := t.open[id]
	switch {
	case e.Kind == protocol.KindStreamOpen && !open:
		t.addLocked(id, e, payload)
		return
	case !open || e.From != s.Owner && e.From != protocol.GatewayID:
		return
	}
	switch e.Kind {
	case protocol.KindStreamClose:
		delete(t.open, id)
		return
	case protocol.KindStreamGrantWrite:
		s.Writers = WithParticipant(s.Writers, protocol.ParticipantIn(payload, "participant_id"))
	case protocol.KindStreamRevokeWrite:
		s.Writers = WithoutParticipant(s.Writers, protocol.ParticipantIn(payload, "participant_id"))
	case protocol.KindStreamWriteRevoked:
		if len(e.Correlation.IDs) > 0 {
			return // the answer to a request that was already folded
		}
		s.Writers = WithoutParticipant(s.Writers, protocol.ParticipantIn(payload, "participant_id"))
	case protocol.KindStreamTransfer:
		owner := protocol.ParticipantIn(payload, "new_owner")
		s.Writers = WithParticipant(WithoutParticipant(s.Writers, s.Owner), owner)
		s.Owner = owner
	}
	t.open[id] = s
}

func (t *Streams) addLocked(id string, e *protocol.Envelope, payload protocol.Value) {
	if id == "" || len(id) > maxStreamID || len(t.open) >= maxStreams {
		return
	}
	s := Stream{Owner: e.From, Opened: protocol.Envelope{From: e.From, To: e.To, TS: e.TS, Context: e.Context, Seq: e.Seq}}
	if e.From == protocol.GatewayID {
		s.Owner, s.Targets = protocol.ParticipantIn(payload, "owner"), StreamTargets(payload)
	}
	s.Writers = []protocol.ParticipantID{s.Owner}
	all, own := t.usedLocked(s.Owner)
	if n := len(e.Payload); all.bytes+n <= maxStreamDetails && own.bytes+n <= maxStreamDetails/4 &&
		json.Unmarshal(e.Payload, &s.Details) == nil {
		s.size = n
	}
	if t.open == nil {
		t.open = make(map[string]Stream)
	}
	t.open[id] = s
}

type streamUse struct{ streams, bytes int }

// usedLocked returns the use by all streams and by the streams of one
// participant.
func (t *Streams) usedLocked(id protocol.ParticipantID) (all, own streamUse) {
	for _, s := range t.open {
		all.streams++
		all.bytes += s.size
		if s.Owner == id {
			own.streams++
			own.bytes += s.size
		}
	}
	return all, own
}

// Get returns the stream of an id, if it is open.
func (t *Streams) Get(id string) (s Stream, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, open = t.open[id]
	return s, open
}

// NamedStream is a stream with its id.
type NamedStream struct {
	ID string
	Stream
}

// List returns the streams that a filter selects, the oldest first.
func (t *Streams) List(filter func(*Stream) bool) []NamedStream {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []NamedStream
	for id, s := range t.open {
		if filter(&s) {
			list = append(list, NamedStream{id, s})
		}
	}
	slices.SortFunc(list, func(a, b NamedStream) int { return cmp.Compare(a.Opened.Seq, b.Opened.Seq) })
	return list
}

// OwnedBy returns the streams of a participant.
func (t *Streams) OwnedBy(id protocol.ParticipantID) []NamedStream {
	return t.List(func(s *Stream) bool { return s.Owner == id })
}

// Drop removes streams, unless they have another owner by now.
func (t *Streams) Drop(list []NamedStream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range list {
		if t.open[s.ID].Owner == s.Owner {
			delete(t.open, s.ID)
		}
	}
}

// StreamTargets returns the targets of a stream, each once.
func StreamTargets(payload protocol.Value) []protocol.ParticipantID {
	target := payload.Get("target")
	if target.Type() == protocol.TypeString {
		return []protocol.ParticipantID{protocol.ParticipantID(target.Text())}
	}
	var list []protocol.ParticipantID
	for x := range target.Elements {
		list = WithParticipant(list, protocol.ParticipantID(x.Text()))
	}
	return list
}

// WithParticipant returns the list with a participant added; the list itself is not changed.
func WithParticipant(list []protocol.ParticipantID, id protocol.ParticipantID) []protocol.ParticipantID {
	if slices.Contains(list, id) {
		return list
	}
	return append(slices.Clip(list), id)
}

// WithoutParticipant returns the list without a participant; the list itself is not changed.
func WithoutParticipant(list []protocol.ParticipantID, id protocol.ParticipantID) []protocol.ParticipantID {
	return slices.DeleteFunc(slices.Clone(list), func(x protocol.ParticipantID) bool { return x == id })
}

// StreamRequest is an envelope about a stream, to be checked before it is admitted.
type StreamRequest struct {
	From    protocol.ParticipantID
	Kind    protocol.Kind
	Payload protocol.Value
	Size    int // of the payload, in bytes
	Opening int // streams that earlier, pending envelopes of the sender open
	// MEW: the sender is a client of MEW, see section 9.
	MEW bool
	// IsKnown and IsPresent report whether a participant is known to the space, and
	// connected.
	IsKnown, IsPresent func(protocol.ParticipantID) bool
}

// Check rejects an operation on a stream that its sender may not do.
func (t *Streams) Check(r *StreamRequest) error {
	id := r.Payload.Get("stream_id").Text()
	s, open := t.Get(id)
	switch r.Kind {
	case protocol.KindStreamRequest:
		if r.MEW {
			return t.checkRequest(r)
		}
		return nil
	case protocol.KindStreamOpen:
		switch {
		case !open && len(id) > maxStreamID:
			return &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/stream_id", Detail: "at most 256 bytes",
				Message: "The id of a stream may have at most 256 bytes."}
		case !open:
			return t.checkQuota(r, 0)
		}
	case protocol.KindStreamData:
		if slices.Contains(s.Writers, r.From) || !open && !r.MEW {
			return nil
		}
		if r.MEW {
			err := protocol.Errorf(protocol.CodeUnauthorizedStreamWrite, "You may not write into this stream, or it is not open.")
			err.StreamID = id[:min(len(id), maxStreamID)]
			return err
		}
	case protocol.KindStreamClose:
		if !open {
			return nil
		}
	case protocol.KindStreamGrantWrite, protocol.KindStreamRevokeWrite, protocol.KindStreamTransfer:
		return checkOwner(r, &s, open)
	default:
		return nil
	}
	if s.Owner != r.From {
		return protocol.Errorf(protocol.CodeIdentityMismatch, "The stream %s is %s's.", id, s.Owner)
	}
	return nil
}

func (t *Streams) checkRequest(r *StreamRequest) error {
	var unknown []protocol.ParticipantID
	for _, id := range StreamTargets(r.Payload) {
		if !r.IsKnown(id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		err := protocol.Errorf(protocol.CodeTargetNotFound, "This space does not know all of these targets; no stream was opened.")
		err.Targets = unknown
		return err
	}
	return t.checkQuota(r, r.Size)
}

// checkQuota checks that the sender may open another stream with the given bytes of details.
func (t *Streams) checkQuota(r *StreamRequest, bytes int) error {
	t.mu.Lock()
	all, own := t.usedLocked(r.From)
	t.mu.Unlock()
	if all.streams+r.Opening < maxStreams && own.streams+r.Opening < maxStreams/4 &&
		all.bytes+bytes <= maxStreamDetails && own.bytes+bytes <= maxStreamDetails/4 {
		return nil
	}
	err := protocol.Errorf(protocol.CodeRateLimited, "Too many streams are open, of yours or in this space; close some first.")
	err.Limit, err.RetryAfterMS = "open_streams", 1000
	return err
}

// checkOwner checks a grant, a revocation or a transfer.
func checkOwner(r *StreamRequest, s *Stream, open bool) error {
	whom := protocol.ParticipantIn(r.Payload, "participant_id")
	switch {
	case !open:
		return protocol.Errorf(protocol.CodeStreamNotFound, "No such stream is open.")
	case s.Owner != r.From && !r.MEW:
		return protocol.Errorf(protocol.CodeIdentityMismatch, "The stream is %s's.", s.Owner)
	case s.Owner != r.From:
		return protocol.Errorf(protocol.CodeUnauthorized, "The stream is %s's; only its owner can do this.", s.Owner)
	case r.Kind == protocol.KindStreamGrantWrite && !r.IsKnown(whom):
		return protocol.Errorf(protocol.CodeParticipantNotFound, "This space knows no participant of that id.")
	case r.Kind == protocol.KindStreamRevokeWrite && whom == s.Owner:
		return protocol.Errorf(protocol.CodeInvalidOperation, "The owner of a stream always may write; transfer or close it instead.")
	case r.Kind == protocol.KindStreamTransfer && !r.IsPresent(protocol.ParticipantIn(r.Payload, "new_owner")):
		return protocol.Errorf(protocol.CodeParticipantNotFound, "The new owner is not connected to this space.")
	}
	return nil
}
