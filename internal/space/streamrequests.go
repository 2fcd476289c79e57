package space

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/journal"
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

func isStream(k protocol.Kind) bool { return strings.HasPrefix(string(k), "stream.") }

// checkStream rejects operations on a stream that the sender may not do.
func (b *batch) checkStream(p *Pending) *protocol.Error {
	if !isStream(p.In.Envelope.Kind) {
		return nil
	}
	kind, payload := p.In.Envelope.Kind, p.In.Payload
	id := payload.Get("stream_id").Text()
	s, open := b.space.streams.get(id)
	mew := b.from.Dialect == protocol.DialectMEW04
	switch kind {
	case protocol.KindStreamRequest:
		if mew {
			return b.checkStreamRequest(p)
		}
		return nil
	case protocol.KindStreamOpen:
		if !open {
			return b.checkStreamOpen(id)
		}
	case protocol.KindStreamData:
		if slices.Contains(s.writers, b.from.ID) || !open && !mew {
			return nil
		}
		if mew {
			err := protocol.Errorf(protocol.CodeUnauthorizedStreamWrite, "You may not write into this stream, or it is not open.")
			err.StreamID = id[:min(len(id), maxStreamID)]
			return err
		}
	case protocol.KindStreamClose:
		if !open {
			return nil
		}
	case protocol.KindStreamGrantWrite, protocol.KindStreamRevokeWrite, protocol.KindStreamTransfer:
		return b.checkStreamOwner(p, &s, open)
	default:
		return nil
	}
	if s.owner != b.from.ID {
		return protocol.Errorf(protocol.CodeIdentityMismatch, "The stream %s is %s's.", id, s.owner)
	}
	return nil
}

func (b *batch) checkStreamRequest(p *Pending) *protocol.Error {
	var unknown []protocol.ParticipantID
	for _, id := range targetsIn(p.In.Payload) {
		if !b.space.IsKnown(id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		err := protocol.Errorf(protocol.CodeTargetNotFound, "This space does not know all of these targets; no stream was opened.")
		err.Targets = unknown
		return err
	}
	return b.checkStreamQuota(len(p.In.Envelope.Payload))
}

func (b *batch) checkStreamOpen(id string) *protocol.Error {
	if len(id) > maxStreamID {
		return &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/stream_id", Detail: "at most 256 bytes",
			Message: "The id of a stream may have at most 256 bytes."}
	}
	return b.checkStreamQuota(0)
}

func (b *batch) checkStreamQuota(bytes int) *protocol.Error {
	waiting := 0
	for _, p := range b.waiting {
		if p.In.Envelope.Kind == protocol.KindStreamOpen {
			waiting++
		}
	}
	if b.space.streams.admits(b.from.ID, waiting, bytes) {
		return nil
	}
	err := protocol.Errorf(protocol.CodeRateLimited, "Too many streams are open, of yours or in this space; close some first.")
	err.Limit, err.RetryAfterMS = "open_streams", 1000
	return err
}

// checkStreamOwner checks a grant, a revocation or a transfer.
func (b *batch) checkStreamOwner(p *Pending, s *stream, open bool) *protocol.Error {
	whom := participantIn(p.In.Payload, "participant_id")
	switch kind := p.In.Envelope.Kind; {
	case !open:
		return protocol.Errorf(protocol.CodeStreamNotFound, "No such stream is open.")
	case s.owner != b.from.ID && b.from.Dialect != protocol.DialectMEW04:
		return protocol.Errorf(protocol.CodeIdentityMismatch, "The stream is %s's.", s.owner)
	case s.owner != b.from.ID:
		return protocol.Errorf(protocol.CodeUnauthorized, "The stream is %s's; only its owner can do this.", s.owner)
	case kind == protocol.KindStreamGrantWrite && !b.space.IsKnown(whom):
		return protocol.Errorf(protocol.CodeParticipantNotFound, "This space knows no participant of that id.")
	case kind == protocol.KindStreamRevokeWrite && whom == s.owner:
		return protocol.Errorf(protocol.CodeInvalidOperation, "The owner of a stream always may write; transfer or close it instead.")
	case kind == protocol.KindStreamTransfer && !b.space.IsPresent(participantIn(p.In.Payload, "new_owner")):
		return protocol.Errorf(protocol.CodeParticipantNotFound, "The new owner is not connected to this space.")
	}
	return nil
}

// addressData addresses stream data to the targets of its stream. A raw frame has
// no addressees and no context; it gets both from the stream.
func (b *batch) addressData(p *Pending) {
	s, open := b.space.streams.get(p.In.Payload.Get("stream_id").Text())
	if !open {
		return
	}
	e, mew := &p.draft.Envelope, b.from.Dialect == protocol.DialectMEW04
	switch {
	case len(s.targets) > 0:
		e.To, p.spelling.Targeted = s.targets, true
		p.draft.Private = p.note()
	case mew && len(e.To) == 0:
		e.To = s.audience()
	}
	if mew && e.Context == "" {
		e.Context = s.opened.Context
	}
	p.In.Envelope.To, p.In.Envelope.Context = e.To, e.Context
}

// answerStream sends the answer to an admitted request about a stream to everyone
// that may see the stream. The gateway's stream.open gives its own id to the
// stream, so that no id is used twice.
func (b *batch) answerStream(ctx context.Context, p *Pending) *protocol.Error {
	request, kind := &p.draft.Envelope, b.from.answersStream(p.draft.Envelope.Kind)
	if kind == "" {
		return nil
	}
	fields, err := fieldsOf(request.Payload)
	if err != nil {
		return errUnanswered()
	}
	id := b.space.hub.newID()
	sp := spelling{Context: p.spelling.Context}
	owner := b.from.ID
	var to []protocol.ParticipantID
	if kind == protocol.KindStreamOpen {
		if len(targetsIn(p.In.Payload)) == 0 {
			delete(fields, "target")
		}
		for _, name := range []string{"requestId", "participantId", "authorizedWriters", "created"} {
			delete(fields, name) // MEW's own gateway sets these itself
		}
		fields["stream_id"], fields["encoding"] = id, "text"
		fields["owner"], fields["authorized_writers"] = owner, []protocol.ParticipantID{owner}
		if to = request.To; len(to) > 0 {
			to = with(to, owner)
		}
		sp.To = []protocol.ParticipantID{owner}
	} else {
		s, open := b.space.streams.get(p.In.Payload.Get("stream_id").Text())
		if !open {
			return protocol.Errorf(protocol.CodeStreamNotFound, "The stream was closed.")
		}
		fields["authorized_writers"] = s.writers
		if kind == protocol.KindStreamTransferred {
			fields["previous_owner"], owner = owner, s.owner
		}
		to = s.audience()
	}
	answer, err := protocol.FromGateway(id, kind, b.space.now(), fields)
	if err != nil {
		return errUnanswered()
	}
	answer.To, answer.Context, answer.Correlation = to, request.Context, protocol.CorrelateTo(request.ID)
	if p.spelling.ID != "" {
		sp.Correlation = []protocol.ID{p.spelling.ID}
	}
	draft := journal.Draft{Envelope: answer, Private: sp.note(nil), Audience: with(p.draft.Audience, b.from.ID)}
	if err := b.space.record(ctx, draft); err != nil {
		b.space.log.Warn("answer a request about a stream", "envelope", request.ID, "error", err)
		return errUnanswered()
	}
	if !b.space.IsPresent(owner) { // it left meanwhile
		b.space.leaveStreams(owner)
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
