package admission

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// streamAnswers are the kinds of the gateway's answers to requests about streams.
var streamAnswers = map[protocol.Kind]protocol.Kind{
	protocol.KindStreamRequest:     protocol.KindStreamOpen,
	protocol.KindStreamGrantWrite:  protocol.KindStreamWriteGranted,
	protocol.KindStreamRevokeWrite: protocol.KindStreamWriteRevoked,
	protocol.KindStreamTransfer:    protocol.KindStreamTransferred,
}

// answersStream returns the kind of the gateway's answer to an envelope; "" if
// there is none. Participants answer a stream.request of the other dialects.
func (f *Sender) answersStream(k protocol.Kind) protocol.Kind {
	if k == protocol.KindStreamRequest && f.Dialect != protocol.DialectMEW04 {
		return ""
	}
	return streamAnswers[k]
}

// checkStream rejects operations on a stream that the sender may not do.
func (b *batch) checkStream(p *candidate) error {
	e := &p.In.Envelope
	if !ring.IsStream(e.Kind) {
		return nil
	}
	opening := 0
	for _, w := range b.waiting {
		if w.In.Envelope.Kind == protocol.KindStreamOpen {
			opening++
		}
	}
	return b.space.Streams.Check(&ring.StreamRequest{
		From: b.from.ID, MEW: b.from.Dialect == protocol.DialectMEW04, Kind: e.Kind, Payload: p.In.Payload, Size: len(e.Payload),
		Opening: opening, IsKnown: b.space.State.Load().IsKnown, IsPresent: b.space.IsPresent,
	})
}

// addressData addresses stream data to the targets of its stream. A raw frame has
// no addressees and no context; it gets both from the stream.
func (b *batch) addressData(p *candidate) {
	s, open := b.space.Streams.Get(p.In.Payload.Get("stream_id").Text())
	if !open {
		return
	}
	e, mew := &p.draft.Envelope, b.from.Dialect == protocol.DialectMEW04
	switch {
	case len(s.Targets) > 0:
		e.To, p.spelling.Targeted = s.Targets, true
		p.draft.Private = p.note()
	case mew && len(e.To) == 0:
		e.To = s.Audience()
	}
	if mew && e.Context == "" {
		e.Context = s.Opened.Context
	}
	p.In.Envelope.To, p.In.Envelope.Context = e.To, e.Context
}

// answerStream sends the answer to an admitted request about a stream to everyone
// that may see the stream. The gateway's stream.open gives its own id to the
// stream, so that no id is used twice.
func (b *batch) answerStream(ctx context.Context, p *candidate) error {
	request, kind := &p.draft.Envelope, b.from.answersStream(p.draft.Envelope.Kind)
	if kind == "" {
		return nil
	}
	fields, err := fieldsOf(request.Payload)
	if err != nil {
		return errUnanswered()
	}
	id := b.space.NewID()
	sp := ring.Spelling{Context: p.spelling.Context}
	owner := b.from.ID
	var to []protocol.ParticipantID
	if kind == protocol.KindStreamOpen {
		if len(ring.StreamTargets(p.In.Payload)) == 0 {
			delete(fields, "target")
		}
		for _, name := range []string{"requestId", "participantId", "authorizedWriters", "created"} {
			delete(fields, name) // MEW's own gateway sets these itself
		}
		fields["stream_id"], fields["encoding"] = id, "text"
		fields["owner"], fields["authorized_writers"] = owner, []protocol.ParticipantID{owner}
		to = request.To
		if len(to) > 0 {
			to = ring.WithParticipant(to, owner)
		}
		sp.To = []protocol.ParticipantID{owner}
	} else {
		s, open := b.space.Streams.Get(p.In.Payload.Get("stream_id").Text())
		if !open {
			return protocol.Errorf(protocol.CodeStreamNotFound, "The stream was closed.")
		}
		fields["authorized_writers"] = s.Writers
		if kind == protocol.KindStreamTransferred {
			fields["previous_owner"], owner = owner, s.Owner
		}
		to = s.Audience()
	}
	answer, err := protocol.FromGateway(id, kind, b.space.Now(), fields)
	if err != nil {
		return errUnanswered()
	}
	answer.To, answer.Context, answer.Correlation = to, request.Context, protocol.CorrelateTo(request.ID)
	if p.spelling.ID != "" {
		sp.Correlation = []protocol.ID{p.spelling.ID}
	}
	draft := journal.Draft{Envelope: answer, Private: sp.Note(nil), Audience: ring.WithParticipant(p.draft.Audience, b.from.ID)}
	if err := b.space.record(ctx, draft); err != nil {
		b.space.Log.Warn("answer a request about a stream", "envelope", request.ID, "error", err)
		return errUnanswered()
	}
	if !b.space.IsPresent(owner) { // it left meanwhile
		b.space.LeaveStreams(owner)
	}
	return nil
}

func errUnanswered() *protocol.Error {
	return protocol.Errorf(protocol.CodeUnavailable, "The log cannot take the answer to this request now; send it again under another id.")
}

func fieldsOf(payload json.RawMessage) (map[string]any, error) {
	var raw map[string]json.RawMessage
	err := json.Unmarshal(payload, &raw)
	fields := make(map[string]any, len(raw)+4)
	for name, value := range raw {
		fields[name] = value
	}
	return fields, err
}

// leaveTimeout bounds the append of the entries about a participant that left.
const leaveTimeout = time.Second

// LeaveStreams closes the streams of a participant that left, and revokes its
// right to write into others. It drops its own streams even if the append fails.
func (s *View) LeaveStreams(id protocol.ParticipantID) {
	owned := s.Streams.OwnedBy(id)
	written := s.Streams.List(func(x *ring.Stream) bool { return x.Owner != id && slices.Contains(x.Writers, id) })
	if len(owned)+len(written) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	drafts := make([]journal.Draft, 0, len(owned)+len(written))
	add := func(x *ring.NamedStream, kind protocol.Kind, payload map[string]any) {
		payload["stream_id"] = x.ID
		e, err := protocol.FromGateway(s.NewID(), kind, s.Now(), payload)
		if err != nil {
			s.Log.Error("encode an envelope of the gateway's own", "kind", kind, "error", err)
			return
		}
		e.To = x.Audience()
		drafts = append(drafts, journal.Draft{Envelope: e})
	}
	for i := range owned {
		add(&owned[i], protocol.KindStreamClose, map[string]any{"reason": "its owner left"})
	}
	for i := range written {
		add(&written[i], protocol.KindStreamWriteRevoked,
			map[string]any{"participant_id": id, "authorized_writers": ring.WithoutParticipant(written[i].Writers, id), "reason": "the writer left"})
	}
	if err := s.record(ctx, drafts...); err != nil {
		s.Log.Warn("close streams whose owner left", "participant", id, "streams", len(owned), "error", err)
	}
	s.Streams.Drop(owned)
}
