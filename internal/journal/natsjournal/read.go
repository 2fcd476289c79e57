package natsjournal

import (
	"context"
	"iter"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/replica"
	"github.com/meup-protocol/meup/protocol"
)

// The methods in this file read the replica, even while NATS is unreachable.

// Range implements [journal.Journal].
func (j *Journal) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return j.replica.Range(ctx, space, q)
}

// Lookup implements [journal.Journal].
func (j *Journal) Lookup(_ context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	return j.replica.Lookup(space, id)
}

// Spaces implements [journal.Journal].
func (j *Journal) Spaces(context.Context) ([]string, error) { return j.replica.Spaces() }

// Bounds implements [journal.Journal].
func (j *Journal) Bounds(ctx context.Context, space string) (oldest, newest protocol.Seq, err error) {
	return j.replica.Bounds(ctx, space)
}

// LogID implements [journal.Journal]. All gateways see the same creation time
// and epoch of a stream. The id changes for all spaces of a stream at once.
func (j *Journal) LogID(_ context.Context, space string) (string, error) {
	if err := j.replica.Ready(); err != nil {
		return "", err
	}
	id := j.streamOf(space).local.LogID()
	if id == nil {
		return "", journal.Unavailable(replica.ErrIncomplete)
	}
	return *id, nil
}
