package ring

import (
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

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
// that is not hidden; thread is [Entry.Thread].
func (v Visibility) Allows(e *protocol.Envelope, thread []protocol.ParticipantID) bool {
	if !isAddressed(e, thread) || v.Everyone || v.Observes {
		return true
	}
	if e.Seq != 0 && e.Seq <= v.VisibleAfter {
		return false
	}
	return e.From == v.ID || e.AddressedTo(v.ID) || slices.Contains(thread, v.ID)
}
