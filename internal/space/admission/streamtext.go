package admission

import (
	"context"
	"errors"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

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
