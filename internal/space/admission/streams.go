package admission

import (
	"context"
	"encoding/json"
	"errors"
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
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(request.Payload, &raw); err != nil {
		return errUnanswered()
	}
	fields := make(map[string]any, len(raw)+4)
	for name, value := range raw {
		fields[name] = value
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
	draft := journal.Draft{Envelope: answer, Private: sp.Note(nil, nil), Audience: ring.WithParticipant(p.draft.Audience, b.from.ID)}
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

// admitLive delivers an envelope that is not stored. Its id must not be in use in
// the log either.
func (b *batch) admitLive(ctx context.Context, p *candidate) {
	taken, err := parent{}, journal.ErrNotFound
	if p.In.Envelope.ID != "" {
		taken, err = b.space.find(ctx, p.draft.Envelope.ID)
	}
	switch {
	case errors.Is(err, journal.ErrNotFound):
		b.stream(ctx, p)
	case err != nil:
		b.refuse(p, errLogUnread())
	case taken.envelope.From != b.from.ID:
		b.refuse(p, duplicate(p.In.Envelope.ID))
	default:
		b.answerRetry(p, taken.envelope.Seq)
	}
}

// inspected returns the stream of an envelope's data; nil: the data is not
// inspected.
func (b *batch) inspected(p *candidate) (*ring.StreamText, error) {
	s, e := b.space, &p.draft.Envelope
	safety := s.Safety
	if e.Kind != protocol.KindStreamData || safety == nil {
		return nil, nil
	}
	id := p.In.Payload.Get("stream_id").Text()
	x := s.Texts.Find(id)
	if x == nil && e.Context == "" && !safety.Applies(e.Kind) && !safety.Applies(protocol.KindChat) { // it may be a chat that grows
		return nil, nil
	}
	x = s.Texts.Get(id, "", b.now)
	if x == nil {
		s.endStream(s.Texts.Oldest()) // perhaps of a sender without a connection
		x = s.Texts.Get(id, "", b.now)
	}
	if x == nil || s.Texts.Full(b.from.ID) {
		err := protocol.Errorf(protocol.CodeRateLimited, "Too much text of streams is held back, or too many streams are open; close some first.")
		err.Limit, err.RetryAfterMS = "stream_bytes", 1000
		return nil, err
	}
	return x, nil
}

// stream masks a chunk of a stream, charges the work to the sender, and delivers the
// part that is not held back.
func (b *batch) stream(ctx context.Context, p *candidate) {
	x, err := b.inspected(p)
	empty := false
	if x != nil {
		_, err = b.inspect(p, func(extra protocol.Value) (ring.Redaction, error) {
			c := ring.StreamChunk{Draft: &p.draft, Spelling: p.spelling, Payload: p.In.Payload, Extra: extra}
			r, held, before, err := b.space.Texts.Data(ctx, x, &c, b.space.Safety.Stream)
			if before != nil { // text for others
				b.space.publishRest(before)
			}
			empty = held
			return r, err
		})
	}
	switch {
	case err != nil:
		b.refuse(p, err)
	case empty:
		p.result.Seq = b.space.Ring.Head()
	default:
		p.result.Seq = b.space.PublishLive(&p.draft)
	}
}

// followStream tracks the streams that the sender opens and closes. A stream of
// reasoning is inspected from its first chunk on, and its rest is delivered
// before its close.
func (b *batch) followStream(p *candidate) {
	e := &p.draft.Envelope
	id := p.In.Payload.Get("stream_id").Text()
	switch {
	case e.Kind == protocol.KindStreamOpen && e.Context != "":
		b.space.Texts.Get(id, e.From, b.now)
	case e.Kind == protocol.KindStreamClose:
		if x := b.space.Texts.Find(id); x != nil && (x.Opener != "" || x.WrittenBy(e.From)) {
			b.space.endStream(id)
		}
	}
}

// EndStreams delivers the rests of a leaving participant's streams. Others may
// continue to write into streams that they did not open.
func (s *View) EndStreams(id protocol.ParticipantID) {
	for _, stream := range s.Texts.ByParticipant(id) {
		x := s.Texts.Find(stream)
		s.endStream(stream)
		if x != nil && x.Opener != "" && x.Opener != id {
			s.Texts.Get(stream, x.Opener, s.Now())
		}
	}
}

// endStream delivers the rest of a stream, as data of the participant that wrote
// it, and drops the stream.
func (s *View) endStream(id string) {
	x := s.Texts.Remove(id)
	if x == nil {
		return
	}
	if rest := x.Rest(); rest != nil {
		s.publishRest(rest)
	}
}

// publishRest delivers text of a stream that was held back.
func (s *View) publishRest(d *journal.Draft) {
	d.Envelope.ID, d.Envelope.TS = s.NewID(), s.Now().UTC()
	s.PublishLive(d)
}
