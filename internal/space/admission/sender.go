package admission

import (
	"time"

	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Sender publishes envelopes: for a connection's participant, or for an HTTP
// request.
type Sender struct {
	ring.Viewer
	Dialect protocol.Dialect
	// Observe: may not send any envelope.
	Observe bool

	Space   *View
	Buckets *authority.Buckets
}

// Limits returns the sender's limits.
func (f *Sender) Limits() protocol.Limits { return f.Space.State.Load().Settings(f.ID).Limits }

// ChargeRefused charges bytes of rejected envelopes to the sender. It returns how
// long the sender must pause; 0: not at all.
func (f *Sender) ChargeRefused(bytes int) time.Duration {
	return f.Buckets.Get().Refused(f.Space.Now(), bytes)
}

// Charge charges the sender's rate for an envelope that only the gateway
// processes, and checks its claimed sender. The error is a *protocol.Error.
func (f *Sender) Charge(in *protocol.Inbound) error {
	err := f.Buckets.Get().Envelope(f.Space.Now())
	if err == nil {
		err = f.checkFrom(in)
	}
	if err != nil {
		f.Space.Observer.Refused(protocol.AsError(err).Code)
	}
	return err
}

// checkFrom compares the claimed sender with the actual one.
func (f *Sender) checkFrom(in *protocol.Inbound) error {
	if in.ClaimedFrom == "" || in.ClaimedFrom == f.ID {
		return nil
	}
	return protocol.Errorf(protocol.CodeIdentityMismatch, "You are %s here and cannot speak as %s; leave the field from out.", f.ID, in.ClaimedFrom)
}

// sees reports whether the sender may see an envelope of the log.
func (f *Sender) sees(x *parent) bool {
	return f.Space.State.Load().Visibility(f.Viewer, f.Space.Now()).Allows(x.envelope, x.thread)
}
