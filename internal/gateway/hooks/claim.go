package hooks

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// maxClaimReason bounds the summary of a call in a claim, in bytes.
const maxClaimReason = 256

// claimPaths claims the paths that the capabilities for a call require, until the end of the turn. why is a sentence for
// the agent if they cannot be claimed now.
func (h *hook) claimPaths(ctx context.Context, request *protocol.Envelope) (why string, err error) {
	paths := h.caller.Space.NeedsClaims(h.caller.ID, request)
	if len(paths) == 0 {
		return "", nil
	}
	e := protocol.Envelope{
		ID: protocol.ID(idPrefix + uuid.NewString()), Kind: protocol.KindClaim, Context: request.Context,
		Payload: object("paths", paths, "reason", short(h.summary(), maxClaimReason)),
	}
	_, err = h.publish(ctx, e)
	switch {
	case err == nil:
		h.session.mu.Lock()
		h.session.claims = append(h.session.claims, e.ID)
		h.session.mu.Unlock()
	case refused(err, protocol.CodeCapabilityViolation): // the call may be proposed
		return "", nil
	case refused(err, protocol.CodeClaimed), refused(err, protocol.CodeRateLimited):
		return fmt.Sprintf("Nobody else may write what somebody works on in the space %s. %s", h.space, protocol.AsError(err).Message), nil
	}
	return "", err
}

// releasePaths releases what the session has claimed in its turn.
func (h *hook) releasePaths(ctx context.Context) error {
	h.session.mu.Lock()
	ids := h.session.claims
	h.session.claims = nil
	h.session.mu.Unlock()
	for len(ids) > 0 {
		n := min(len(ids), protocol.MaxCorrelations)
		e := protocol.Envelope{Kind: protocol.KindRelease, Correlation: protocol.Correlation{IDs: ids[:n], Array: true}, Payload: object("reason", "the turn ended")}
		if err := h.publishOptional(ctx, e); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}
