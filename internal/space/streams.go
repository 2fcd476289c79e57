package space

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a space's open streams; a participant may use a quarter of them.
const (
	maxStreams       = 4096
	maxStreamDetails = 1 << 20 // bytes of the payloads that are repeated in welcomes
	maxStreamID      = 256     // bytes
)

// stream is an open stream. Its slices are shared: read-only.
type stream struct {
	opened  protocol.Envelope // its stream.open, without the payload
	owner   protocol.ParticipantID
	writers []protocol.ParticipantID   // the owner is one of them
	targets []protocol.ParticipantID   // exclusive receivers of its data; nil: all that may see the stream
	details map[string]json.RawMessage // fields of its stream.open; nil if they are too large
	size    int                        // of details, in bytes
}

// audience returns the participants that may see the stream; nil: all.
func (s *stream) audience() []protocol.ParticipantID {
	if len(s.opened.To) == 0 {
		return nil
	}
	list := s.opened.To
	if s.opened.From != protocol.GatewayID {
		list = with(list, s.opened.From)
	}
	for _, id := range s.writers {
		list = with(list, id)
	}
	return list
}

// streams holds the open streams of a space by id. It is a fold over the log, so
// all gateways agree on it, except for streams whose owner was lost with its
// gateway: each gateway drops these by itself.
type streams struct {
	mu   sync.Mutex
	open map[string]stream
}

// apply folds an entry of the log. A request about a stream has an effect only if
// its sender owns the stream at that position in the log.
func (t *streams) apply(entry *Entry) {
	e, payload := entry.Envelope, entry.Payload()
	id := payload.Get("stream_id").Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	s, open := t.open[id]
	switch {
	case e.Kind == protocol.KindStreamOpen && !open:
		t.addLocked(id, e, payload)
		return
	case !open || e.From != s.owner && e.From != protocol.GatewayID:
		return
	}
	switch e.Kind {
	case protocol.KindStreamClose:
		delete(t.open, id)
		return
	case protocol.KindStreamGrantWrite:
		s.writers = with(s.writers, participantIn(payload, "participant_id"))
	case protocol.KindStreamRevokeWrite:
		s.writers = without(s.writers, participantIn(payload, "participant_id"))
	case protocol.KindStreamWriteRevoked:
		if len(e.Correlation.IDs) > 0 {
			return // the answer to a request that was already folded
		}
		s.writers = without(s.writers, participantIn(payload, "participant_id"))
	case protocol.KindStreamTransfer:
		owner := participantIn(payload, "new_owner")
		s.writers = with(without(s.writers, s.owner), owner)
		s.owner = owner
	}
	t.open[id] = s
}

func (t *streams) addLocked(id string, e *protocol.Envelope, payload protocol.Value) {
	if id == "" || len(id) > maxStreamID || len(t.open) >= maxStreams {
		return
	}
	s := stream{owner: e.From, opened: protocol.Envelope{From: e.From, To: e.To, TS: e.TS, Context: e.Context, Seq: e.Seq}}
	if e.From == protocol.GatewayID {
		s.owner, s.targets = participantIn(payload, "owner"), targetsIn(payload)
	}
	s.writers = []protocol.ParticipantID{s.owner}
	all, own := t.usedLocked(s.owner)
	if n := len(e.Payload); all.bytes+n <= maxStreamDetails && own.bytes+n <= maxStreamDetails/4 &&
		json.Unmarshal(e.Payload, &s.details) == nil {
		s.size = n
	}
	if t.open == nil {
		t.open = make(map[string]stream)
	}
	t.open[id] = s
}

type streamUse struct{ streams, bytes int }

// usedLocked returns the use by all streams and by the streams of one
// participant.
func (t *streams) usedLocked(id protocol.ParticipantID) (all, own streamUse) {
	for _, s := range t.open {
		all.streams++
		all.bytes += s.size
		if s.owner == id {
			own.streams++
			own.bytes += s.size
		}
	}
	return all, own
}

// admits reports whether a participant may open another stream with the given
// bytes of details; waiting is the number of its pending opens.
func (t *streams) admits(id protocol.ParticipantID, waiting, bytes int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, own := t.usedLocked(id)
	return all.streams+waiting < maxStreams && own.streams+waiting < maxStreams/4 &&
		all.bytes+bytes <= maxStreamDetails && own.bytes+bytes <= maxStreamDetails/4
}

func (t *streams) get(id string) (s stream, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, open = t.open[id]
	return s, open
}

// namedStream is a stream with its id.
type namedStream struct {
	id string
	stream
}

// list returns the streams that a filter selects, the oldest first.
func (t *streams) list(filter func(*stream) bool) []namedStream {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []namedStream
	for id, s := range t.open {
		if filter(&s) {
			list = append(list, namedStream{id, s})
		}
	}
	slices.SortFunc(list, func(a, b namedStream) int { return cmp.Compare(a.opened.Seq, b.opened.Seq) })
	return list
}

func (t *streams) ownedBy(id protocol.ParticipantID) []namedStream {
	return t.list(func(s *stream) bool { return s.owner == id })
}

// drop removes streams, unless they have another owner by now.
func (t *streams) drop(list []namedStream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range list {
		if t.open[s.id].owner == s.owner {
			delete(t.open, s.id)
		}
	}
}

// targetsIn returns the targets of a stream, each once.
func targetsIn(payload protocol.Value) []protocol.ParticipantID {
	target := payload.Get("target")
	if target.Type() == protocol.TypeString {
		return []protocol.ParticipantID{protocol.ParticipantID(target.Text())}
	}
	var list []protocol.ParticipantID
	for x := range target.Elements {
		list = with(list, protocol.ParticipantID(x.Text()))
	}
	return list
}

// with returns the list with a participant added; the list itself is not changed.
func with(list []protocol.ParticipantID, id protocol.ParticipantID) []protocol.ParticipantID {
	if slices.Contains(list, id) {
		return list
	}
	return append(slices.Clip(list), id)
}

// without returns the list without a participant; the list itself is not changed.
func without(list []protocol.ParticipantID, id protocol.ParticipantID) []protocol.ParticipantID {
	return slices.DeleteFunc(slices.Clone(list), func(x protocol.ParticipantID) bool { return x == id })
}

// activeStreams lists the streams that a viewer may see, for its welcome.
func (s *Space) activeStreams(visible Visibility) *[]any {
	items := []any{}
	for _, x := range s.streams.list(func(x *stream) bool {
		return visible.Allows(&x.opened, nil) || slices.Contains(x.audience(), visible.ID)
	}) {
		if s.hub.services.Peers != nil && !s.IsPresent(x.owner) {
			continue // it was lost with its gateway
		}
		item := map[string]any{"direction": "upload"} // MEW's library ignores streams without a direction
		for name, value := range x.details {
			item[name] = value
		}
		item["stream_id"], item["owner"], item["authorized_writers"] = x.id, x.owner, x.writers
		item["created"] = x.opened.TS.UTC().Format(protocol.TimeFormat)
		items = append(items, item)
	}
	return &items
}

// leaveTimeout bounds the append of the entries about a participant that left.
const leaveTimeout = time.Second

// leaveStreams closes the streams of a participant that left, and revokes its
// right to write into others. It drops its own streams even if the append fails.
func (s *Space) leaveStreams(id protocol.ParticipantID) {
	owned := s.streams.ownedBy(id)
	written := s.streams.list(func(x *stream) bool { return x.owner != id && slices.Contains(x.writers, id) })
	if len(owned)+len(written) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	drafts := make([]journal.Draft, 0, len(owned)+len(written))
	add := func(x *namedStream, kind protocol.Kind, payload map[string]any) {
		payload["stream_id"] = x.id
		e, err := protocol.FromGateway(s.hub.newID(), kind, s.now(), payload)
		if err != nil {
			s.log.Error("encode an envelope of the gateway's own", "kind", kind, "error", err)
			return
		}
		e.To = x.audience()
		drafts = append(drafts, journal.Draft{Envelope: e})
	}
	for i := range owned {
		add(&owned[i], protocol.KindStreamClose, map[string]any{"reason": "its owner left"})
	}
	for i := range written {
		add(&written[i], protocol.KindStreamWriteRevoked,
			map[string]any{"participant_id": id, "authorized_writers": without(written[i].writers, id), "reason": "the writer left"})
	}
	if err := s.record(ctx, drafts...); err != nil {
		s.log.Warn("close streams whose owner left", "participant", id, "streams", len(owned), "error", err)
	}
	s.streams.drop(owned)
}
