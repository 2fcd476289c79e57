package natsjournal

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
)

// ackWait is the time that NATS has to respond before the block is sent again,
// under the same id: JetStream stores it once.
const ackWait = time.Second

// Reasons why nothing is published. Append wraps them in ErrUnavailable.
var (
	errDisconnected = errors.New("not connected to NATS")
	errClosed       = errors.New("the log is closed")
	errNoAnswer     = errors.New("no answer from NATS in time")
	errLagging      = errors.New("this gateway is behind the log")
)

// Append implements [journal.Journal]. A call that needs several blocks (more
// than 1024 drafts, or with state entries among them) waits for each block
// before it sends the next, since a stale draft ends the call.
func (j *Journal) Append(ctx context.Context, space string, drafts []journal.Draft) []journal.Result {
	results := make([]journal.Result, len(drafts))
	if err := j.startCall(space); err != nil {
		refuseFrom(results, 0, err)
		return results
	}
	defer j.appending.Done()
	// Every follower would reject the drafts that the replica can decide, but they
	// would stay in the stream.
	undecided, err := j.replica.Decide(space, drafts, results)
	if err != nil {
		refuseFrom(results, 0, err)
		return results
	}
	j.streamOf(space).publisher.Append(ctx, space, drafts, undecided, results)
	for i := range results {
		// All drafts after a stale one are rejected, retries included: the caller
		// checks all of them again.
		if errors.Is(results[i].Err, journal.ErrStale) {
			refuseFrom(results, i, journal.ErrStale)
			break
		}
	}
	return results
}

// refuseFrom rejects all drafts from index i on.
func refuseFrom(results []journal.Result, i int, err error) {
	for ; i < len(results); i++ {
		results[i] = journal.Result{Err: err}
	}
}

// messageOverhead is the part of max_payload that the headers of a message
// need.
const messageOverhead = 512

// Limit implements [publisherStream]. An envelope of at most max_payload always
// fits into a block, since JSON text compresses by more than the bytes added to
// it. Gateways should accept no larger messages.
func (s *stream) Limit() int {
	limit := s.j.nc.MaxPayload()
	if limit <= 0 { // never connected
		limit = 1 << 20
	}
	return max(int(limit)-messageOverhead, messageOverhead)
}

// Overdue implements [publisherStream].
func (s *stream) Overdue() error {
	signal(s.checkRequests)
	if !s.j.nc.IsConnected() {
		return errDisconnected
	}
	return errNoAnswer
}

// CanSend implements [publisherStream].
func (s *stream) CanSend() error {
	if !s.j.nc.IsConnected() {
		return errDisconnected
	}
	if !s.following.Load() {
		// No result would arrive, because this gateway lags; another one may not.
		return errLagging
	}
	return nil
}

// Send implements [publisherStream].
func (s *stream) Send(ctx context.Context, m pendingMessage) (maybe bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	msg := &nats.Msg{Subject: s.j.names.Subject(m.Space, m.State), Data: m.Data}
	_, err = s.j.js.PublishMsg(ctx, msg,
		jetstream.WithMsgID(m.ID), jetstream.WithExpectStream(s.name), jetstream.WithRetryAttempts(0))
	if err == nil {
		return true, nil
	}
	signal(s.checkRequests)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true, errNoAnswer
	}
	// These prove that the stream did not store the message and will not.
	refused := isAny(err, nats.ErrReconnectBufExceeded, nats.ErrMaxPayload, nats.ErrNoResponders, jetstream.ErrNoStreamResponse) ||
		// Codes that a leader returns before it contacts the other servers.
		hasCode(err, codeNotAvailable, codeNoResources, codeTooLarge, codeOtherStream)
	return !refused, err
}
