package natsjournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// errUnproven stops a stream. The stream continues when its leader confirms
// that the missing messages were removed, or when a feed delivers them.
var errUnproven = errors.New("messages are missing that the stream has, or may have")

// proveRemoved returns nil if the stream has no message from sequence from up
// to (exclusive) to. It trusts only the leader: a consumer runs on any server
// with the stream, and that server may merely lag.
func (s *stream) proveRemoved(ctx context.Context, from, to uint64) error {
	if from >= to || to <= s.first {
		return nil
	}
	// One response proves it: the leader has the message that it returns, and
	// therefore received everything before it.
	next, err := s.getMsg(ctx, from, jetstream.WithGetMsgSubject(s.j.names.all(s.index)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return fmt.Errorf("%w: from %d to %d, and the leader ends before", errUnproven, from, to-1)
	case err != nil:
		return fmt.Errorf("look for message %d: %w", from, err)
	case next < to:
		return fmt.Errorf("%w: %d of the range from %d to %d", errUnproven, next, from, to-1)
	}
	return nil
}

// lastStored returns the sequence of the last message that the leader has, or
// 0. The stream's last sequence is greater if its last messages were deleted.
func (s *stream) lastStored(ctx context.Context, handle jetstream.Stream) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	m, err := handle.GetLastMsgForSubject(ctx, s.j.names.all(s.index))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case errors.Is(err, context.DeadlineExceeded):
		return 0, errNoAnswer
	case err != nil:
		return 0, fmt.Errorf("look for the last message: %w", err)
	}
	return m.Sequence, nil
}

func (s *stream) getMsg(ctx context.Context, seq uint64, o ...jetstream.GetMsgOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	m, err := s.handle.GetMsg(ctx, seq, o...)
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, errNoAnswer
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}
