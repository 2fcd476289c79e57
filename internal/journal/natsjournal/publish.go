package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
)

const (
	// ackWait is the time that NATS has to respond before the block is sent again,
	// under the same id: JetStream stores it once.
	ackWait = time.Second
	// retryWait is the pause after a rejection.
	retryWait = 50 * time.Millisecond
	// applyWait is the time that a stored block may take to come back before
	// publish requests a check of the stream.
	applyWait = time.Second
)

// Reasons why nothing is published. Append wraps them in ErrUnavailable.
var (
	errDisconnected = errors.New("not connected to NATS")
	errClosed       = errors.New("the log is closed")
	errNoAnswer     = errors.New("no answer from NATS in time")
	errLagging      = errors.New("this gateway is behind the log")
	errAbandoned    = errors.New("no caller waits for it")
)

// outcomeUnknown returns the error of a draft that may have been appended.
func outcomeUnknown(reason error) error {
	return fmt.Errorf("%w: %w", journal.ErrOutcomeUnknown, reason)
}

// publish sends a block until its outcome is known, or the time is up. It runs
// in a goroutine of its own and ends with onPublished.
func (s *stream) publish(f *inflight) {
	defer s.j.publishing.Done()
	defer s.commit.onPublished(f)
	ctx, cancel := context.WithTimeout(s.j.life, s.j.opts.AppendTimeout)
	defer cancel()
	reason := s.deliverBlock(ctx, f)
	if late := s.commit.remove(f.id); late != nil {
		if late.unknown {
			late.refuse(outcomeUnknown(reason))
		} else {
			late.refuse(journal.Unavailable(reason))
		}
	}
}

// deliverBlock returns when the block has been applied (nil) or when ctx ends.
func (s *stream) deliverBlock(ctx context.Context, f *inflight) error {
	for {
		data := s.commit.beginSend(f, s.j.blockLimit())
		if data == nil {
			return errAbandoned
		}
		err := s.send(ctx, f, data)
		s.commit.endSend(f, err == nil || !isRefused(err))
		if err == nil {
			return s.awaitApplied(ctx, f)
		}
		select {
		case <-f.done: // only the acknowledgment was lost
			return nil
		case <-ctx.Done():
			return err
		case <-time.After(retryWait):
		}
	}
}

// send publishes a block once. It returns nil if the stream has stored it.
func (s *stream) send(ctx context.Context, f *inflight, data []byte) error {
	if !s.j.nc.IsConnected() {
		return errDisconnected
	}
	if !s.following.Load() {
		// No result would arrive, because this gateway lags; another one may not.
		return errLagging
	}
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	msg := &nats.Msg{Subject: s.j.names.subject(f.space, f.state), Data: data}
	_, err := s.j.js.PublishMsg(ctx, msg,
		jetstream.WithMsgID(f.id), jetstream.WithExpectStream(s.name), jetstream.WithRetryAttempts(0))
	if err == nil {
		return nil
	}
	s.requestCheck()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errNoAnswer
	}
	return err
}

// isRefused reports whether an error of send proves that the stream did not
// store the block and will not.
func isRefused(err error) bool {
	for _, refusal := range []error{
		errDisconnected, errLagging,
		nats.ErrReconnectBufExceeded, nats.ErrMaxPayload, nats.ErrNoResponders, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	// Codes that a leader returns before it contacts the other servers.
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case codeNotAvailable, codeNoResources, codeTooLarge, codeOtherStream:
		return true
	}
	return false
}

// awaitApplied waits until this gateway has applied a block that the stream has
// stored.
func (s *stream) awaitApplied(ctx context.Context, f *inflight) error {
	for {
		select {
		case <-f.done:
			return nil
		case <-ctx.Done():
			return errNoAnswer
		case <-time.After(applyWait):
			s.requestCheck()
		}
	}
}
