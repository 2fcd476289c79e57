package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Cancel writes the result JobCanceled, unless there is another one, takes the
// job out of the queue, and tells the worker that may have it.
func (c *queueClient) Cancel(ctx context.Context, correlationID string) (bool, error) {
	if err := wire.CheckCorrelationID(correlationID); err != nil {
		return false, fmt.Errorf("cancel job: %w", err)
	}
	j := &job{id: correlationID, key: c.names.Key(correlationID)}
	var found bool
	err := c.attempts(ctx, "cancel job "+correlationID, func(ctx context.Context) error {
		var err error
		found, err = c.cancel(ctx, j)
		return err
	})
	return found, err
}

func (c *queueClient) cancel(ctx context.Context, j *job) (bool, error) {
	s, err := c.open(ctx)
	if err != nil {
		return false, err
	}
	waiting, err := s.jobs.GetLastMsgForSubject(ctx, c.names.Job(j.key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return c.wasCanceled(ctx, s, j) // settled, or never submitted
	}
	if err != nil {
		return false, c.explain(err)
	}
	there, err := c.writeCanceled(ctx, j, waiting.Data)
	if err != nil {
		return false, err
	}
	if there {
		return c.wasCanceled(ctx, s, j)
	}
	// Should that fail, the worker that gets the job finds the result.
	_ = s.jobs.DeleteMsg(ctx, waiting.Sequence)
	return true, c.notify(j)
}

// wasCanceled reports whether the job was canceled before: whoever does so
// twice, or again since an answer was lost, is told the same.
func (c *queueClient) wasCanceled(ctx context.Context, s *store, j *job) (bool, error) {
	r, err := c.look(ctx, s, j)
	return r != nil && r.State == wire.JobCanceled, err
}

func (c *queueClient) notify(j *job) error {
	if err := c.nc.Publish(c.names.Canceled(j.key), nil); err != nil {
		return c.explain(err)
	}
	return nil
}

// writeCanceled writes the result, or reports that there is one.
func (c *queueClient) writeCanceled(ctx context.Context, j *job, submitted []byte) (there bool, err error) {
	var was wire.QueueJob
	_ = json.Unmarshal(submitted, &was)
	data, err := json.Marshal(&wire.QueueResult{Type: was.Type, CorrelationID: j.id, Request: wire.Digest(was.Payload), State: wire.JobCanceled, Finished: c.opts.Now().UTC()})
	if err != nil {
		return false, err
	}
	_, err = c.js.PublishMsg(ctx, &nats.Msg{Subject: c.names.Result(j.key), Data: data},
		jetstream.WithExpectStream(c.names.ResultsStream()),
		jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeWrongSequence {
		return true, nil
	}
	if err != nil {
		return false, c.explain(err)
	}
	return false, nil
}
