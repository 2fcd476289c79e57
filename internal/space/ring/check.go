package ring

import (
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

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
		if !open {
			return t.checkOpen(r, id)
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

func (t *Streams) checkOpen(r *StreamRequest, id string) error {
	if len(id) > maxStreamID {
		return &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/stream_id", Detail: "at most 256 bytes",
			Message: "The id of a stream may have at most 256 bytes."}
	}
	return t.checkQuota(r, 0)
}

func (t *Streams) checkQuota(r *StreamRequest, bytes int) error {
	if t.admits(r.From, r.Opening, bytes) {
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
