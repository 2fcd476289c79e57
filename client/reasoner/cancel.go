package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Cancel cancels a job that is queued or processing; a job is processing until
// its callback is delivered or given up. If the job has no result, Cancel
// writes JobCanceled as its result; otherwise it records in the result that the
// callback is canceled. Then it removes the job from the queue and notifies the
// workers.
func (c *queueClient) Cancel(ctx context.Context, correlationID string) (bool, error) {
	if err := wire.CheckCorrelationID(correlationID); err != nil {
		return false, fmt.Errorf("cancel job: %w", err)
	}
	j := &job{id: correlationID, key: c.names.Key(correlationID)}
	var found bool
	err := c.retry(ctx, "cancel job "+correlationID, func(ctx context.Context) error {
		var err error
		found, err = c.cancel(ctx, j)
		return err
	})
	return found, err
}

// maxCancelAttempts bounds the attempts to write a cancellation while the
// result of the job changes.
const maxCancelAttempts = 3

func (c *queueClient) cancel(ctx context.Context, j *job) (bool, error) {
	s, err := c.open(ctx)
	if err != nil {
		return false, err
	}
	for range maxCancelAttempts {
		// Read the job first: if it is settled after that, its result exists by
		// then.
		waiting, err := s.jobs.GetLastMsgForSubject(ctx, c.names.Job(j.key))
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, c.convertError(err)
		}
		r, seq, err := c.result(ctx, s, j)
		switch {
		case err != nil:
			return false, err
		case r != nil && r.Canceled():
			return true, nil // already canceled, perhaps by this call, whose response was lost
		case waiting == nil:
			return false, nil // settled, or never submitted
		}
		var was wire.QueueJob
		_ = json.Unmarshal(waiting.Data, &was)
		request := wire.Digest(was.Payload)
		switch {
		case r == nil:
			r = &wire.QueueResult{Type: was.Type, CorrelationID: j.id, Request: request, State: wire.JobCanceled, Finished: time.Now().UTC()}
		case was.CallbackURL() == "":
			return false, nil // settled, and about to be acknowledged
		case r.Request == request:
			r.CallbackCanceled = true
		default:
			r = nil // the result belongs to another request; only remove and notify
		}
		if r != nil {
			if there, err := c.replace(ctx, j, r, seq); err != nil {
				return false, err
			} else if there {
				continue
			}
		}
		// If this fails, the worker that receives the job finds the result.
		_ = s.jobs.DeleteMsg(ctx, waiting.Sequence)
		if err := c.nc.Publish(c.names.Canceled(j.key), nil); err != nil {
			return true, c.convertError(err)
		}
		return true, nil
	}
	return false, &APIError{Status: http.StatusServiceUnavailable, Message: "The job changed during each attempt. Try again later."}
}

// result returns the job's result and its sequence in the stream; nil and 0 if
// there is no result.
func (c *queueClient) result(ctx context.Context, s *store, j *job) (*wire.QueueResult, uint64, error) {
	msg, err := s.results.GetLastMsgForSubject(ctx, c.names.Result(j.key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, c.convertError(err)
	}
	r := decodeResult(msg.Data, j)
	if r == nil {
		return nil, 0, fmt.Errorf("the result of job %s cannot be read", j.id)
	}
	return r, msg.Sequence, nil
}

// replace writes a result in place of the one at seq, or as the first one if
// seq is 0. It reports whether there is a different one.
func (c *queueClient) replace(ctx context.Context, j *job, r *wire.QueueResult, seq uint64) (there bool, err error) {
	data, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	_, err = c.js.PublishMsg(ctx, &nats.Msg{Subject: c.names.Result(j.key), Data: data},
		jetstream.WithExpectStream(c.names.ResultsStream()),
		jetstream.WithExpectLastSequencePerSubject(seq), jetstream.WithRetryAttempts(0))
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeWrongSequence {
		return true, nil
	}
	if err != nil {
		return false, c.convertError(err)
	}
	return false, nil
}
